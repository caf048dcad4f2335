package databases

import (
	"context"
	"hash/fnv"
	"net/http"
	"strconv"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/auth"
)

// AdminsOnly is the security object of new databases if admins are configured (CouchDB's default_security =
// admin_only).
const AdminsOnly = `{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`

// DatabaseInfo answers GET /{db}.
func (h *Handlers) DatabaseInfo(q *call.Request) error {
	info, err := q.DB.Info(q.Ctx())
	if err != nil {
		return err
	}
	return q.SendJSON(http.StatusOK, appendInfo(nil, &info))
}

// appendInfo appends a database's info. In addition to CouchDB's members it has the number of changes shards and the
// incarnation.
func appendInfo(dst []byte, info *layer.Info) []byte {
	dst = encode.StringMember(append(dst, '{'), "db_name", info.Name)
	dst = encode.StringMember(dst, "instance_start_time", instanceStart(info))
	dst = encode.IntMember(dst, "doc_count", info.DocCount)
	dst = encode.IntMember(dst, "doc_del_count", info.DocDelCount)
	dst = encode.StringMember(dst, "update_seq", info.UpdateSeq.String())
	dst = encode.StringMember(dst, "purge_seq", strconv.FormatInt(info.PurgeSeq, 10))
	dst = encode.BoolMember(dst, "compact_running", info.Compacting)
	dst = append(dst, `,"sizes":{`...)
	dst = encode.IntMember(dst, "active", info.ActiveSize)
	dst = encode.IntMember(dst, "external", info.ExternalSize)
	dst = encode.IntMember(dst, "file", info.ActiveSize)
	dst = append(dst, `},"props":{`...)
	if info.Partitioned {
		dst = append(dst, `"partitioned":true`...)
	}
	dst = append(dst, `},"disk_format_version":8,"cluster":{"q":`...)
	dst = strconv.AppendInt(dst, int64(info.Shards), 10)
	dst = append(dst, `,"n":1,"w":1,"r":1}`...)
	dst = encode.IntMember(dst, "changes_shards", int64(info.Shards))
	dst = encode.IntMember(dst, "incarnation", info.Incarnation)
	dst = encode.StringMember(dst, "uuid", info.UUID)
	return append(dst, '}')
}

// instanceStart distinguishes a database from another one of the same name created later, which is all that clients use
// it for. In CouchDB it is a time.
func instanceStart(info *layer.Info) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(info.UUID)) // a hash never fails
	return strconv.FormatUint(uint64(h.Sum32()), 10)
}

// CreateDatabase answers PUT /{db}. n and q, CouchDB's replicas and shards, are validated but have no effect.
func (h *Handlers) CreateDatabase(q *call.Request) error {
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
	if h.Closed() {
		o.Security = []byte(AdminsOnly)
	}
	if _, err := h.Store.Create(q.Ctx(), q.Path[0], o); err != nil {
		return err
	}
	q.Location(q.Path[0])
	return q.SendOK(http.StatusCreated)
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
	if q.Path[0] == auth.UsersDatabase && !h.Settings.IsTrue("couchdb", "users_db_security_editable") {
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
	b := encode.StringMember([]byte(`{"ok":true`), "instance_start_time", instanceStart(&info))
	return q.SendJSON(http.StatusCreated, append(b, '}'))
}

// GetPurgesLimit answers GET /{db}/_purged_infos_limit: how many purge infos compaction keeps.
func (h *Handlers) GetPurgesLimit(q *call.Request) error { return sendLimit(q, q.DB.PurgesLimit) }

// PutPurgesLimit answers PUT /{db}/_purged_infos_limit.
func (h *Handlers) PutPurgesLimit(q *call.Request) error {
	return setLimit(q, fault.BadRequest("`purged_infos_limit` must be positive integer"), q.DB.SetPurgesLimit)
}
