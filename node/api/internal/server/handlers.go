package server

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
)

// Handlers answer for this node and the cluster. Sources may be nil: what they would answer is then empty or 501.
type Handlers struct {
	Store    *layer.Store
	Sessions Sessions
	Members  Members
	Others   Others
	Actors   Actors
	Tasks    Tasks
	Health   Health
	Backups  Backups

	Metrics, Dashboard, Profiles http.Handler
	// Files are those for /_utils/; nil: none.
	Files fs.FS

	Node, Version, GitSHA, UUID string
	JavaScript                  string // version of the engine

	Began time.Time
	Stats stats // of responses; the router counts them
	// Counters returns what other parts of the node have counted; nil: not known.
	Counters func() Counters
	Feeds    func() int64 // changes feeds that wait
	Log      *slog.Logger
}

// Sessions answers /_session.
type Sessions interface {
	// ServeSession answers GET, HEAD, POST and DELETE; no other methods get here. The caller answers errors.
	ServeSession(w http.ResponseWriter, r *http.Request, u call.User) error
}

// Member is a node as this one sees it (docs/clauses.md, "HTTP").
type Member struct {
	Name    string   `json:"name"`
	Status  string   `json:"status"` // alive, suspect or left
	Self    bool     `json:"self"`
	HTTP    string   `json:"http"`
	SQL     string   `json:"sql"`
	Gossip  string   `json:"gossip"`
	Version string   `json:"version"`
	Roles   []string `json:"roles"`
	GivenUp bool     `json:"given_up"` // it has left without announcing it
	// GoneSince is when this node saw it go, absent while it is up.
	GoneSince *time.Time `json:"gone_since,omitempty"`
}

// Members lists the cluster.
type Members interface {
	Members() []Member
}

// NodeRequest is a request that another member answers.
type NodeRequest struct {
	Method string        `json:"method"`
	Path   []string      `json:"path"` // below /_node/_local/, decoded
	User   layer.UserCtx `json:"user"` // the caller, with whose rights it is answered
	Body   []byte        `json:"body,omitempty"`
}

// NodeAnswer is the answer to a NodeRequest.
type NodeAnswer struct {
	Status int    `json:"status"`
	Type   string `json:"type"` // Content-Type
	Body   []byte `json:"body"`
}

// Others asks other members.
type Others interface {
	// Ask has a member answer a request. The error is for a member that does not answer in time.
	Ask(ctx context.Context, member string, r NodeRequest) (NodeAnswer, error)
}

// Actors is the supervision tree.
type Actors interface {
	// Tree returns the response to GET /_actors: one JSON value.
	Tree(ctx context.Context) ([]byte, error)
}

// Tasks lists background work.
type Tasks interface {
	// ActiveTasks returns one JSON object per task, with CouchDB's members (type, node, pid, database, progress,
	// started_on, updated_on ...).
	ActiveTasks(ctx context.Context) ([][]byte, error)
}

// Backups copies the running store.
type Backups interface {
	// Backup writes a directory that another node can be started on (-data), and returns its path once it is on disk.
	// It contains one state of the whole store, not older than the call. name is the directory's name as the client
	// gave it. Errors are layer.Errors: Invalid, Exists, NotImplemented, or the store's.
	Backup(ctx context.Context, name string) (dir string, err error)
}

// Health reports the health of the node.
type Health interface {
	// Ready returns nil, or why the node cannot serve requests.
	Ready(ctx context.Context) error
	// Degraded lists why a node that serves requests still needs an operator: "name: what is wrong and what to do". It
	// does not block.
	Degraded() []string
}
