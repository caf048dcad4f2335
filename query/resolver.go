package query

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/settings"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// resolver implements bind.Resolver.
type resolver struct {
	access *access
	vars   *settings.Values
	srv    *Server
}

func (r *resolver) Database(ctx context.Context) (exec.Database, error) { return r.access.open(ctx) }

func (r *resolver) DatabaseName() string        { return r.access.database }
func (r *resolver) SearchPath() []string        { return r.vars.SearchPath() }
func (r *resolver) UpdateMode() exec.UpdateMode { return r.vars.UpdateMode() }

func (r *resolver) RelationOID(schema, name string) int64 { return catalog.ClassOID(schema, name) }

func (r *resolver) HasSchema(schema string) bool {
	return schema == "divan" || catalog.HasSchema(schema)
}

func (r *resolver) Relation(schema, name string) exec.Relation {
	if schema == "divan" {
		for _, t := range r.access.catalog.SystemTables() {
			if t.Name == name {
				return &systemRelation{access: r.access, table: t}
			}
		}
		if name == sessionsTable.Name {
			return &systemRelation{access: r.access, table: sessionsTable, own: r.sessionRows}
		}
		return nil
	}
	return catalog.Relation(schema, name)
}

// systemRelation is a relation of schema divan.
type systemRelation struct {
	access *access
	table  exec.SystemTable
	own    func(cat exec.Catalog) [][]any // rows of this package's own tables
}

// OID returns its OID in the catalogue.
func (s *systemRelation) OID() int64 { return catalog.ClassOID("divan", s.table.Name) }

func (s *systemRelation) Name() string { return "divan." + s.table.Name }

func (s *systemRelation) Columns() []exec.Column {
	out := make([]exec.Column, len(s.table.Columns))
	for i, c := range s.table.Columns {
		typ, ok := types.ByName(c.Type)
		if !ok {
			typ = types.Text
		}
		out[i] = exec.Column{Name: c.Name, Type: typ, Mod: -1}
	}
	return out
}

// maxParts is how many databases are read at a time. At first it is one, since the statement may need few rows.
const maxParts = 64

// seenFrom returns the database that the relation is seen from.
func (s *systemRelation) seenFrom() string {
	if s.access.virtual {
		return exec.SystemDatabase
	}
	return s.access.database
}

// PartColumn implements exec.Parted.
func (s *systemRelation) PartColumn() int {
	parted, ok := s.access.catalog.(exec.PartedCatalog)
	if !ok || s.own != nil {
		return -1
	}
	column := parted.PartColumn(s.table.Name, s.seenFrom())
	return slices.IndexFunc(s.table.Columns, func(c exec.SystemColumn) bool { return c.Name == column })
}

// RowsOf implements exec.Parted.
func (s *systemRelation) RowsOf(st *exec.State, parts []string) func(add func([]types.Datum) error) (bool, error) {
	return s.inParts(st, func(_ exec.PartedCatalog, most int) ([]string, error) {
		most = min(most, len(parts))
		next := parts[:most]
		parts = parts[most:]
		return next, nil
	})
}

// Rows implements exec.Relation.
func (s *systemRelation) Rows(st *exec.State) func(add func([]types.Datum) error) (bool, error) {
	if s.PartColumn() >= 0 {
		after := "" // the last database
		return s.inParts(st, func(cat exec.PartedCatalog, most int) ([]string, error) {
			names, err := cat.PartsAfter(st.Ctx, after, most)
			if len(names) > 0 {
				after = names[len(names)-1]
			}
			return names, err
		})
	}
	return func(add func([]types.Datum) error) (bool, error) {
		cat, err := s.access.allowed(st.Ctx)
		if err != nil {
			return false, err
		}
		if s.own != nil {
			for _, values := range s.own(cat) {
				if err := s.add(values, add); err != nil {
					return false, err
				}
			}
			return false, nil
		}
		return false, s.addAll(cat.SystemRows(warning(st), s.table.Name, s.seenFrom()), add)
	}
}

