package sqlreads

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/query/exec"
)

// Node provides what the relations of schema divan read apart from the store. The node fills it.
type Node struct {
	Members func() []cluster.Member
	// Actors and Sessions call visit for each actor and SQL session of all nodes, until it returns false. They return
	// the nodes that have not answered.
	Actors   func(ctx context.Context, visit func(state.Actor) bool) ([]state.Absent, error)
	Sessions func(ctx context.Context, visit func(state.Session) bool) ([]state.Absent, error)
	// Tasks returns the builds and compactions of all nodes, and the nodes that have not answered. Events returns the
	// events, newest first.
	Tasks  func(ctx context.Context) ([]state.Task, []state.Absent)
	Events func(ctx context.Context) ([]state.Event, []state.Absent)
}

// SystemTables returns the relations of schema divan (docs/clauses.md, "SQL"). Relations that show other users' work
// are for server admins. The others show the databases that the user may read.
func (s *Source) SystemTables(n Node) []Table {
	return []Table{
		table("members", "the cluster's members, as this node sees them", adminsOnly(n.members),
			"name text", "status text alive, suspect, left (as announced) or dead", "self bool", "http text",
			"sql text", "gossip text", "version text",
			"roles jsonb", "given_up bool whether it has left without announcing it",
			"gone_since timestamptz when this node saw it go; null while it is up"),
		table("actors", "the supervision trees of all nodes", adminsOnly(n.actors),
			"id text", "parent text", "kind text", "name text", "state text",
			"since timestamptz when its life began: that of the start or of the last restart",
			"mailbox int8 messages that wait",
			"restarts int8 after failures and on request",
			"last_failure text", "last_failure_at timestamptz", "facts jsonb", "node text"),
		// pid has the type of pg_stat_activity.pid, which pg_terminate_backend takes.
		table("sessions", "the SQL sessions of all nodes: your own, and all for server admins", n.sessions,
			"pid int4", "username text", "database text", "application text", "remote text", "tls bool",
			"since timestamptz", "state text",
			"statement text", "statement_since timestamptz", "rows int8 sent in total", "node text",
			"returned int8 rows sent by the running statement",
			"examined int8 rows that the reads of the running statement have examined, after its first second",
			"plan text"),
		table("active_tasks", "background work under way on all nodes", adminsOnly(n.tasks),
			"type text", "node text", "database text", "design_document text", "progress int8 percent",
			"started_on timestamptz", "updated_on timestamptz",
			"facts jsonb"),
		table("jobs", "the queue of background work, of all nodes", adminsOnly(s.jobs),
			"type text", "id text", "state text", "worker text", "failures int8 in a row", "error text",
			"due timestamptz when it may be taken",
			"updated timestamptz",
			"data jsonb", "progress jsonb", "created timestamptz",
			"lease float8 seconds for which its worker may be silent before another node takes it"),
		table("events", "what happened on all nodes, as far as they remember it; newest first", adminsOnly(n.events),
			"at timestamptz", "node text", "kind text", "severity text", "text text", "member text", "database text",
			"object text", "job text", "actor text", "username text", "address text", "from_node text",
			"to_node text", "token int8 the fencing token of the job",
			"since timestamptz when what it is about began", "seconds float8 how long what it is about has lasted",
			"count int8 how many there were: shards, rows or documents, as its text says",
			"repeated int8 how often the same happened again until the time in column until",
			"until timestamptz", "detail text", "also jsonb", "id text"),
		allDatabases("databases", "the databases that you may read", databaseRow,
			"name text", "uuid text", "doc_count int8", "doc_del_count int8", "update_seq text", "size int8 bytes",
			"shards int8 number of changes shards", "incarnation int8",
			"partitioned bool"),
		fewPerDatabase("shards", "the changes shards of this database, including replaced ones", s.shards,
			"shard text", "since text", "scheme text", "current bool",
			"lag int8 changes of the shard that are not in every index yet; null of replaced shards", "node text",
			"database text"),
		fewPerDatabase("indexes", "the views of this database and the state of their indexes", s.indexes,
			"design text", "view text", "rows int8", "bytes int8", "errors int8 documents that were skipped",
			"seq text", "last_seq text",
			"current bool", "building bool",
			"lag int8 changes that the index lacks; the console shows the age of the oldest one", "signature text",
			"database text"),
		perDatabase("bad_values",
			"values that typed columns of this database have shown as NULL, since this node started", s.badValues,
			"cast text", "count int8", "example text", "database text"),
		perDatabase("index_errors", "documents of this database that a view skipped", s.indexErrors,
			"design text", "view text", "id text", "error text", "seq text", "database text"),
	}
}

