package exectest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
)

// list implements Rows over a slice.
type list struct {
	rows    []exec.Row
	skipped int64
}

// Skipped implements exec.Skipper.
func (l *list) Skipped() int64 { return l.skipped }

func (l *list) Next(ctx context.Context, row *exec.Row) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(l.rows) == 0 {
		return io.EOF
	}
	*row = l.rows[0]
	l.rows = l.rows[1:]
	return nil
}

func (l *list) Close() error { return nil }

// pick applies a DocsRead to rows in ascending order.
func pick(all []exec.Row, r exec.DocsRead) exec.Rows {
	var out []exec.Row
	for _, row := range all {
		in := (r.Low == "" || row.ID >= r.Low) && (r.High == "" || row.ID < r.High)
		if r.IDs != nil {
			in = slices.Contains(r.IDs, row.ID)
		}
		in = in && !(r.NoDesigns && strings.HasPrefix(row.ID, "_design/"))
		if in {
			switch {
			case !r.WithDoc:
				row.Doc = nil
			case r.Members:
				row.Doc = members(row.Doc)
			}
			out = append(out, row)
		}
	}
	if r.Descending {
		slices.Reverse(out)
	}
	return cut(out, r.Limit, r.Skip)
}

// members returns a document without _id and _rev, which are its first members.
func members(doc []byte) []byte {
	_, rest, _ := strings.Cut(string(doc), `,"_rev":"`)
	_, rest, _ = strings.Cut(rest, `"`)
	return []byte("{" + strings.TrimPrefix(rest, ","))
}

func cut(rows []exec.Row, limit, skip int64) *list {
	skip = min(skip, int64(len(rows)))
	rows = rows[skip:]
	if limit > 0 && limit < int64(len(rows)) {
		rows = rows[:limit]
	}
	return &list{rows: rows, skipped: skip}
}

// AllDocs implements exec.Database.
func (db *DB) AllDocs(_ context.Context, r exec.DocsRead) (exec.Rows, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	doc := fmt.Sprint(r.WithDoc)
	if r.Members {
		doc = "members"
	}
	db.logf("all_docs [%q,%q) ids=%q desc=%v limit=%d skip=%d doc=%s", r.Low, r.High, r.IDs, r.Descending, r.Limit,
		r.Skip, doc)
	return pick(live(db), r), nil
}

// live returns the rows of all live documents by id.
func live(db *DB) []exec.Row {
	var all []exec.Row
	for id, d := range db.docs {
		if !d.deleted {
			all = append(all, d.row(id, true))
		}
	}
	slices.SortFunc(all, func(a, b exec.Row) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// LocalDocs implements exec.Database.
func (db *DB) LocalDocs(_ context.Context, r exec.DocsRead) (exec.Rows, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return pick(db.locals, r), nil
}

// Conflicts implements exec.Database.
func (db *DB) Conflicts(_ context.Context, r exec.DocsRead) (exec.Rows, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	var all []exec.Row
	for _, d := range db.docs {
		all = append(all, d.losers...)
	}
	slices.SortFunc(all, func(a, b exec.Row) int { return strings.Compare(a.ID+a.Rev, b.ID+b.Rev) })
	return pick(all, r), nil
}

// Changes implements exec.Database.
func (db *DB) Changes(_ context.Context, r exec.ChangesRead) (exec.Rows, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.logf("changes since=%q shard=%q desc=%v limit=%d doc=%v follow=%v", r.Since, r.Shard, r.Descending, r.Limit,
		r.WithDoc, r.Follow)
	return &feed{db: db, read: r, since: r.Since, rows: db.changes(r.Since, r)}, nil
}

func (db *DB) changes(since string, r exec.ChangesRead) []exec.Row {
	var all []exec.Row
	for id, d := range db.docs {
		if s := Seq(d.seq); s > since && (r.Shard == "" || r.Shard == Shard(id)) {
			row := d.row(id, r.WithDoc)
			row.Seq, row.Shard = s, Shard(id)
			all = append(all, row)
		}
	}
	slices.SortFunc(all, func(a, b exec.Row) int { return strings.Compare(a.Seq, b.Seq) })
	if r.Descending {
		slices.Reverse(all)
	}
	return all
}

// feed is a change feed that may wait.
type feed struct {
	db    *DB
	read  exec.ChangesRead
	since string
	rows  []exec.Row
	given int64
	idle  bool // ErrIdle has been returned
}

func (f *feed) Next(ctx context.Context, row *exec.Row) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.read.Limit > 0 && f.given >= f.read.Limit {
			return io.EOF
		}
		if len(f.rows) > 0 {
			*row, f.rows = f.rows[0], f.rows[1:]
			f.since = row.Seq
			f.idle = false
			f.given++
			return nil
		}
		if !f.read.Follow {
			return io.EOF
		}
		f.db.mu.Lock()
		wake := f.db.wake
		f.rows = f.db.changes(f.since, f.read)
		f.db.mu.Unlock()
		if len(f.rows) > 0 {
			continue
		}
		if !f.idle {
			f.idle = true
			return exec.ErrIdle
		}
		select {
		case <-ctx.Done():
		case <-wake:
		}
	}
}

func (f *feed) Close() error { return nil }
