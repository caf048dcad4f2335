package sqlreads_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/sqlreads"
	"github.com/divandb/divan/query/exec"
)

func systemSource(t *testing.T) *sqlreads.Source {
	t.Helper()
	s := newSource(t)
	failed := time.Now()
	absent := []state.Absent{{Node: "three", Reason: "it does not answer"}}
	s.System = s.SystemTables(sqlreads.Node{
		Members: func() []cluster.Member {
			return []cluster.Member{{Name: "one", Status: cluster.Alive, Self: true, HTTP: "h", SQL: "s", Gossip: "g",
				Version: "v", Roles: []string{"r"}},
				{Name: "two", Status: cluster.Left, GivenUp: true, GoneSince: &failed},
				{Name: "three", Status: cluster.Left, GoneSince: &failed}}
		},
		Actors: func(_ context.Context, visit func(state.Actor) bool) ([]state.Absent, error) {
			_ = visit(state.Actor{Node: "one", ID: "node", Kind: "node", State: "up", Since: failed}) &&
				visit(state.Actor{Node: "one", ID: "node/a", Parent: "node", Kind: "shard", Name: "a", Restarts: 2,
					LastFailure: "boom", LastFailureAt: &failed, Facts: json.RawMessage(`{"x":1}`)})
			return absent, nil
		},
		Tasks: func(context.Context) ([]state.Task, []state.Absent) {
			return []state.Task{{Type: "indexer", Node: "one", Database: "db", Progress: 40, Started: failed,
				Raw: json.RawMessage(`{"changes_done":7}`)}}, absent
		},
		Sessions: func(_ context.Context, visit func(state.Session) bool) ([]state.Absent, error) {
			_ = visit(state.Session{Node: "one", PID: 7, User: "u", Database: "db", Since: failed}) &&
				visit(state.Session{Node: "two", PID: 8, User: "other", Database: "db", Since: failed})
			return absent, nil
		},
		Events: func(context.Context) ([]state.Event, []state.Absent) {
			return []state.Event{{ID: "one/x/2", At: failed, Node: "one", Kind: state.MemberDead, Member: "two",
				Since: &failed, Seconds: 1.5, Count: 3, Token: 4, Until: &failed, Repeated: 2, Also: []string{"n3"},
				Text: "it died", Severity: state.Error}, {ID: "one/x/1", Kind: state.NodeStarted}}, absent
		},
	})
	return s
}

// rows reads a whole system table and checks every value against its column's type.
func rows(t *testing.T, c *sqlreads.Catalog, table, database string) [][]any {
	t.Helper()
	var columns []exec.SystemColumn
	for _, st := range c.SystemTables() {
		if st.Name == table {
			columns = st.Columns
		}
	}
	var all [][]any
	for row, err := range c.SystemRows(t.Context(), table, database) {
		if err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		if len(row) != len(columns) {
			t.Fatalf("%s: a row of %d values for %d columns", table, len(row), len(columns))
		}
		for i, v := range row {
			if !fits(v, columns[i].Type) {
				t.Errorf("%s.%s is %s, not %T", table, columns[i].Name, columns[i].Type, v)
			}
		}
		all = append(all, row)
	}
	return all
}

func fits(v any, typ string) bool {
	switch v.(type) {
	case nil:
		return true
	case string:
		return typ == "text"
	case bool:
		return typ == "bool"
	case int64:
		return typ == "int8" || typ == "int4"
	case float64:
		return typ == "float8"
	case time.Time:
		return typ == "timestamptz"
	case json.RawMessage:
		return typ == "jsonb"
	}
	return false
}

