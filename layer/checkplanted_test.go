package layer_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// planted gives access to a store's keys, to damage one.
type planted struct {
	t  *testing.T
	tx *planter
	db int64 // the number of the database
}

// rows returns the rows of a subspace whose keys begin with the given elements.
func (p *planted) rows(sub keyspace.Subspace, begin ...any) (rows []kv.KeyValue) {
	p.t.Helper()
	it := p.tx.GetRange(kv.KeyRange{End: []byte{0xff}}, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		key, err := tuple.Unpack(row.Key)
		if err != nil || len(key) < 3+len(begin) || key[0] != int64(keyspace.Data) || key[1] != p.db ||
			key[2] != int64(sub) ||
			fmt.Sprint(key[3:3+len(begin)]) != fmt.Sprint(tuple.Tuple(begin)) {
			continue
		}
		rows = append(rows, kv.KeyValue{Key: bytes.Clone(row.Key), Value: bytes.Clone(row.Value)})
	}
	if len(rows) == 0 {
		p.t.Fatalf("there are no rows of %d %v", sub, begin)
	}
	return rows
}

// other returns the key of a row with one string element replaced.
func (p *planted) other(row kv.KeyValue, old, with string) []byte {
	return bytes.Replace(row.Key, tuple.AppendString(nil, old), tuple.AppendString(nil, with), 1)
}

// planter is a transaction that records what it changes.
type planter struct {
	kv.Transaction
	t   *testing.T
	was map[string][]byte
}

func (p *planter) note(key []byte) {
	p.t.Helper()
	if _, known := p.was[string(key)]; known {
		return
	}
	value, err := p.Get(key).Wait()
	if err != nil {
		p.t.Fatal(err)
	}
	p.was[string(key)] = value
}

func (p *planter) Set(key, value []byte) {
	p.note(key)
	p.Transaction.Set(key, value)
}

func (p *planter) Clear(key []byte) {
	p.note(key)
	p.Transaction.Clear(key)
}

// mend restores the previous values.
func (p *planter) mend(tx kv.Transaction) {
	for key, value := range p.was {
		if value == nil {
			tx.Clear([]byte(key))
		} else {
			tx.Set([]byte(key), value)
		}
	}
}

// element returns an element of a row's key.
func (p *planted) element(row kv.KeyValue, n int) any {
	p.t.Helper()
	key, err := tuple.Unpack(row.Key)
	if err != nil || len(key) <= n {
		p.t.Fatal(key, err)
	}
	return key[n]
}

// feedCount returns a closed count of a level of the feed.
func (p *planted) feedCount(level int) kv.KeyValue {
	p.t.Helper()
	marks := map[any]int64{}
	for _, row := range p.rows(keyspace.FeedCounts, int64(0)) {
		value, err := tuple.Unpack(row.Value)
		if err != nil {
			p.t.Fatal(err)
		}
		marks[p.element(row, 4)] = value[1].(int64)
	}
	counts := func(level int, shard any, block int64) int64 {
		for _, row := range p.rows(keyspace.FeedCounts, int64(level+1), shard) {
			if p.element(row, 6) == block {
				return int64(binary.LittleEndian.Uint64(row.Value))
			}
		}
		return 0
	}
	for _, row := range p.rows(keyspace.FeedCounts, int64(level+1)) {
		shard, block, ok := p.element(row, 4), p.element(row, 6).(int64), true
		closed := func(level int, block int64) bool { return (block+1)<<(2*level) <= marks[shard] }
		for l, b := level, block; l < 3; l, b = l+1, b>>2 {
			ok = ok && (l == level && closed(l, b) || l > level && (!closed(l, b) || counts(l, shard, b) > 2))
		}
		if ok && binary.LittleEndian.Uint64(row.Value) > 0 {
			return row
		}
	}
	p.t.Fatal("no block of this level counts")
	return kv.KeyValue{}
}

// partial returns the nth partial aggregate with rows in a level of a view; -1 is the last. In the lowest level it is
// one without a mark.
func (p *planted) partial(level, view, n int) kv.KeyValue {
	p.t.Helper()
	rows := p.rows(keyspace.Views, int64(keyspace.ViewData))
	behind := func(row kv.KeyValue) string { // the position
		key := tuple.Tuple{int64(keyspace.Data), p.db, int64(keyspace.Views), int64(keyspace.ViewData),
			p.element(row, 4), p.element(row, 5), int64(view)}.Pack()
		return string(bytes.TrimPrefix(row.Key, key))
	}
	var all []kv.KeyValue
	var marks []string
	for _, row := range rows {
		if key, err := tuple.Unpack(row.Key); err == nil && key[5].(int64) >= int64(keyspace.ViewMarks) &&
			key[6] == int64(view) {
			marks = append(marks, behind(row))
		}
	}
	prefix := tuple.Tuple{int64(keyspace.Data), p.db, int64(keyspace.Views), int64(keyspace.ViewData), int64(1),
		int64(keyspace.ViewPartials) + int64(level), int64(view)}.Pack()
	it := p.tx.GetRange(kv.KeyRange{Begin: prefix, End: append(bytes.Clone(prefix), 0xff)},
		kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	for it.Next() {
		row := kv.KeyValue{Key: bytes.Clone(it.KeyValue().Key), Value: bytes.Clone(it.KeyValue().Value)}
		_, n := binary.Uvarint(row.Value[1:])
		size, m := binary.Uvarint(row.Value[1+n:])
		begin, end := string(row.Key[len(prefix):]), string(row.Value[1+n+m:1+n+m+int(size)])
		marked := slices.ContainsFunc(marks, func(m string) bool { return begin <= m && m < end })
		if row.Value[1] > 0 && (level > 0 || !marked) {
			all = append(all, row)
		}
	}
	if n < 0 {
		n += len(all)
	}
	if n >= len(all) {
		p.t.Fatalf("%d partials", len(all))
	}
	return all[n]
}

// viewRow returns the nth row of a part of the index.
func (p *planted) viewRow(part keyspace.ViewRange, n int) kv.KeyValue {
	for _, row := range p.rows(keyspace.Views, int64(keyspace.ViewData)) {
		key, err := tuple.Unpack(row.Key)
		if err == nil && key[5] == int64(part) {
			if n--; n < 0 {
				return row
			}
		}
	}
	p.t.Fatal("no such row")
	return kv.KeyValue{}
}
