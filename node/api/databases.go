package api

import (
	"context"
	"hash/fnv"
	"net/http"
	"strconv"

	"github.com/divandb/divan/layer"
)

// usersDatabase holds the users; its documents have rules of their own (Users). Both are open to more than server admins, unlike every other database whose
// name begins with an underscore.
const (
	usersDatabase      = "_users"
	replicatorDatabase = "_replicator"
)

// adminsOnly is the security object of new databases while admins are configured (CouchDB's default_security = admin_only).
const adminsOnly = `{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`

// databaseAccess: only server admins create and delete databases.
func databaseAccess(q *request) error {
	if q.method == http.MethodPut || q.method == http.MethodDelete {
		return serverAdmin(q)
	}
	return databaseMember(q)
}

// databaseInfo answers GET /{db}.
func (q *request) databaseInfo() error {
	info, err := q.db.Info(q.ctx())
	if err != nil {
		return err
	}
	return q.sendJSON(http.StatusOK, q.srv.appendInfo(nil, &info))
}

// appendInfo appends the figures of a database. Beside CouchDB's members stand the number of changes shards and the incarnation.
func (s *Server) appendInfo(dst []byte, info *layer.Info) []byte {
	dst = appendStringMember(append(dst, '{'), "db_name", info.Name)
	dst = appendStringMember(dst, "instance_start_time", instanceStart(info))
	dst = appendIntMember(dst, "doc_count", info.DocCount)
	dst = appendIntMember(dst, "doc_del_count", info.DocDelCount)
	dst = appendStringMember(dst, "update_seq", info.UpdateSeq.String())
	dst = appendStringMember(dst, "purge_seq", strconv.FormatInt(info.PurgeSeq, 10))
	dst = appendBoolMember(dst, "compact_running", info.Compacting)
	dst = append(dst, `,"sizes":{`...)
	dst = appendIntMember(dst, "active", info.ActiveSize)
	dst = appendIntMember(dst, "external", info.ExternalSize)
	dst = appendIntMember(dst, "file", info.ActiveSize)
	dst = append(dst, `},"props":{`...)
	if info.Partitioned {
		dst = append(dst, `"partitioned":true`...)
	}
	dst = append(dst, `},"disk_format_version":8,"cluster":{"q":`...)
	dst = strconv.AppendInt(dst, int64(info.Shards), 10)
	dst = append(dst, `,"n":1,"w":1,"r":1}`...)
	dst = appendIntMember(dst, "changes_shards", int64(info.Shards))
	dst = appendIntMember(dst, "incarnation", info.Incarnation)
	dst = appendStringMember(dst, "uuid", info.UUID)
	return append(dst, '}')
}

// instanceStart tells one database from another of the same name created later, which is all that clients do with it. CouchDB shows a time.
func instanceStart(info *layer.Info) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(info.UUID)) // a hash takes everything
	return strconv.FormatUint(uint64(h.Sum32()), 10)
}

// createDatabase answers PUT /{db}. n and q are CouchDB's replicas and shards: checked, and without meaning here.
func (q *request) createDatabase() error {
	o := layer.CreateOptions{Shards: q.srv.o.DefaultShards}
	for _, name := range []string{"n", "q"} {
		if v := q.params.get(name, "1"); !isPositive(v) {
			return badRequest("The `%s` value should be a positive integer.", name)
		}
	}
	if q.params.has("changes_shards") {
		n, err := strconv.Atoi(q.params.get("changes_shards", ""))
		if err != nil || n < 1 {
			return badRequest("The `changes_shards` value should be a positive integer.")
		}
		o.Shards = n
	}
	switch q.params.get("partitioned", "false") {
	case "true":
		o.Partitioned = true
	case "false":
	default:
		return badRequest("Invalid `partitioned` parameter")
	}
	if q.srv.o.Auth.HasAdmins() {
		o.Security = []byte(adminsOnly)
	}
	if _, err := q.srv.o.Store.Create(q.ctx(), q.path[0], o); err != nil {
		return err
	}
	q.location(q.path[0])
	return q.sendOK(http.StatusCreated)
}

