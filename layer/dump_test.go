package layer_test

import (
	"bytes"
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/tuple"
)

type dumpRow struct {
	key   tuple.Tuple
	value []byte
}

func dump(tb testing.TB, r kv.Reader) []dumpRow {
	tb.Helper()
	return dumpRange(tb, r, kv.KeyRange{End: []byte{0xff}})
}

// dumpStill is dump for a store that nobody writes to. It takes as many transactions as it needs: on a busy machine, a
// large store takes longer than one may.
func dumpStill(tb testing.TB, e kv.Engine) (all []dumpRow) {
	tb.Helper()
	left := kv.KeyRange{End: []byte{0xff}}
	for {
		tx := e.Begin(faultkv.Forever(context.Background()))
		rows, last, err := appendRows(tb, all, tx, left)
		tx.Cancel()
		progress := len(rows) > len(all)
		all = rows
		switch {
		case err == nil:
			return all
		case !kv.IsCode(err, kv.CodeTooOld) || !progress:
			tb.Error(err)
			return all
		}
		left.Begin = append(last, 0)
	}
}

func dumpRange(tb rapid.TB, r kv.Reader, in kv.KeyRange) []dumpRow {
	tb.Helper()
	all, _, err := appendRows(tb, nil, r, in)
	if err != nil {
		tb.Error(err)
	}
	return all
}

// appendRows reads in until its end or an error. last is the last key read.
func appendRows(tb rapid.TB, all []dumpRow, r kv.Reader, in kv.KeyRange) (_ []dumpRow, last []byte, err error) {
	tb.Helper()
	rows := r.GetRange(in, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	for rows.Next() {
		row := rows.KeyValue()
		last = append(last[:0], row.Key...)
		key, err := tuple.Unpack(row.Key)
		if err != nil {
			tb.Errorf("key %q: %v", row.Key, err)
			continue
		}
		all = append(all, dumpRow{key, bytes.Clone(row.Value)})
	}
	return all, last, rows.Err()
}

// countKeys counts the keys of a subspace in all databases.
func countKeys(tb testing.TB, e kv.Engine, subspace string) (n int) {
	tb.Helper()
	sub := map[string]keyspace.Subspace{"attachments": keyspace.Attachments, "documents": keyspace.Documents}[subspace]
	tx := e.Begin(faultkv.Forever(context.Background()))
	defer tx.Cancel()
	for _, row := range dump(tb, tx) {
		if row.key[0] == int64(keyspace.Data) && row.key[2] == int64(sub) {
			n++
		}
	}
	return n
}

// stampOf returns the stamp of the only database.
func stampOf(tb testing.TB, e kv.Engine) string {
	tb.Helper()
	tx := e.Begin(faultkv.Forever(context.Background()))
	defer tx.Cancel()
	for _, row := range dump(tb, tx) {
		if len(row.key) == 3 && row.key[0] == int64(keyspace.Data) && row.key[2] == int64(keyspace.Stamp) {
			return string(row.value)
		}
	}
	tb.Fatal("no stamp")
	return ""
}

// dumpOf returns every key except transaction ids and the used prefixes, which stay used.
func dumpOf(tb testing.TB, e kv.Engine) (rows []dumpRow) {
	tb.Helper()
	tx := e.Begin(faultkv.Forever(context.Background()))
	defer tx.Cancel()
	for _, row := range dump(tb, tx) {
		if row.key[0] != int64(keyspace.Transactions) && row.key[0] != int64(keyspace.PrefixWindows) {
			rows = append(rows, row)
		}
	}
	return rows
}
