package sqlreads_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

func TestDatabase_Changes(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db", `{"_id":"a"}`, `{"_id":"b"}`, `{"_id":"c"}`)
	rows, err := open(t, s, "db").Changes(t.Context(), exec.ChangesRead{})
	seqs := strings.Fields(drain(t, rows, err, func(r exec.Row) string { return r.Seq }))
	rev := put(t, d, `{"_id":"e","x":1}`, false)
	put(t, d, `{"_id":"e","_rev":"`+rev.String()+`","_deleted":true,"why":"x"}`, false)
	db := open(t, s, "db")
	for _, c := range []struct {
		name string
		read exec.ChangesRead
		want string
	}{
		{"all", exec.ChangesRead{}, "a b c e"},
		{"since", exec.ChangesRead{Since: seqs[1]}, "c e"},
		{"since zero", exec.ChangesRead{Since: "0", Limit: 1}, "a"},
		{"backwards", exec.ChangesRead{Descending: true, Limit: 2}, "e c"},
		{"a shard that never existed", exec.ChangesRead{Shard: "nope"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, err := db.Changes(t.Context(), c.read)
			if got := drain(t, rows, err, id); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	rows, err = db.Changes(t.Context(), exec.ChangesRead{Since: seqs[2], WithDoc: true, WithRev: true})
	got := drain(t, rows, err, func(r exec.Row) string {
		return fmt.Sprint(r.Deleted, r.Rev[:2], r.Shard != "", string(r.Doc))
	})
	if !strings.HasPrefix(got, "true2-true{") || !strings.Contains(got, `"why":"x"`) {
		t.Errorf("a tombstone: %s", got)
	}
	if _, err := db.Changes(t.Context(), exec.ChangesRead{Since: "soon"}); exec.KindOf(err) != exec.Invalid {
		t.Errorf("a malformed sequence: %v", err)
	}
}

// A followed feed waits, continues across a reshard, ends with its context or with Close, and does not read ahead.
func TestDatabase_Follow(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db", `{"_id":"a"}`)
	db := open(t, s, "db")
	opened, cancelOpen := context.WithCancel(t.Context())
	rows, err := db.Changes(opened, exec.ChangesRead{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cancelOpen() // the statement that opened the portal has ended; the portal lives on
	next := func(want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var row exec.Row
		if err := await(ctx, rows, &row); err != nil || row.ID != want {
			t.Fatalf("got %q, %v; want %q", row.ID, err, want)
		}
	}
	next("a")
	put(t, d, `{"_id":"b"}`, false)
	next("b")
	if _, err := d.Reshard(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		id := fmt.Sprint("c", i)
		put(t, d, `{"_id":"`+id+`"}`, false)
		next(id)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var row exec.Row
	if err := await(ctx, rows, &row); exec.KindOf(err) != exec.Timeout {
		t.Errorf("without further changes: %+v, %v", row, err)
	}
}

// await calls Next until it returns something other than ErrIdle, which comes once before each wait.
func await(ctx context.Context, rows exec.Rows, row *exec.Row) error {
	err := rows.Next(ctx, row)
	if errors.Is(err, exec.ErrIdle) {
		err = rows.Next(ctx, row)
	}
	return err
}

func TestDatabase_FollowAShardToItsEnd(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db", `{"_id":"a"}`)
	maps, err := d.ShardMaps(t.Context(), layer.Seq{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := open(t, s, "db").Changes(t.Context(), exec.ChangesRead{Follow: true, Shard: string(maps[0].Shards[0])})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Reshard(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	put(t, d, `{"_id":"elsewhere"}`, false)
	if got := drain(t, rows, nil, id); got != "a" {
		t.Errorf("rows of the replaced shard: %q", got)
	}
}