// table returns a Table with columns given as "name type" or "name type comment".
func table(name, comment string, rows func(context.Context, Scope) iter.Seq2[[]any, error], columns ...string) Table {
	t := Table{SystemTable: exec.SystemTable{Name: name, Comment: comment}, Rows: rows}
	for _, c := range columns {
		t.Columns = append(t.Columns, cut(c))
	}
	return t
}

// perDatabase returns a Table with the rows of the session's database, or in the database divan of all.
func perDatabase(name, comment string, rows func(context.Context, named, func(...any) bool) error,
	columns ...string) Table {
	t := table(name, comment+"; in the database divan of all that you may read", nil, columns...)
	t.rowsOfOne = rows
	return t
}

// fewPerDatabase is perDatabase for relations that have few rows of each database.
func fewPerDatabase(name, comment string, rows func(context.Context, named, func(...any) bool) error,
	columns ...string) Table {
	t := perDatabase(name, comment, rows, columns...)
	t.few = true
	return t
}

// allDatabases returns a Table with the rows of all databases.
func allDatabases(name, comment string, rows func(context.Context, named, func(...any) bool) error,
	columns ...string) Table {
	t := table(name, comment, nil, columns...)
	t.rowsOfOne, t.ofAll, t.few = rows, true, true
	return t
}

// adminsOnly returns rows for server admins and an error for all others.
func adminsOnly(rows func(context.Context, Scope) iter.Seq2[[]any, error]) func(context.Context, Scope) iter.Seq2[[]any,
	error] {
	return func(ctx context.Context, scope Scope) iter.Seq2[[]any, error] {
		if !scope.Catalog.IsAdmin() {
			return fail(&exec.ReadError{Kind: exec.Forbidden, Message: "this relation is for server admins"})
		}
		return rows(ctx, scope)
	}
}

// list returns a sequence of rows made from items.
func list[T any](items []T, row func(T) []any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, item := range items {
			if !yield(row(item), nil) {
				return
			}
		}
	}
}

func (n Node) members(context.Context, Scope) iter.Seq2[[]any, error] {
	return list(n.Members(), func(m cluster.Member) []any {
		return []any{m.Name, m.State(), m.Self, m.HTTP, m.SQL, m.Gossip, m.Version, jsonOf(m.Roles), m.GivenUp,
			orNullMoment(m.GoneSince)}
	})
}

// warnOf tells the client whose rows a relation lacks.
func warnOf(ctx context.Context, absent []state.Absent) {
	for _, a := range absent {
		exec.Warn(ctx, fmt.Sprintf("the rows of node %s are missing: %s", a.Node, a.Reason))
	}
}

// visited returns a sequence of rows made from what a function visits.
func visited[T any](ctx context.Context, each func(visit func(T) bool) ([]state.Absent, error),
	row func(T) []any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		more := true
		absent, err := each(func(item T) bool {
			if r := row(item); r != nil {
				more = yield(r, nil)
			}
			return more
		})
		warnOf(ctx, absent)
		if err != nil && more {
			yield(nil, Error(err))
		}
	}
}

