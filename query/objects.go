package query

import (
	"context"
	"strings"

	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// CatalogSnapshot implements catalog.Source. A snapshot lives as long as one message of the client: statements that follow see design
// documents that others have changed.
func (ss *session) CatalogSnapshot(ctx context.Context) (*catalog.Snapshot, error) {
	if ss.snapshot != nil {
		return ss.snapshot, nil
	}
	cat, err := ss.allowed(ctx)
	if err != nil {
		return nil, err
	}
	names, err := cat.Databases(ctx)
	if err != nil {
		return nil, exec.StoreError(err)
	}
	in := catalog.Input{Database: ss.start.Database, Databases: names, Maintenance: maintenance,
		ViewsAsTables: ss.vars.value[viewKindSetting] == "table",
		User:          ss.start.User, Superuser: cat.Admin(),
		SystemTables: ss.systemTables(), SearchPath: ss.vars.searchPath()}
	db, err := (&resolver{ss: ss}).Database(ctx)
	if err != nil {
		return nil, err
	}
	if db != nil {
		in.HasDatabase = true
		if in.Designs, err = db.Designs(ctx); err != nil {
			return nil, exec.StoreError(err)
		}
	}
	in.Settings, in.Prepared, in.Cursors = ss.describedSettings, ss.preparedStatements, ss.openCursors
	for _, a := range ss.srv.Sessions() {
		act := catalog.Activity{PID: int64(a.PID), User: a.User, Database: a.Database, Application: a.Application, Client: a.Remote,
			State: a.State, Statement: a.Statement, Since: a.Since.UnixMicro(), Hidden: !cat.Admin() && !ss.owns(a.User)}
		if !a.StatementSince.IsZero() {
			act.StatementSince = a.StatementSince.UnixMicro()
		}
		in.Sessions = append(in.Sessions, act)
	}
	ss.snapshot = catalog.NewSnapshot(in)
	return ss.snapshot, nil
}

// ObjectOID implements exec.Session.
func (ss *session) ObjectOID(ctx context.Context, kind types.OID, name string) (int64, bool, error) {
	if kind == types.RegType {
		if oid, ok := types.ByName(strings.ToLower(name)); ok {
			return int64(oid), true, nil
		}
	}
	s, err := ss.CatalogSnapshot(ctx)
	if err != nil {
		return 0, false, err
	}
	return s.OID(kind, name)
}

// ObjectName implements exec.Session.
func (ss *session) ObjectName(ctx context.Context, kind types.OID, oid int64) (string, bool, error) {
	s, err := ss.CatalogSnapshot(ctx)
	if err != nil {
		return "", false, err
	}
	name, ok := s.Name(kind, oid)
	return name, ok, nil
}

var (
	_ exec.Session   = (*session)(nil)
	_ catalog.Source = (*session)(nil)
)
