package exectest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/divandb/divan/layer/collate"
	reducers "github.com/divandb/divan/layer/reduce"
	"github.com/divandb/divan/query/exec"
)

// View implements exec.Database.
func (db *DB) View(_ context.Context, r exec.ViewRead) (exec.Rows, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	line := fmt.Sprintf("view %s/%s [%s,%s] keys=%s desc=%v limit=%d skip=%d doc=%v update=%d", r.Design, r.View, r.Low,
		r.High, r.Keys, r.Descending, r.Limit, r.Skip, r.WithDoc, r.Update)
	for _, k := range r.Ranges {
		line += fmt.Sprintf(" or [%s,%s]", k.Low, k.High)
	}
	db.logf("%s", line)
	i := slices.IndexFunc(db.designs[r.Design], func(v view) bool { return v.Name == r.View })
	if i < 0 {
		return nil, &exec.ReadError{Kind: exec.NotFound, Message: "no such view"}
	}
	var all []exec.Row
	for _, d := range live(db) {
		db.designs[r.Design][i].fn(d.ID, d.Doc, func(key, value string) {
			row := exec.Row{ID: d.ID, Key: json.RawMessage(key), Value: json.RawMessage(value)}
			if r.WithDoc {
				row.Doc, row.Rev = d.Doc, d.Rev
			}
			all = append(all, row)
		})
	}
	compare := func(a, b json.RawMessage) int {
		c, err := collate.Compare(a, b)
		if err != nil {
			panic(err)
		}
		return c
	}
	partition := func(row exec.Row) string {
		name, _, _ := strings.Cut(row.ID, ":")
		return name
	}
	if !db.partitioned[r.Design] {
		partition = func(exec.Row) string { return r.Partition }
	}
	slices.SortStableFunc(all, func(a, b exec.Row) int {
		if c := strings.Compare(partition(a), partition(b)); c != 0 {
			return c
		}
		if c := compare(a.Key, b.Key); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	var out []exec.Row
	ranges := r.Ranges
	if ranges == nil {
		ranges = []exec.KeyRange{{Low: r.Low, High: r.High}}
	}
	for _, row := range all {
		in := slices.ContainsFunc(ranges, func(k exec.KeyRange) bool {
			return (k.Low == nil || compare(row.Key, k.Low) >= 0) && (k.High == nil || compare(row.Key, k.High) <= 0)
		})
		if r.Keys != nil {
			in = slices.ContainsFunc(r.Keys, func(k json.RawMessage) bool { return compare(k, row.Key) == 0 })
		}
		if in && (r.Partition == "" || partition(row) == r.Partition) {
			out = append(out, row)
		}
	}
	if r.Descending {
		slices.Reverse(out)
	}
	return cut(out, r.Limit, r.Skip), nil
}

// Reduce implements exec.Reducer for the built-in functions.
func (db *DB) Reduce(ctx context.Context, r exec.ReduceRead) (exec.Rows, error) {
	ranges := r.Ranges
	if ranges == nil {
		ranges = []exec.KeyRange{{Low: r.Low, High: r.High}}
	}
	rows := &list{}
	for _, k := range ranges {
		some, err := db.View(ctx, exec.ViewRead{Design: r.Design, View: r.View, Low: k.Low, High: k.High, Keys: r.Keys,
			Partition: r.Partition})
		if err != nil {
			return nil, err
		}
		rows.rows = append(rows.rows, some.(*list).rows...)
		db.mu.Lock()
		unlog(db)
		what := "reduce"
		if r.Count {
			what = "count"
		}
		db.logf("%s %s/%s [%s,%s] keys=%s level=%d", what, r.Design, r.View, k.Low, k.High, r.Keys, r.GroupLevel)
		db.mu.Unlock()
	}
	db.mu.Lock()
	views := db.designs[r.Design]
	fn := views[slices.IndexFunc(views, func(v view) bool { return v.Name == r.View })].Reduce
	db.mu.Unlock()
	var out []exec.Row
	var group []exec.Row
	var key json.RawMessage
	var failed error
	flush := func() {
		switch {
		case len(group) == 0:
		case r.Count:
			out = append(out, exec.Row{Key: key, Count: int64(len(group))})
		default:
			value, err := reduce(fn, group)
			if err != nil {
				failed = err
			}
			out = append(out, exec.Row{Key: key, Value: value})
		}
		group = nil
	}
	var row exec.Row
	for {
		err := rows.Next(ctx, &row)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		k := prefix(row.Key, r.GroupLevel)
		if len(group) > 0 && k != nil {
			if c, err := collate.Compare(k, key); err != nil || c != 0 {
				flush()
			}
		}
		if len(group) == 0 {
			key = k
		}
		group = append(group, row)
	}
	flush()
	return &list{rows: out}, failed
}

func prefix(key json.RawMessage, level int) json.RawMessage {
	var parts []json.RawMessage
	switch {
	case level == 0:
		return nil
	case level < 0 || key[0] != '[':
		return key
	}
	_ = json.Unmarshal(key, &parts)
	b, _ := json.Marshal(parts[:min(level, len(parts))])
	return b
}

// reduce is the layer's built-in function.
func reduce(fn string, rows []exec.Row) (json.RawMessage, error) {
	a := reducers.New(fn)
	for _, r := range rows {
		if err := a.Add(r.Key, r.Value); err != nil {
			return nil, &exec.ReadError{Kind: exec.Irreducible, Message: err.Error()}
		}
	}
	return a.AppendJSON(nil), nil
}