func (n Node) actors(ctx context.Context, _ Scope) iter.Seq2[[]any, error] {
	return visited(ctx, func(visit func(state.Actor) bool) ([]state.Absent, error) { return n.Actors(ctx, visit) },
		func(a state.Actor) []any {
			return []any{a.ID, orNull(a.Parent), a.Kind, a.Name, a.State, a.Since, int64(a.Mailbox), int64(a.Restarts),
				orNull(a.LastFailure), orNullMoment(a.LastFailureAt), orNullJSON(a.Facts), a.Node}
		})
}

func (n Node) sessions(ctx context.Context, scope Scope) iter.Seq2[[]any, error] {
	admin, user := scope.Catalog.IsAdmin(), scope.Catalog.user.Name
	return visited(ctx, func(visit func(state.Session) bool) ([]state.Absent, error) { return n.Sessions(ctx, visit) },
		func(s state.Session) []any {
			if !admin && s.User != user {
				return nil
			}
			return []any{s.PID, s.User, s.Database, s.Application, s.Remote, s.TLS, s.Since, s.State, s.Statement,
				orNullMoment(s.Began), s.Rows, s.Node, s.Returned, s.Examined, orNull(s.Plan)}
		})
}

func (n Node) tasks(ctx context.Context, _ Scope) iter.Seq2[[]any, error] {
	all, absent := n.Tasks(ctx)
	warnOf(ctx, absent)
	return list(all, func(t state.Task) []any {
		var raw struct {
			actors.IndexerFacts
			Updated int64 `json:"updated_on"`
		}
		_ = json.Unmarshal(t.Raw, &raw) // zero if a node of another version means something else
		return []any{t.Type, t.Node, t.Database, t.Design, int64(t.Progress), t.Started, time.Unix(raw.Updated, 0),
			jsonOf(raw.IndexerFacts)}
	})
}

func (n Node) events(ctx context.Context, _ Scope) iter.Seq2[[]any, error] {
	all, absent := n.Events(ctx)
	warnOf(ctx, absent)
	return list(all, func(e state.Event) []any {
		number := func(n int64) any {
			if n == 0 {
				return nil
			}
			return n
		}
		var seconds, also any
		switch {
		case e.Seconds != 0:
			seconds = e.Seconds
		case e.Since != nil:
			seconds = e.At.Sub(*e.Since).Seconds()
		}
		if len(e.Also) > 0 {
			also = jsonOf(e.Also)
		}
		return []any{e.At, e.Node, string(e.Kind), string(e.Severity), e.Text, orNull(e.Member), orNull(e.Database),
			orNull(e.Object), orNull(e.Job), orNull(e.Actor), orNull(e.User), orNull(e.Address), orNull(e.From),
			orNull(e.To), number(e.Token), orNullMoment(e.Since), seconds, number(e.Count), int64(e.Repeated),
			orNullMoment(e.Until), orNull(e.Detail), also, e.ID}
	})
}

func (s *Source) jobs(ctx context.Context, _ Scope) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for j, err := range s.Store.Jobs(ctx) {
			if err != nil {
				yield(nil, Error(err))
				return
			}
			var lease any
			if j.Lease > 0 {
				lease = j.Lease.Seconds()
			}
			row := []any{j.Type, j.ID, string(j.State), orNull(j.Worker), int64(j.Failures), orNull(j.Error),
				orNullTime(j.Due), orNullTime(j.Updated),
				orNullJSON(j.Data), orNullJSON(j.Progress), orNullTime(j.Created), lease}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// databaseRow is a row of divan.databases.
func databaseRow(ctx context.Context, db named, yield func(...any) bool) error {
	info, err := db.Info(ctx)
	if err == nil {
		yield(db.name, info.UUID, info.DocCount, info.DocDelCount, info.UpdateSeq.String(), info.FileSize,
			int64(info.Shards), info.Incarnation, info.Partitioned)
	}
	return err
}

func jsonOf(v any) any {
	if v == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil // our own values, which always encode
	}
	return json.RawMessage(text)
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func orNullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

func orNullMoment(t *time.Time) any {
	if t == nil {
		return nil
	}
	return *t
}

func orNullJSON(text json.RawMessage) any {
	if len(text) == 0 {
		return nil
	}
	return text
}
