package sqlreads

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/query/exec"
)

// Node provides what the relations of schema divan read apart from the store. The node fills it.
type Node struct {
	Name     string
	Members  func() []cluster.Member
	Actors   func() actors.Node
	Tasks    func() []actors.Task
	Sessions func() []Session
	// Events returns the events of all nodes, newest first, and the nodes that have not answered.
	Events func(ctx context.Context) ([]state.Event, []state.Absent)
}

// Session is a row of divan.sessions.
type Session struct {
	PID                                              int64
	User, Database, Application, Remote, State, Text string
	TLS                                              bool
	Since, StatementSince                            time.Time
	Rows                                             int64
}

// SystemTables returns the relations of schema divan (docs/clauses.md, "SQL"). Relations that show other users' work
// are for server admins. The others show the databases that the user may read.
func (s *Source) SystemTables(n Node) []Table {
	return []Table{
		table("members", "the cluster's members, as this node sees them", adminsOnly(n.members),
			"name text", "status text", "self bool", "http text", "sql text", "gossip text", "version text",
			"roles jsonb"),
		table("actors", "the supervision tree of this node", adminsOnly(n.actors),
			"id text", "parent text", "kind text", "name text", "state text", "since timestamptz", "mailbox int8",
			"restarts int8",
			"last_failure text", "last_failure_at timestamptz", "facts jsonb"),
		table("sessions", "the SQL sessions of this node: your own, and all for server admins", n.sessions,
			"pid int8", "username text", "database text", "application text", "remote text", "tls bool",
			"since timestamptz", "state text",
			"statement text", "statement_since timestamptz", "rows int8"),
		table("active_tasks", "background work under way on this node", adminsOnly(n.tasks),
			"type text", "node text", "database text", "design_document text", "progress int8",
			"started_on timestamptz", "updated_on timestamptz",
			"facts jsonb"),
		table("jobs", "the queue of background work, of all nodes", adminsOnly(s.jobs),
			"type text", "id text", "state text", "worker text", "failures int8", "error text", "due timestamptz",
			"updated timestamptz",
			"data jsonb", "progress jsonb"),
		table("events", "what happened on all nodes, as far as they remember it; newest first", adminsOnly(n.events),
			"at timestamptz", "node text", "kind text", "severity text", "text text", "member text", "database text",
			"object text", "job text", "actor text", "username text", "address text", "from_node text",
			"to_node text", "token int8", "since timestamptz", "seconds float8", "count int8", "repeated int8",
			"until timestamptz", "detail text", "also jsonb", "id text"),
		table("databases", "the databases that you may read", s.databases,
			"name text", "uuid text", "doc_count int8", "doc_del_count int8", "update_seq text", "size int8",
			"shards int8", "incarnation int8",
			"partitioned bool"),
		table("shards", "the changes shards of this database, including replaced ones", s.shards,
			"shard text", "since text", "scheme text", "current bool", "lag int8", "node text"),
		table("indexes", "the views of this database and the state of their indexes", s.indexes,
			"design text", "view text", "rows int8", "bytes int8", "errors int8", "seq text", "last_seq text",
			"current bool", "building bool",
			"lag int8", "signature text"),
		table("index_errors", "documents of this database that a view skipped", s.indexErrors,
			"design text", "view text", "id text", "error text", "seq text"),
	}
}

// table returns a Table with columns given as "name type".
func table(name, comment string, rows func(context.Context, Scope) iter.Seq2[[]any, error], columns ...string) Table {
	t := Table{SystemTable: exec.SystemTable{Name: name, Comment: comment}, Rows: rows}
	for _, c := range columns {
		name, typ := cut(c)
		t.Columns = append(t.Columns, exec.SystemColumn{Name: name, Type: typ})
	}
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
		return []any{m.Name, string(m.Status), m.Self, m.HTTP, m.SQL, m.Gossip, m.Version, jsonOf(m.Roles)}
	})
}

