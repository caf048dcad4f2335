// Command worker follows a database with a worker for each changes shard, and does its work exactly once: it counts the
// measurements of each room. Whatever happens to it, to a node, or to the number of shards, no measurement is missed or
// counted twice, because a worker stores how far it is together with what it has done. docs/guides/pipelines.md
// explains it. How a shard is chosen for a document is none of its business.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// state is what a worker has done, and up to which sequence. It is one file, so both change together.
type state struct {
	Seq   string         `json:"seq"`
	Rooms map[string]int `json:"rooms"`
	// Next is set at the end of a shard that was replaced: nothing is written to it any more.
	Next *generation `json:"next,omitempty"`
}

// generation is a set of shards, which have all changes after a sequence.
type generation struct {
	Since  string   `json:"since"`
	Shards []string `json:"shards"`
}

// changes is an answer of a shard's feed.
type changes struct {
	Results []struct {
		ID      string
		Deleted bool
	}
	LastSeq   string      `json:"last_seq"`
	Resharded *generation `json:"resharded"`
}

type worker struct {
	database string // URL
	dir      string // of the states
	once     bool   // end when everything is read
	client   *http.Client
}

func main() {
	w := worker{client: &http.Client{Timeout: 2 * time.Minute}}
	flag.StringVar(&w.database, "database", "http://127.0.0.1:5984/sensors", "`URL` of the database")
	flag.StringVar(&w.dir, "state", "state", "`DIR` for what is done")
	flag.BoolVar(&w.once, "once", false, "end when all changes are read")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := w.run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stopped
	}
}

// run follows one generation of shards after the other. All workers of a generation end before the next one begins, so
// that the changes of a document are handled in their order.
func (w worker) run(ctx context.Context) error {
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	g, err := w.first(ctx)
	for err == nil && g != nil {
		g, err = w.follow(ctx, g)
	}
	return err
}

// first returns the shards that have the oldest changes.
func (w worker) first(ctx context.Context) (*generation, error) {
	var meta struct{ Maps []generation }
	if err := w.get(ctx, "/_changes/_meta", &meta); err != nil {
		return nil, err
	}
	if len(meta.Maps) == 0 {
		return nil, errors.New("the database has no shards")
	}
	return &meta.Maps[0], nil
}

// follow has a worker for each shard of a generation, and returns the next generation, or nil at the end.
func (w worker) follow(ctx context.Context, g *generation) (*generation, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	var mu sync.Mutex
	var next *generation
	for _, shard := range g.Shards {
		running.Go(func() {
			after, err := w.shard(ctx, shard, g.Since)
			if err != nil {
				cancel(fmt.Errorf("shard %s: %w", shard, err)) // the others end too
			}
			mu.Lock()
			defer mu.Unlock()
			if after != nil {
				next = after
			}
		})
	}
	running.Wait()
	return next, context.Cause(ctx)
}

// shard reads a shard to its end, or for ever.
func (w worker) shard(ctx context.Context, shard, since string) (*generation, error) {
	file := filepath.Join(w.dir, shard+".json")
	s := state{Seq: since, Rooms: map[string]int{}}
	if text, err := os.ReadFile(file); err == nil { //nolint:gosec // our own file
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	feed := "longpoll"
	if w.once {
		feed = "normal"
	}
	for s.Next == nil {
		var c changes
		if err := w.get(ctx, fmt.Sprintf("/_changes/%s?since=%s&feed=%s&limit=500&timeout=30000", shard,
			url.QueryEscape(s.Seq), feed), &c); err != nil {
			return nil, err
		}
		for _, change := range c.Results {
			if room, _, ok := strings.Cut(change.ID, ":"); ok && !change.Deleted {
				s.Rooms[room]++ // the work
			}
		}
		done := c.LastSeq == s.Seq
		s.Seq, s.Next = c.LastSeq, c.Resharded
		if err := save(file, s); err != nil { // the work and the sequence, or neither
			return nil, err
		}
		if w.once && done && s.Next == nil {
			return nil, nil
		}
	}
	return s.Next, nil
}

// save replaces a file, so that it has either the old or the new content, also after a power cut.
func save(file string, s state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.Create(file + ".new") //nolint:gosec // our own file
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// get reads JSON. Requests that fail because a node is away are repeated.
func (w worker) get(ctx context.Context, path string, into any) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		again, err := w.try(ctx, path, into)
		if err == nil || !again {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w worker) try(ctx context.Context, path string, into any) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.database+path, nil)
	if err != nil {
		return false, err
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return ctx.Err() == nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.StatusCode >= 500, fmt.Errorf("%s answers %s", path, answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return true, err
	}
	return false, nil
}