func isPositive(v string) bool {
	n, err := strconv.Atoi(v)
	return err == nil && n > 0
}

// deleteDatabase answers DELETE /{db}.
func (q *request) deleteDatabase() error {
	if q.params.has("rev") {
		return badRequest("You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?")
	}
	if err := q.srv.o.Store.Delete(q.ctx(), q.path[0]); err != nil {
		return err
	}
	return q.sendOK(http.StatusOK)
}

// getSecurity and putSecurity are /{db}/_security.
func (q *request) getSecurity() error {
	object, err := q.db.Security(q.ctx())
	if err != nil {
		return err
	}
	return q.sendJSON(http.StatusOK, append([]byte(nil), object...))
}

func (q *request) putSecurity() error {
	if q.path[0] == usersDatabase && !q.srv.o.Settings.IsTrue("couchdb", "users_db_security_editable") {
		return forbidden("You can't edit the security object of the user database.")
	}
	if err := q.requireDatabaseAdmin(); err != nil {
		return err
	}
	object, err := q.objectBody()
	if err != nil {
		return err
	}
	if err := q.db.SetSecurity(q.ctx(), []byte(object.Raw)); err != nil {
		return err
	}
	return q.sendOK(http.StatusOK)
}

// getRevsLimit and putRevsLimit are /{db}/_revs_limit.
func (q *request) getRevsLimit() error { return q.sendLimit(q.db.RevsLimit) }

func (q *request) putRevsLimit() error {
	return q.setLimit(badRequest("Rev limit must be an integer"), q.db.SetRevsLimit)
}

// sendLimit answers with one of the database's limits, a bare number.
func (q *request) sendLimit(get func(context.Context) (int, error)) error {
	n, err := get(q.ctx())
	if err != nil {
		return err
	}
	return q.sendJSON(http.StatusOK, strconv.AppendInt(nil, int64(n), 10))
}

// setLimit sets one of them to the number in the body; noNumber answers what is none.
func (q *request) setLimit(noNumber error, set func(context.Context, int) error) error {
	if err := q.requireDatabaseAdmin(); err != nil {
		return err
	}
	body, err := q.jsonBody()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(body.Raw)
	if err != nil {
		return noNumber
	}
	if err := set(q.ctx(), n); err != nil {
		return err
	}
	return q.sendOK(http.StatusOK)
}

// compact answers POST /{db}/_compact: the work goes on after the answer, on a node that has time, and GET /{db} shows
// it.
func (q *request) compact() error {
	if err := q.requireJSON(); err != nil {
		return err
	}
	if err := q.db.RequestCompaction(q.ctx()); err != nil {
		return err
	}
	return q.sendOK(http.StatusAccepted)
}

// compactIndex answers POST /{db}/_compact/{design}: indexes here need none, but an unknown design document is an error.
func (q *request) compactIndex() error {
	if err := q.requireJSON(); err != nil {
		return err
	}
	if _, err := q.db.Design(q.ctx(), q.part(2)); err != nil {
		return err
	}
	return q.sendOK(http.StatusAccepted)
}

// viewCleanup answers POST /{db}/_view_cleanup.
func (q *request) viewCleanup() error {
	if err := q.db.CleanupViews(q.ctx()); err != nil {
		return err
	}
	return q.sendOK(http.StatusAccepted)
}

// ensureFullCommit answers POST /{db}/_ensure_full_commit: every write was durable when it was acknowledged.
func (q *request) ensureFullCommit() error {
	if err := q.requireJSON(); err != nil {
		return err
	}
	info, err := q.db.Info(q.ctx())
	if err != nil {
		return err
	}
	b := appendStringMember([]byte(`{"ok":true`), "instance_start_time", instanceStart(&info))
	return q.sendJSON(http.StatusCreated, append(b, '}'))
}
