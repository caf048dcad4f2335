package api

import (
	"context"
	"net/http"

	"github.com/divandb/divan/layer"
)

// What the HTTP side needs of other rooms. node wires them; each may be called from any goroutine.

// User is who sent a request. The zero User is anonymous without roles; without any admin configured ("admin party") the
// anonymous user has the role _admin.
type User struct {
	Name    string
	Roles   []string
	Handler string // how it was found: "cookie", "default" (basic); empty for anonymous
}

// IsAdmin reports whether the user is a server admin.
func (u User) IsAdmin() bool { return u.has("_admin") }

func (u User) has(role string) bool {
	for _, r := range u.Roles {
		if r == role {
			return true
		}
	}
	return false
}

// Authenticator is node/auth.
type Authenticator interface {
	// Authenticate finds out who sends r, by cookie or Authorization header, and may set a renewed cookie in h, the response's
	// header. Wrong credentials are a layer.Error of kind Unauthorized (reason "Name or password is incorrect."); an empty or odd
	// credential is anonymous, not an error (PouchDB sends such).
	Authenticate(r *http.Request, h http.Header) (User, error)

	// ServeSession answers /_session (GET, HEAD, POST, DELETE; other methods never arrive). An error is answered by the caller.
	ServeSession(w http.ResponseWriter, r *http.Request, u User) error

	// HasAdmins reports whether any admin is configured: new databases are then for admins only (CouchDB's default_security =
	// admin_local).
	HasAdmins() bool
}

// Admins changes server admins while the node runs: PUT and DELETE /_node/{name}/_config/admins/{user}.
type Admins interface {
	// Admins maps names to stored hashes.
	Admins() map[string]string
	// SetAdmin adds or changes an admin. password is clear text or a stored hash; the stored hash is returned.
	SetAdmin(name, password string) (hash string, err error)
	DeleteAdmin(name string) error
}

// Users are the rules of the _users database. dbAdmin is whether the user administers that database.
type Users interface {
	// BeforeWrite refuses what may not be written, validates, and replaces a clear password in e.Body by its hash.
	BeforeWrite(ctx context.Context, u User, dbAdmin bool, e *layer.Edit) error
	// AfterRead refuses (NotFound "missing", Forbidden) or narrows what u may see of doc.
	AfterRead(u User, dbAdmin bool, doc *layer.Document) error
}

// Feeds wakes feeds that wait (clause C7): one watcher per shard and node, any number of listeners.
type Feeds interface {
	// Listen registers a listener. After every commit of an entry in one of the shards that happens after Listen returned, and after a
	// reshard or the deletion of the database, a value is in the channel (capacity 1, several wakes may be one; a wake without reason is
	// allowed). The caller reads the feed after Listen and calls cancel when it stops waiting.
	Listen(db *layer.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func())
}

// UpdateMode is how fresh an index has to be: ?update=.
type UpdateMode int

// The modes.
const (
	UpdateTrue  UpdateMode = iota // reflects every write acknowledged before the request
	UpdateFalse                   // as it stands
	UpdateLazy                    // as it stands, and brought up to date afterwards
)

// Indexer brings indexes up to date (actors.EnsureIndexed).
type Indexer interface {
	// Ensure blocks until the design's index is as mode wants it, or ctx ends (Timeout). UpdateLazy and UpdateFalse do not wait.
	Ensure(ctx context.Context, db *layer.Database, design *layer.Design, mode UpdateMode) error
	// Use notes that somebody asks for the index, which is kept warm then. It does not block; Ensure does it too.
	Use(db *layer.Database, design *layer.Design)
	// Waiting is how many requests wait in Ensure on this node. It does not block.
	Waiting(db *layer.Database, design *layer.Design) int
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
}

// Members lists the cluster.
type Members interface {
	Members() []Member
}

// Actors is the supervision tree.
type Actors interface {
	// Tree is what GET /_actors answers: one JSON value.
	Tree(ctx context.Context) ([]byte, error)
}

// Tasks lists background work.
type Tasks interface {
	// ActiveTasks returns one JSON object per task, with CouchDB's members (type, node, pid, database, progress, started_on, updated_on ...).
	ActiveTasks(ctx context.Context) ([][]byte, error)
}

// Backups copies the store while it runs.
type Backups interface {
	// Backup makes a directory that another node can be started on (-data), and returns its path once it is on disk: one state of the whole store, not older
	// than the call. name is the directory's, as the client gave it. Errors are layer.Errors: Invalid, Exists, NotImplemented, or the store's.
	Backup(ctx context.Context, name string) (dir string, err error)
}

// Health says how the node is.
type Health interface {
	// Ready is nil, or why the node cannot serve.
	Ready(ctx context.Context) error
	// Degraded lists why a node that serves needs an operator: "name: what is wrong and what to do". It does not block.
	Degraded() []string
}
