package query

import (
	"context"

	"github.com/divandb/divan/query/types"
)

// ObjectOID implements exec.Session.
func (ss *session) ObjectOID(_ context.Context, kind types.OID, name string) (int64, bool, error) {
	if kind == types.RegType {
		oid, ok := types.ByName(name)
		return int64(oid), ok, nil
	}
	return 0, false, nil
}

// ObjectName implements exec.Session.
func (ss *session) ObjectName(_ context.Context, kind types.OID, oid int64) (string, bool, error) {
	if kind == types.RegType {
		if t := types.Lookup(types.OID(oid)); t != nil {
			return t.SQLName, true, nil
		}
	}
	return "", false, nil
}
