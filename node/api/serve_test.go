package api_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/auth"
)

// account is one of testAuth's users.
type account struct {
	password string
	roles    []string
}

// testAuth authenticates its users by HTTP basic authentication. Without users, everyone is an admin.
type testAuth map[string]account

// Admit requires users of nobody: package auth decides that.
func (a testAuth) Admit(*http.Request, api.User) error { return nil }

func (a testAuth) HasAdmins() bool { return len(a) > 0 }

func (a testAuth) Authenticate(r *http.Request, _ http.Header) (api.User, error) {
	name, password, ok := r.BasicAuth()
	switch known, found := a[name]; {
	case len(a) == 0:
		return api.User{Roles: []string{"_admin"}}, nil
	case !ok:
		return api.User{}, nil
	case !found || known.password != password:
		return api.User{}, &layer.Error{Kind: layer.Unauthorized, Reason: "Name or password is incorrect."}
	default:
		return api.User{Name: name, Roles: known.roles, Handler: "default"}, nil
	}
}

func (a testAuth) ServeSession(http.ResponseWriter, *http.Request, api.User) error {
	return errors.New("no sessions here")
}

// watchFeeds uses one watch per listener and shard, as a node would without shard actors.
type watchFeeds struct{ t testing.TB }

func (f watchFeeds) Listen(db *layer.Database, shards ...layer.ShardID) (<-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	woken := make(chan struct{}, 1)
	wake := func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
	armed := make(chan struct{}, len(shards))
	for _, shard := range shards {
		go func() {
			for first := true; ctx.Err() == nil; first = false {
				w, _, err := db.WatchShard(ctx, shard, nil)
				// The new watch is armed before listeners are woken: a commit between a read and the next watch would
				// wake no one.
				if first {
					armed <- struct{}{}
				} else {
					wake()
				}
				if err != nil {
					wake()
					if layer.KindOf(err) == layer.NotFound {
						return
					}
					continue
				}
				select {
				case <-w.Done():
				case <-ctx.Done():
					w.Cancel()
				}
			}
		}()
	}
	for range shards {
		<-armed
	}
	return woken, cancel
}

// directIndexer builds indexes within the request.
type directIndexer struct{}

func (directIndexer) Use(*layer.Database, *layer.Design) {}

func (directIndexer) Waiting(*layer.Database, *layer.Design) int { return 0 }

func (directIndexer) Ensure(ctx context.Context, db *layer.Database, design *layer.Design, mode api.UpdateMode) error {
	if mode != api.UpdateTrue {
		return nil
	}
	ix := db.Index(design)
	if caught, err := ix.CatchUp(ctx, 1_000_000); caught || err != nil {
		return err
	}
	job := layer.IndexJob{Design: design.ID, Signature: design.Signature}
	b, err := db.StartBuild(ctx, job, 1, layer.BuildOptions{})
	if err != nil {
		return err
	}
	defer b.Close()
	for _, shard := range b.Shards {
		for r := (layer.StepResult{}); !r.Done; {
			if r, err = b.Step(ctx, shard, 1000); err != nil {
				return err
			}
		}
	}
	return b.Finish(ctx)
}

// server is a running API over an embedded store of its own.
type server struct {
	*httptest.Server
	store   *layer.Store
	sandbox *script.Sandbox
	api     *api.Server
	conns   *api.Listener
}

func serve(t testing.TB, change func(*api.Options)) *server {
	t.Helper()
	return serveOn(t, func(e *embedded.Engine) kv.Engine { return e }, change)
}

// serveOn lets the test observe what the store is asked.
func serveOn(t testing.TB, wrap func(*embedded.Engine) kv.Engine, change func(*api.Options)) *server {
	t.Helper()
	return serveConns(t, api.ConnLimits{}, wrap, change)
}

// serveConns is serveOn with limits on connections.
func serveConns(t testing.TB, limits api.ConnLimits, wrap func(*embedded.Engine) kv.Engine,
	change func(*api.Options)) *server {
	t.Helper()
	engine, err := embedded.Open(t.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	sandbox := script.New(script.Options{Limits: script.Limits{Time: time.Second}})
	t.Cleanup(func() { sandbox.Close() })
	store, err := layer.Open(t.Context(), faultkv.InSuite(t, wrap(engine)),
		layer.Options{Logger: slog.New(slog.DiscardHandler), Scripts: sandbox,
			Validator: auth.NewValidator(layer.NewValidator(sandbox))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	o := api.Options{
		Store: store, Auth: testAuth{}, Feeds: watchFeeds{t}, Indexer: directIndexer{}, Scripts: sandbox,
		Node: "divan@test", Version: "0.0-test", UUID: "0123456789abcdef0123456789abcdef",
		Logger: slog.New(slog.NewTextHandler(testLog{t}, nil)),
	}
	if change != nil {
		change(&o)
	}
	s := &server{store: store, sandbox: sandbox, api: api.New(o)}
	s.Server = httptest.NewUnstartedServer(s.api)
	s.conns = api.NewListener(s.Server.Listener, limits)
	s.Server.Listener, s.Config.ConnState, s.Config.ConnContext = s.conns, s.conns.ConnState, s.conns.ConnContext
	s.Server.Start()
	t.Cleanup(s.Server.Close)
	t.Cleanup(func() { s.api.Close() })
	return s
}

// testLog writes the server's log to the test's.
type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	if _, fuzzing := l.t.(*testing.F); fuzzing {
		return len(p), nil // logging is not allowed while fuzzing
	}
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}