// warning returns the context of a statement, with warnings that its client gets once each.
func warning(st *exec.State) context.Context {
	h, ok := st.Session.(*host)
	if !ok {
		return st.Ctx
	}
	told := map[string]bool{}
	return exec.WithWarnings(st.Ctx, func(text string) {
		if !told[text] {
			told[text] = true
			h.ss.notice(sqlstate.New(sqlstate.Warning, "%s", text))
		}
	})
}

// inParts returns a function that reads some of the databases that next returns, until it returns none.
func (s *systemRelation) inParts(st *exec.State, next func(cat exec.PartedCatalog, most int) ([]string,
	error)) func(add func([]types.Datum) error) (bool, error) {
	most := 1
	return func(add func([]types.Datum) error) (bool, error) {
		cat, err := s.access.allowed(st.Ctx)
		if err != nil {
			return false, err
		}
		parted := cat.(exec.PartedCatalog) // as the one that the statement was planned with
		names, err := next(parted, most)
		if err != nil || len(names) == 0 {
			return false, err
		}
		most = min(2*most, maxParts)
		return true, s.addAll(parted.Parts(st.Ctx, s.table.Name, names), add)
	}
}

func (s *systemRelation) addAll(rows iter.Seq2[[]any, error], add func([]types.Datum) error) error {
	for values, err := range rows {
		if err == nil {
			err = s.add(values, add)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a row.
func (s *systemRelation) add(values []any, add func([]types.Datum) error) error {
	row := make([]types.Datum, len(s.table.Columns))
	for i := range row {
		if i >= len(values) {
			return fmt.Errorf("system table %s: row of %d values for %d columns", s.table.Name, len(values), len(row))
		}
		var err error
		if row[i], err = datum(values[i]); err != nil {
			return fmt.Errorf("system table %s, column %s: %w", s.table.Name, s.table.Columns[i].Name, err)
		}
	}
	return add(row)
}

// datum converts a value of a system table.
func datum(v any) (types.Datum, error) {
	switch v := v.(type) {
	case nil:
		return types.Null, nil
	case string:
		return types.NewText(v), nil
	case bool:
		return types.NewBool(v), nil
	case int:
		return types.NewInt(int64(v)), nil
	case int64:
		return types.NewInt(v), nil
	case float64:
		return types.NewFloat(v), nil
	case time.Time:
		if v.IsZero() {
			return types.Null, nil
		}
		return types.NewMoment(v), nil
	case json.RawMessage:
		if v == nil {
			return types.Null, nil
		}
		return types.NewJSON(v), nil
	}
	return types.Null, fmt.Errorf("value of type %T", v)
}

// sessionsTable is divan.sessions if the node does not provide one of the whole cluster.
var sessionsTable = exec.SystemTable{Name: "sessions", Comment: "SQL sessions of this node",
	Columns: []exec.SystemColumn{
		{Name: "pid", Type: "int4"}, {Name: "username", Type: "text"}, {Name: "database", Type: "text"},
		{Name: "application_name", Type: "text"},
		{Name: "client", Type: "text"}, {Name: "tls", Type: "bool"}, {Name: "started", Type: "timestamptz"},
		{Name: "state", Type: "text"},
		{Name: "statement", Type: "text"}, {Name: "statement_started", Type: "timestamptz"},
		{Name: "rows_sent", Type: "int8"}}}

// sessionRows returns the sessions that the user may see: their own, or all for an admin.
func (r *resolver) sessionRows(cat exec.Catalog) [][]any {
	var out [][]any
	for _, s := range r.srv.Sessions() {
		if !cat.Admin() && s.User != r.access.who.User {
			continue
		}
		out = append(out,
			[]any{int64(s.PID), s.User, s.Database, s.Application, s.Remote, s.TLS, s.Since, s.State, s.Statement,
				s.StatementSince, s.Rows})
	}
	return out
}

// systemTables returns the tables of the node and of this package by name.
func (r *resolver) systemTables() []exec.SystemTable {
	tables := slices.Clone(r.access.catalog.SystemTables())
	if !slices.ContainsFunc(tables, func(t exec.SystemTable) bool { return t.Name == sessionsTable.Name }) {
		tables = append(tables, sessionsTable)
	}
	return tables
}
