package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/state"
)

// parts are the parts of a node of a test.
type parts struct {
	actors    []state.Actor
	walks     atomic.Int64 // of all actors
	visits    atomic.Int64 // of actors, behind a place
	gone      bool         // the actor at a place
	drained   string       // the node that is, or all
	shards    []state.Shard
	databases int
	indexes   int          // of all databases
	unnamed   bool         // the names of the databases have not been read
	lostJobs  error        // instead of the failed builds after jobs
	skipped   string       // of all indexes
	unread    int          // databases that were not read yet
	reads     atomic.Int64 // databases and indexes that were read
	slow      time.Duration
	mu        sync.Mutex
	used      map[string]console.Use
	report    state.Report
	jobs      []state.Job
	tasks     []state.Task
	sessions  []state.Session
	did       []string
	lost      error // of the store
	deaf      bool  // it does not say whether it has set the level of the log
	// The versions of databases, and the entries of their feeds.
	versions map[string]int
	entries  map[string]int64

	replications []state.Replication
	missing      string // why some of them are
}

func (p *parts) use(name string, u console.Use) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[name] = u
}

func (p *parts) here(node string, nodes int) console.Here {
	return console.Here{
		Members: func() (list []state.Node) {
			for i := range nodes {
				name := fmt.Sprint("n", i+1)
				list = append(list, state.Node{Name: name, State: "ok", Text: "it works", Self: name == node,
					SQL: fmt.Sprint("10.0.0.", i+1, ":5433")})
				if p.drained == name || p.drained == "all" {
					list[i].State = "draining"
				}
			}
			return list
		},
		Report: func(context.Context) state.Report { return p.report },
		Actors: func() iter.Seq[state.Actor] {
			p.walks.Add(1)
			p.mu.Lock()
			defer p.mu.Unlock()
			return slices.Values(p.actors)
		},
		ActorsBehind: func(place []string, visit func(state.Actor) bool) (at []string) {
			i := 0
			if place != nil {
				i = slices.IndexFunc(p.actors, func(a state.Actor) bool { return a.ID == place[0] })
				if p.gone {
					p.actors = slices.Delete(p.actors, i, i+1)
					i--
				}
				i++
			}
			for _, a := range p.actors[i:] {
				p.visits.Add(1)
				if !visit(a) {
					return []string{a.ID}
				}
			}
			return nil
		},
		Sessions: func() iter.Seq[state.Session] { return slices.Values(p.sessions) },
		Shards:   func() iter.Seq[state.Shard] { return slices.Values(p.shards) },
		Indexes: func(context.Context) (iter.Seq[state.Index], console.Known) {
			return slices.Values(p.listIndexes()),
				console.Known{Databases: p.indexes, Unread: p.unread, Named: !p.unnamed, Every: time.Minute}
		},
		Index: p.readIndex,
		FailedBuilds: func(_ context.Context, database string) iter.Seq2[state.Job, error] {
			p.walks.Add(1)
			return func(yield func(state.Job, error) bool) {
				for _, j := range p.jobs {
					if (database == "" || j.Database == database) && !yield(j, nil) {
						return
					}
				}
				if p.lostJobs != nil {
					yield(state.Job{}, p.lostJobs)
				}
			}
		},
		IndexesOf: func(_ context.Context, database string) ([]state.Index, error) {
			if database == "new" && p.lost == nil {
				p.reads.Add(1)
				return []state.Index{{Database: "new", Design: "_design/x"}}, nil
			}
			return nil, p.lost
		},
		Tasks: func() []state.Task {
			if p.tasks != nil {
				return p.tasks
			}
			return []state.Task{{Node: node, Type: "indexer", Database: "db", Raw: json.RawMessage(`{"node":"` + node + `"}`)}}
		},
		Storage: func(context.Context) state.Storage { return state.Storage{Node: node, Engine: "embedded"} },
		Scripts: func() state.Scripts { return state.Scripts{Node: node, Running: 2} },
		Settings: func() []state.Setting {
			return []state.Setting{{Name: "sql.listen", Value: node, Default: "n1"}, {Name: "name", Value: "x"}}
		},
		Jobs: func(context.Context) iter.Seq2[state.Job, error] {
			return func(yield func(state.Job, error) bool) {
				for _, j := range p.jobs {
					if !yield(j, nil) {
						return
					}
				}
				if p.lost != nil {
					yield(state.Job{}, p.lost)
				}
			}
		},
		Replications: func(context.Context) (iter.Seq[state.Replication], string, error) {
			return slices.Values(p.replications), p.missing, p.lost
		},
		Databases: func(context.Context) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				if p.lost != nil {
					yield("", p.lost)
					return
				}
				for i := range p.databases {
					if !yield(fmt.Sprintf("db%05d", i), nil) {
						return
					}
				}
			}
		},
		Database: func(ctx context.Context, name string, whole bool) (state.Database, error) {
			p.reads.Add(1)
			if p.slow > 0 {
				select {
				case <-time.After(p.slow):
				case <-ctx.Done():
					return state.Database{}, ctx.Err()
				}
			}
			n := int64(0)
			_, _ = fmt.Sscanf(name, "db%d", &n)
			n = n * 7919 % 10_007
			if !whole {
				return state.Database{Name: name, Docs: &n}, nil
			}
			indexes := int(n % 7)
			return state.Database{Name: name, Docs: &n, Indexes: &indexes}, nil
		},
		Version: func(_ context.Context, name string) (v console.Version, err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return console.Version{ID: fmt.Sprint(p.versions[name]), Entries: p.entries[name]}, p.lost
		},
		InConflict: func(ctx context.Context, name string) (int64, error) {
			p.reads.Add(1)
			select {
			case <-time.After(p.slow):
			case <-ctx.Done():
				return 0, ctx.Err()
			}
			return int64(len(name)), nil
		},
		Used: func(visit func(string, console.Use)) {
			p.mu.Lock()
			defer p.mu.Unlock()
			for name, u := range p.used {
				visit(name, u)
			}
		},
	}
}

// actorsOf returns actors that count how many of them are looked at.
func actorsOf(node string, n int, looks *atomic.Int64) (list []state.Actor) {
	for i := range n {
		list = append(list, state.Actor{Node: node, ID: fmt.Sprintf("databases/database:db%06d/shard:s", i), Kind: "shard",
			State: "watching", Name: "s", Mailbox: i % 1000, Look: func() json.RawMessage {
				looks.Add(1)
				return json.RawMessage(`{"listeners":3,"wakes":4711}`)
			}})
	}
	return list
}

// listIndexes returns indexes with old values.
func (p *parts) listIndexes() (list []state.Index) {
	for i := range p.indexes {
		name := fmt.Sprintf("db%05d", i)
		list = append(list, state.Index{Database: name, Design: "_design/d", Views: []string{"v"}, Job: name + "/new",
			Rows: int64(i) * 7919 % 4007, Skipped: p.skipped})
	}
	return list
}

// readIndex returns an index with new values, and counts how many are read.
func (p *parts) readIndex(ctx context.Context, row state.Index) (state.Index, error) {
	p.reads.Add(1)
	if p.slow > 0 {
		select {
		case <-time.After(p.slow):
		case <-ctx.Done():
			return state.Index{}, ctx.Err()
		}
	}
	row.Rows++
	return row, p.lost
}
