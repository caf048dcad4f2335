package databases

import (
	"context"
	"net/http"
	"strconv"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
	"github.com/divandb/divan/node/auth"
)

// AdminsOnly is the security object of new databases if admins are configured and the option couchdb/default_security
// does not say everyone.
const AdminsOnly = `{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`

// DatabaseInfo answers GET /{db}.
func (h *Handlers) DatabaseInfo(q *call.Request) error {
	info, err := q.DB.Info(q.Ctx())
	if err != nil {
		return err
	}
	return q.SendJSON(http.StatusOK, render.Info(nil, &info))
}

// couchEngine is the only storage engine of a CouchDB.
const couchEngine = "couch"

// CreateDatabase answers PUT /{db}. n and q, CouchDB's replicas and shards, are validated but have no effect. A
// placement is refused: whoever asks for certain nodes relies on it.
func (h *Handlers) CreateDatabase(q *call.Request) error {
	if q.Params.Get("engine", couchEngine) != couchEngine {
		return fault.BadRequest("invalid_engine_extension")
	}
	if q.Params.Has("placement") {
		return fault.BadRequest("`placement` is not supported: the store decides where data is.")
	}
	o := layer.CreateOptions{Shards: h.Shards}
	for _, name := range []string{"n", "q"} {
		if v := q.Params.Get(name, "1"); !isPositive(v) {
			return fault.BadRequest("The `%s` value should be a positive integer.", name)
		}
	}
	if q.Params.Has("changes_shards") {
		n, err := strconv.Atoi(q.Params.Get("changes_shards", ""))
		if err != nil || n < 1 {
			return fault.BadRequest("The `changes_shards` value should be a positive integer.")
		}
		o.Shards = n
	}
	switch q.Params.Get("partitioned", "false") {
	case "true":
		o.Partitioned = true
	case "false":
	default:
		return fault.BadRequest("Invalid `partitioned` parameter")
	}
	if err := h.create(q.Ctx(), q.Path[0], o); err != nil {
		return err
	}
	q.Location(q.Path[0])
	return q.SendOK(http.StatusCreated)
}

// Create creates a database without options.
func (h *Handlers) Create(ctx context.Context, name string) error {
	return h.create(ctx, name, layer.CreateOptions{Shards: h.Shards})
}

// CreateSystem creates a database of users or replications that is needed, for admins only, unless another request has
// done so, and opens it. A database of users gets its design document, unless the request brings it (bare).
func (h *Handlers) CreateSystem(ctx context.Context, name string, bare bool) (*layer.Database, error) {
	create := h.make
	if bare {
		create = h.Store.Create
	}
	db, err := create(ctx, name, layer.CreateOptions{Shards: h.Shards, Security: []byte(AdminsOnly)})
	if err != nil && layer.KindOf(err) == layer.Exists {
		return h.Store.Database(ctx, name)
	}
	return db, err
}

// create creates a database, for admins only unless couchdb/default_security says otherwise.
func (h *Handlers) create(ctx context.Context, name string, o layer.CreateOptions) error {
	security, _ := h.Settings.Get("couchdb", "default_security")
	if h.Closed() && security == "admin_only" {
		o.Security = []byte(AdminsOnly)
	}
	_, err := h.make(ctx, name, o)
	return err
}

// make creates a database, that of users with its design document.
func (h *Handlers) make(ctx context.Context, name string, o layer.CreateOptions) (*layer.Database, error) {
	db, err := h.Store.Create(ctx, name, o)
	if err != nil {
		return nil, err
	}
	users, given := h.Settings.Get("chttpd_auth", "authentication_db")
	if !given {
		users = auth.UsersDatabase
	}
	if name == users {
		if err := auth.EnsureUserDesign(ctx, db); err != nil { // the next start of a node tries again
			h.Log.Warn("the design document of users could not be written", "database", name, "error", err)
		}
	}
	return db, nil
}

func isPositive(v string) bool {
	n, err := strconv.Atoi(v)
	return err == nil && n > 0
}

// DeleteDatabase answers DELETE /{db}.
func (h *Handlers) DeleteDatabase(q *call.Request) error {
	if q.Params.Has("rev") {
		return fault.BadRequest("You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a " +
			"document instead?")
	}
	if err := h.Store.Delete(q.Ctx(), q.Path[0]); err != nil {
		return err
	}
	return q.SendOK(http.StatusOK)
}

