package replications

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/rows"
	"github.com/divandb/divan/node/auth"
)

// Replicator runs replications, and shows those of all nodes as JSON objects.
type Replicator interface {
	// Request answers POST /_replicate. It waits for the end of a replication that is not continuous.
	Request(ctx context.Context, body []byte, user layer.UserCtx) (status int, answer []byte, err error)
	// Jobs lists the replications that have not ended, by id. Job returns one, or nil.
	Jobs(ctx context.Context) ([][]byte, error)
	Job(ctx context.Context, id string) ([]byte, error)
	// Doc returns the state of the replication that a document describes. The text is nil if there is none.
	Doc(ctx context.Context, database string, doc *layer.Document) (text []byte, state string, err error)
	// States lists all states.
	States() []string
}

// Handlers answer requests for replications.
type Handlers struct {
	Store      *layer.Store
	Replicator Replicator // nil: 501
}

var errNone = &layer.Error{Kind: layer.NotImplemented}

// Replicate answers POST /_replicate.
func (h *Handlers) Replicate(q *call.Request) error {
	if q.User.Name == "" && !q.User.IsAdmin() {
		return fault.Unauthorized("You are not an authenticated user")
	}
	if err := q.RequireJSON(); err != nil {
		return err
	}
	body, err := q.Body.Json()
	if err != nil {
		return err
	}
	if !body.IsObject() {
		return fault.BadRequest("Request body must be a JSON object")
	}
	if h.Replicator == nil {
		return errNone
	}
	status, answer, err := h.Replicator.Request(q.Ctx(), []byte(body.Raw), *q.UserCtx())
	if err != nil {
		return err
	}
	return q.SendJSON(status, answer)
}

// notFound is what CouchDB answers for unknown paths below /_scheduler.
func notFound(q *call.Request) error {
	return q.SendJSON(http.StatusNotFound, []byte(`{"error":"not found"}`))
}

// Scheduler answers GET below /_scheduler.
func (h *Handlers) Scheduler(q *call.Request) error {
	if h.Replicator == nil {
		return errNone
	}
	switch {
	case q.Part(1) == "jobs" && len(q.Path) == 2:
		return h.jobs(q)
	case q.Part(1) == "jobs" && len(q.Path) == 3:
		return h.job(q)
	case q.Part(1) == "docs":
		database, id, ok := docsPath(q.Path[2:])
		switch {
		case !ok:
			return fault.BadRequest("Invalid path")
		case id == "":
			return h.docs(q, database)
		}
		return h.doc(q, database, id)
	}
	return notFound(q)
}

// docsPath returns the database and the document that a path names. The slashes of a database's name need not be
// escaped.
func docsPath(path []string) (database, id string, ok bool) {
	if len(path) == 0 {
		return auth.ReplicatorDatabase, "", true
	}
	if layer.IsReplicator(path[0]) && len(path) <= 2 {
		if len(path) == 2 {
			id = path[1]
		}
		return path[0], id, true
	}
	i := slices.Index(path, auth.ReplicatorDatabase)
	if i < 1 || len(path) > i+2 {
		return "", "", false
	}
	if len(path) == i+2 {
		id = path[i+1]
	}
	return strings.Join(path[:i+1], "/"), id, true
}

// defaultJobs is how many jobs are listed without a limit.
const defaultJobs = 100

// count returns a parameter that is a number from 0.
func count(q *call.Request, name string, absent int) (int, error) {
	text := q.Params.Get(name, "")
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fault.BadQuery("%s must be an integer", name)
	}
	if n < 0 {
		return 0, fault.BadQuery("%s not in range of [0,infinity]", name)
	}
	return n, nil
}

func (h *Handlers) jobs(q *call.Request) error {
	limit, err := count(q, "limit", defaultJobs)
	if err != nil {
		return err
	}
	skip, err := count(q, "skip", 0)
	if err != nil {
		return err
	}
	list, err := h.Replicator.Jobs(q.Ctx())
	if err != nil {
		return err
	}
	offset := min(skip, len(list))
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = fmt.Appendf(s.Buf, `{"total_rows":%d,"offset":%d,"jobs":[`, len(list), offset)
	for i, job := range list[offset:] {
		if i == limit {
			break
		}
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		s.Buf = append(s.Buf, job...)
		if err := s.Full(); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "]}\n"...)
	return s.End()
}

func (h *Handlers) job(q *call.Request) error {
	job, err := h.Replicator.Job(q.Ctx(), strings.ReplaceAll(q.Part(2), " ", "+"))
	if err != nil {
		return err
	}
	if job == nil {
		return fault.NotFound("missing")
	}
	return q.SendJSON(http.StatusOK, job)
}

// isUnused reports whether a database is _replicator and does not exist yet: the first document creates it.
func isUnused(database string, err error) bool {
	return database == auth.ReplicatorDatabase && err != nil && layer.KindOf(err) == layer.NotFound
}

func (h *Handlers) doc(q *call.Request, database, id string) error {
	db, err := h.Store.Database(q.Ctx(), database)
	if isUnused(database, err) {
		return fault.NotFound("missing")
	}
	if err != nil {
		return err
	}
	doc, err := db.Get(q.Ctx(), id, layer.GetOptions{})
	if err != nil {
		return err
	}
	text, _, err := h.Replicator.Doc(q.Ctx(), database, doc)
	if err != nil {
		return err
	}
	if text == nil {
		return fault.NotFound("missing")
	}
	return q.SendJSON(http.StatusOK, text)
}

// states returns the wanted states, none for all.
func (h *Handlers) states(q *call.Request) (wanted []string, err error) {
	for _, one := range strings.FieldsFunc(q.Params.Get("states", ""), func(r rune) bool { return r == ',' }) {
		one = strings.ToLower(one)
		if !slices.Contains(h.Replicator.States(), one) {
			return nil, fault.BadQuery("Unknown states [%s]. Choose from: [%s]", one,
				strings.Join(h.Replicator.States(), ","))
		}
		wanted = append(wanted, one)
	}
	return wanted, nil
}

func (h *Handlers) docs(q *call.Request, database string) error {
	wanted, err := h.states(q)
	if err != nil {
		return err
	}
	o, limit, skip, err := rows.ListQuery(q)
	if err != nil {
		return err
	}
	db, err := h.Store.Database(q.Ctx(), database)
	if isUnused(database, err) {
		return q.SendJSON(http.StatusOK, []byte("{\"total_rows\":0,\"offset\":0,\"docs\":[\r\n\r\n]}"))
	}
	if err != nil {
		return err
	}
	o.IncludeDocs, o.WithOffset = true, true
	list, err := db.AllDocs(q.Ctx(), o)
	if err != nil {
		return err
	}
	offset := min(max(list.Offset, 0)+int64(skip), list.TotalRows)
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = fmt.Appendf(s.Buf, "{\"total_rows\":%d,\"offset\":%d,\"docs\":[\r\n", list.TotalRows, offset)
	first := true
	for row, err := range list.Rows {
		if err != nil {
			return err
		}
		if limit == 0 {
			break
		}
		if row.Doc == nil || strings.HasPrefix(row.ID, "_design/") {
			continue
		}
		text, state, err := h.Replicator.Doc(q.Ctx(), database, row.Doc)
		if err != nil {
			return err
		}
		if text == nil || len(wanted) > 0 && !slices.Contains(wanted, state) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		limit--
		if !first {
			s.Buf = append(s.Buf, ",\r\n"...)
		}
		first = false
		s.Buf = append(s.Buf, text...)
		if err := s.Full(); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "\r\n]}\n"...)
	return s.End()
}