func (n Node) actors(context.Context, Scope) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		var walk func(parent any, a actors.Node) bool
		walk = func(parent any, a actors.Node) bool {
			var failedAt any
			if a.LastFailureAt != nil {
				failedAt = *a.LastFailureAt
			}
			row := []any{a.ID, parent, a.Kind, a.Name, a.State, a.Since, int64(a.Mailbox), int64(a.Restarts),
				orNull(a.LastFailure), failedAt, jsonOf(a.Facts)}
			if !yield(row, nil) {
				return false
			}
			for _, child := range a.Children {
				if !walk(a.ID, child) {
					return false
				}
			}
			return true
		}
		walk(nil, n.Actors())
	}
}

func (n Node) sessions(_ context.Context, scope Scope) iter.Seq2[[]any, error] {
	seen := n.Sessions()
	if !scope.Catalog.IsAdmin() {
		seen = slices.DeleteFunc(slices.Clone(seen), func(s Session) bool { return s.User != scope.Catalog.user.Name })
	}
	return list(seen, func(s Session) []any {
		return []any{s.PID, s.User, s.Database, s.Application, s.Remote, s.TLS, s.Since, s.State, s.Text,
			orNullTime(s.StatementSince), s.Rows}
	})
}

func (n Node) tasks(context.Context, Scope) iter.Seq2[[]any, error] {
	return list(n.Tasks(), func(t actors.Task) []any {
		return []any{t.Type, t.Node, t.Database, t.Design, int64(t.Progress), time.Unix(t.StartedOn, 0),
			time.Unix(t.UpdatedOn, 0), jsonOf(t.IndexerFacts)}
	})
}

func (n Node) events(ctx context.Context, _ Scope) iter.Seq2[[]any, error] {
	all, _ := n.Events(ctx)
	return list(all, func(e state.Event) []any {
		number := func(n int64) any {
			if n == 0 {
				return nil
			}
			return n
		}
		moment := func(t *time.Time) any {
			if t == nil {
				return nil
			}
			return *t
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
			orNull(e.To), number(e.Token), moment(e.Since), seconds, number(e.Count), int64(e.Repeated),
			moment(e.Until), orNull(e.Detail), also, e.ID}
	})
}

func (s *Source) jobs(ctx context.Context, _ Scope) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for j, err := range s.Store.Jobs(ctx) {
			if err != nil {
				yield(nil, readError(err))
				return
			}
			row := []any{j.Type, j.ID, string(j.State), orNull(j.Worker), int64(j.Failures), orNull(j.Error),
				orNullTime(j.Due), orNullTime(j.Updated),
				orNullJSON(j.Data), orNullJSON(j.Progress)}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (s *Source) databases(ctx context.Context, scope Scope) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		names, err := scope.Catalog.Databases(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range names {
			var info layer.Info
			db, err := s.Store.Database(ctx, name)
			if err == nil {
				info, err = db.Info(ctx)
			}
			if is(err, layer.NotFound) { // deleted meanwhile
				continue
			}
			if err != nil {
				yield(nil, readError(err))
				return
			}
			row := []any{name, info.UUID, info.DocCount, info.DocDelCount, info.UpdateSeq.String(), info.ActiveSize,
				int64(info.Shards), info.Incarnation,
				info.Partitioned}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// within opens the session's database for a relation about one database. Such a relation is empty in the database
// divan.
func within(ctx context.Context, scope Scope,
	rows func(db *layer.Database, yield func([]any, error) bool) error) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		if scope.Database == "divan" {
			return
		}
		db, err := scope.Catalog.open(ctx, scope.Database)
		if err == nil {
			err = readError(rows(db, yield))
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// errEnough ends an iteration whose reader has stopped.
var errEnough = errors.New("enough rows")

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

func orNullJSON(text json.RawMessage) any {
	if len(text) == 0 {
		return nil
	}
	return text
}