// GetSecurity answers GET /{db}/_security.
func (h *Handlers) GetSecurity(q *call.Request) error {
	object, err := q.DB.Security(q.Ctx())
	if err != nil {
		return err
	}
	return q.SendJSON(http.StatusOK, append([]byte(nil), object...))
}

// PutSecurity answers PUT /{db}/_security.
func (h *Handlers) PutSecurity(q *call.Request) error {
	if auth.IsUsersDatabase(q.Path[0]) && !h.Settings.IsTrue("couchdb", "users_db_security_editable") {
		return fault.Forbidden("You can't edit the security object of the user database.")
	}
	if err := q.RequireDatabaseAdmin(); err != nil {
		return err
	}
	object, err := q.Body.Object()
	if err != nil {
		return err
	}
	if err := q.DB.SetSecurity(q.Ctx(), []byte(object.Raw)); err != nil {
		return err
	}
	return q.SendOK(http.StatusOK)
}

// GetRevsLimit answers GET /{db}/_revs_limit.
func (h *Handlers) GetRevsLimit(q *call.Request) error { return sendLimit(q, q.DB.RevsLimit) }

// PutRevsLimit answers PUT /{db}/_revs_limit.
func (h *Handlers) PutRevsLimit(q *call.Request) error {
	return setLimit(q, fault.BadRequest("Rev limit must be an integer"), q.DB.SetRevsLimit)
}

// sendLimit answers with one of the database's limits as a bare number.
func sendLimit(q *call.Request, get func(context.Context) (int, error)) error {
	n, err := get(q.Ctx())
	if err != nil {
		return err
	}
	return q.SendJSON(http.StatusOK, strconv.AppendInt(nil, int64(n), 10))
}

// setLimit sets a limit to the number in the body. noNumber is the error for anything else.
func setLimit(q *call.Request, noNumber error, set func(context.Context, int) error) error {
	if err := q.RequireDatabaseAdmin(); err != nil {
		return err
	}
	body, err := q.Body.Json()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(body.Raw)
	if err != nil {
		return noNumber
	}
	if err := set(q.Ctx(), n); err != nil {
		return err
	}
	return q.SendOK(http.StatusOK)
}

// Compact answers POST /{db}/_compact. The work continues after the response, on any node, and GET /{db} shows it.
func (h *Handlers) Compact(q *call.Request) error {
	if err := q.RequireJSON(); err != nil {
		return err
	}
	if err := q.DB.RequestCompaction(q.Ctx()); err != nil {
		return err
	}
	return q.SendOK(http.StatusAccepted)
}

// CompactIndex answers POST /{db}/_compact/{design}. Indexes need no compaction here, but an unknown design document is
// an error.
func (h *Handlers) CompactIndex(q *call.Request) error {
	if err := q.RequireJSON(); err != nil {
		return err
	}
	if _, err := q.DB.Design(q.Ctx(), q.Part(2)); err != nil {
		return err
	}
	return q.SendOK(http.StatusAccepted)
}

// ViewCleanup answers POST /{db}/_view_cleanup.
func (h *Handlers) ViewCleanup(q *call.Request) error {
	if err := q.DB.CleanupViews(q.Ctx()); err != nil {
		return err
	}
	return q.SendOK(http.StatusAccepted)
}

// EnsureFullCommit answers POST /{db}/_ensure_full_commit. Every acknowledged write is already durable.
func (h *Handlers) EnsureFullCommit(q *call.Request) error {
	if err := q.RequireJSON(); err != nil {
		return err
	}
	info, err := q.DB.Info(q.Ctx())
	if err != nil {
		return err
	}
	b := encode.StringMember([]byte(`{"ok":true`), "instance_start_time", render.InstanceStart(&info))
	return q.SendJSON(http.StatusCreated, append(b, '}'))
}

// GetPurgesLimit answers GET /{db}/_purged_infos_limit: how many purge infos compaction keeps.
func (h *Handlers) GetPurgesLimit(q *call.Request) error { return sendLimit(q, q.DB.PurgesLimit) }

// PutPurgesLimit answers PUT /{db}/_purged_infos_limit.
func (h *Handlers) PutPurgesLimit(q *call.Request) error {
	return setLimit(q, fault.BadRequest("`purged_infos_limit` must be positive integer"), q.DB.SetPurgesLimit)
}
