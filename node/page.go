package node

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/console/page"
	"github.com/divandb/divan/node/dashboard"
	"github.com/divandb/divan/query"
)

// maxShown bounds how many jobs, shards, indexes and children of an actor the page lists: a node can have very many
// databases.
const maxShown = 200

// pageAt is the address of the console's page, and pageAPI that of what it shows.
const (
	pageAt  = "/_dashboard/"
	pageAPI = "/_dashboard/api"
	// pageCouch is where the page finds CouchDB's API.
	pageCouch = "/_dashboard/couch/"
)

// page returns the dashboard.
func (n *Node) page(h health) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(pageAPI+"/", withConnection(n.console.Handler(pageAPI)))
	mux.Handle(pageAt, page.Handler(pageAt))
	mux.Handle("GET /_dashboard", http.RedirectHandler(pageAt, http.StatusMovedPermanently))
	// The page about this node alone, until the console shows all that is on it.
	old := n.oldPage(h)
	mux.HandleFunc(pageAt+"node/", func(w http.ResponseWriter, r *http.Request) {
		inner := r.Clone(r.Context())
		inner.URL.Path = pageAt + strings.TrimPrefix(r.URL.Path, pageAt+"node/")
		old.ServeHTTP(w, inner)
	})
	return mux
}

// oldPage returns the page about this node alone.
func (n *Node) oldPage(h health) http.Handler {
	begun := time.Now().UTC()
	return dashboard.Handler(dashboard.Sources{
		Node: func(context.Context) (any, error) {
			return map[string]any{"name": n.name, "version": Version(), "engine": n.engine.Name(),
				"started": begun}, nil
		},
		Store:   h.storeShown,
		Health:  h.shown,
		Members: func(context.Context) (any, error) { return n.cluster.Members(), nil },
		Actors: func(context.Context) (any, error) {
			return map[string]any{"node": n.name, "tree": n.actors.TreeOf(maxShown)}, nil
		},
		Tasks:   func(context.Context) (any, error) { return n.actors.Tasks(), nil },
		Jobs:    func(ctx context.Context) (any, error) { return shownJobs(ctx, n.store) },
		Shards:  func(context.Context) (any, error) { return n.actors.Shards(maxShown), nil },
		Indexes: func(ctx context.Context) (any, error) { return n.actors.Indexes(ctx, maxShown) },
		Counts: func(context.Context) (any, error) {
			return map[string]int{"shards": n.actors.CountShards(), "indexes": n.actors.CountIndexes()}, nil
		},
		Compaction: n.compaction().shown,
		Scripts:    func(context.Context) (any, error) { return n.scripts.Stats(), nil },
		Sessions:   func(context.Context) (any, error) { return shownSessions(n.sql), nil },
	})
}

// storeShown fails if the store does not answer. The page shows that first.
func (h health) storeShown(ctx context.Context) (any, error) {
	if err := h.StoreReady(ctx); err != nil {
		return nil, err
	}
	return map[string]any{"state": "answers"}, nil
}

// shownJob is a job as the page shows it.
type shownJob struct {
	Type     string         `json:"type"`
	ID       string         `json:"id"`
	State    layer.JobState `json:"state"`
	Worker   string         `json:"worker"`
	Failures int            `json:"failures"`
	Error    string         `json:"error"`
	Updated  time.Time      `json:"updated"`
}

// shownJobs lists the jobs that wait or run.
func shownJobs(ctx context.Context, store *layer.Store) (any, error) {
	list := []shownJob{}
	for j, err := range store.Jobs(ctx) {
		if err != nil {
			return nil, err
		}
		if j.State == layer.JobFinished {
			continue
		}
		list = append(list, shownJob{j.Type, j.ID, j.State, j.Worker, j.Failures, j.Error, j.Updated})
		if len(list) == maxShown {
			break
		}
	}
	return list, nil
}

// shownSession is an SQL session as the page shows it.
type shownSession struct {
	PID         uint32    `json:"pid"`
	User        string    `json:"user"`
	Database    string    `json:"database"`
	Application string    `json:"application"`
	State       string    `json:"state"`
	Query       string    `json:"query"`
	Since       time.Time `json:"since"`
	Rows        int64     `json:"rows"`
}

func shownSessions(server *query.Server) []shownSession {
	list := []shownSession{}
	for _, s := range server.Sessions() {
		list = append(list, shownSession{s.PID, s.User, s.Database, s.Application, s.State, s.Statement, s.Since,
			s.Rows})
	}
	return list
}