func TestCatalog_SystemRows(t *testing.T) {
	s := systemSource(t)
	create(t, s, "db", viewsOf, `{"_id":"a","n":1}`, `{"_id":"bad","n":2,"boom":1}`,
		`{"_id":"_design/throws","views":{"v":{"map":"function (doc) { if (doc.boom) throw new Error('no'); emit(1) }"}}}`)
	db := open(t, s, "db")
	for _, design := range []string{"by", "throws"} {
		view := map[string]string{"by": "n", "throws": "v"}[design]
		rows, err := db.View(t.Context(), exec.ViewRead{Design: design, View: view})
		drain(t, rows, err, id)
	}
	if err := s.Store.Enqueue(t.Context(), "index", "x", []byte(`{"database":"db"}`)); err != nil {
		t.Fatal(err)
	}
	s.ShardOwner = func(*layer.Database, layer.ShardID) string { return "n7" }
	c := s.Catalog(root, nil)
	for _, want := range []struct {
		table, database string
		count           int
		first           string // a substring of the first row
	}{
		{"members", "divan", 3, "[one alive true h s g v"},
		{"actors", "divan", 2, "[node <nil> node"},
		{"sessions", "db", 2, "[7 u db"},
		{"active_tasks", "db", 1, "[indexer one db  40"},
		{"jobs", "db", 1, "[index x pending"},
		{"events", "divan", 2, "one dead error it died two"},
		{"databases", "divan", 1, "[db "},
		{"shards", "db", 1, " true 0 n7 db]"},
		{"shards", "divan", 1, " true 0 n7 db]"},
		{"indexes", "db", 4, "[by j 2 "},
		{"index_errors", "db", 1, "[throws v bad "},
		{"indexes", "divan", 4, "[by j 2 "},
		{"index_errors", "divan", 1, "[throws v bad "},
	} {
		got := rows(t, c, want.table, want.database)
		if len(got) != want.count {
			t.Errorf("%s: got %d rows, want %d: %v", want.table, len(got), want.count, got)
			continue
		}
		if want.count > 0 && !strings.Contains(fmt.Sprint(got[0]), want.first) {
			t.Errorf("first row of %s: %v", want.table, got[0])
		}
	}
	if got := rows(t, c, "members", "divan"); got[0][8] != false || got[1][8] != true || got[0][9] != nil ||
		got[1][9] == nil || got[1][1] != "dead" || got[2][1] != "left" {
		t.Errorf("gone: %v", got)
	}
	// Changes that an index has not processed are its lag, and its shard's.
	d, err := s.Store.Database(t.Context(), "db")
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, `{"_id":"late1"}`, false)
	put(t, d, `{"_id":"late2"}`, false)
	for _, row := range rows(t, c, "indexes", "db") {
		if row[7] != false || row[9] != int64(2) {
			t.Errorf("after two more changes: %v", row)
		}
	}
	if got := rows(t, c, "shards", "db"); got[0][4] != int64(2) {
		t.Errorf("after two more changes: %v", got)
	}
	// A reader may stop at any row.
	for _, st := range c.SystemTables() {
		for range c.SystemRows(t.Context(), st.Name, "db") {
			break
		}
	}
}

func TestCatalog_SystemRowsForOthers(t *testing.T) {
	s := systemSource(t)
	create(t, s, "mine")
	shut := create(t, s, "shut")
	if err := shut.SetSecurity(t.Context(), []byte(`{"members":{"roles":["_admin"]}}`)); err != nil {
		t.Fatal(err)
	}
	c := s.Catalog(layer.UserCtx{Name: "jan"}, nil)
	for _, table := range []string{"members", "actors", "active_tasks", "jobs"} {
		for _, err := range c.SystemRows(t.Context(), table, "mine") {
			if exec.KindOf(err) != exec.Forbidden {
				t.Errorf("%s: %v", table, err)
			}
		}
	}
	if got := rows(t, c, "sessions", "mine"); len(got) != 0 {
		t.Errorf("sessions of other users: %v", got)
	}
	if got := rows(t, s.Catalog(layer.UserCtx{Name: "u"}, nil), "sessions", "mine"); len(got) != 1 {
		t.Errorf("own sessions: %v", got)
	}
	if got := rows(t, c, "databases", "mine"); len(got) != 1 || got[0][0] != "mine" {
		t.Errorf("databases: %v", got)
	}
	for _, err := range c.SystemRows(t.Context(), "indexes", "shut") {
		if exec.KindOf(err) != exec.Forbidden {
			t.Errorf("indexes of an unreadable database: %v", err)
		}
	}
	for _, err := range c.SystemRows(t.Context(), "nope", "mine") {
		if exec.KindOf(err) != exec.NotFound {
			t.Errorf("no such table: %v", err)
		}
	}
}

// The client of a statement is told whose rows it lacks.
func TestCatalog_absent(t *testing.T) {
	c := systemSource(t).Catalog(root, nil)
	for _, table := range []string{"actors", "sessions", "active_tasks", "events"} {
		var got []string
		ctx := exec.WithWarnings(t.Context(), func(text string) { got = append(got, text) })
		for _, err := range c.SystemRows(ctx, table, "db") {
			if err != nil {
				t.Error(err)
			}
		}
		if want := "the rows of node three are missing: it does not answer"; len(got) != 1 || got[0] != want {
			t.Errorf("%s: warnings %q, want %q", table, got, want)
		}
	}
}
