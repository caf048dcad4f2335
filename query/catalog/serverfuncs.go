package catalog

import (
	"time"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/zones"
)

// Functions and views about the server: its log, its sequences and its time zones (PostgreSQL 15, section 9.27).
func init() {
	logs()
	sequences()
	parts()
	rowsOf("pg_timezone_names", "pg_timezone_names", "")
	rowsOf("pg_timezone_abbrevs", "pg_timezone_abbrevs", "")
	rowsOf("pg_prepared_statement", "pg_prepared_statements", "")
	rowsOf("pg_cursor", "pg_cursors", "")
	rowsOf("pg_lock_status", "pg_locks", "")
	fillers["pg_catalog.pg_timezone_names"] = func(_ *Snapshot, b *rows) {
		at := time.Now()
		for _, name := range zones.Names() {
			l, ok := datetime.FindPlace(name)
			if !ok {
				continue // this machine has no time zone database
			}
			in := at.In(l)
			abbrev, offset := in.Zone()
			b.add(v{"name": name, "abbrev": abbrev, "utc_offset": seconds(offset), "is_dst": in.IsDST()})
		}
	}
	fillers["pg_catalog.pg_timezone_abbrevs"] = func(_ *Snapshot, b *rows) {
		for _, a := range datetime.Abbreviations(time.Now()) {
			b.add(v{"abbrev": a.Name, "utc_offset": seconds(a.Offset), "is_dst": a.Daylight})
		}
	}
	// Ids of transactions never wrap around here, so no row is old. PostgreSQL counts the transactions since a row was
	// written.
	register("age", types.Int4, constant(types.NewInt(0)), types.Xid)
	register("mxid_age", types.Int4, constant(types.NewInt(0)), types.Xid)
	register("current_query", types.Text, func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
		s, err := SnapshotOf(env.State)
		if err != nil {
			return types.Null, err
		}
		for _, a := range s.Sessions {
			if a.PID == int64(env.Session.PID()) {
				return types.NewText(a.Statement), nil
			}
		}
		return types.Null, nil
	}).Volatility = exec.Volatile
	for _, name := range []string{"pg_collation_actual_version", "pg_database_collation_actual_version"} {
		register(name, types.Text, constant(types.Null), types.Oid)
	}
}

func seconds(n int) types.Datum {
	return types.NewInterval(types.Span{Micros: int64(n) * datetime.Second})
}

// logs adds the functions about the write-ahead log, which does not exist here. This is no server in recovery either.
func logs() {
	for _, name := range []string{"pg_current_wal_lsn", "pg_current_wal_insert_lsn", "pg_current_wal_flush_lsn"} {
		register(name, types.PgLSN, func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
			return types.Null, sqlstate.New(sqlstate.FeatureNotSupported, "there is no write-ahead log").
				WithHint("SELECT max(seq) FROM changes returns the newest sequence of a database.")
		}).Volatility = exec.Volatile
	}
	for _, name := range []string{"pg_last_wal_receive_lsn", "pg_last_wal_replay_lsn"} {
		register(name, types.PgLSN, constant(types.Null)).Volatility = exec.Volatile
	}
	register("pg_last_xact_replay_timestamp", types.TimestampTZ, constant(types.Null)).Volatility = exec.Volatile
	difference := func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		x, y := types.UnsignedDecimal(a[0].Unsigned()), types.UnsignedDecimal(a[1].Unsigned())
		return types.NewNumeric(x.Sub(y)), nil
	}
	register("pg_wal_lsn_diff", types.Numeric, difference, types.PgLSN, types.PgLSN).Volatility = exec.Immutable
	funcs.ArithmeticFamily.Operator("-", types.Numeric, difference, types.PgLSN, types.PgLSN)
	plus := func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) { return movedLSN(a[0], a[1], false) }
	funcs.ArithmeticFamily.Operator("+", types.PgLSN, plus, types.PgLSN, types.Numeric)
	funcs.ArithmeticFamily.Operator("+", types.PgLSN, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return movedLSN(a[1], a[0], false)
	}, types.Numeric, types.PgLSN)
	funcs.ArithmeticFamily.Operator("-", types.PgLSN, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return movedLSN(a[0], a[1], true)
	}, types.PgLSN, types.Numeric)
}

// movedLSN returns a position of the log and a number of bytes after it, or before it.
func movedLSN(lsn, bytes types.Datum, back bool) (types.Datum, error) {
	n, word := bytes.Decimal(), "add"
	if back {
		word = "subtract"
	}
	if n.IsNaN() {
		preposition := map[bool]string{false: "to", true: "from"}[back]
		return types.Null, sqlstate.New(sqlstate.FeatureNotSupported, "cannot %s NaN %s pg_lsn", word, preposition)
	}
	if back {
		n = n.Neg()
	}
	sum, err := types.UnsignedDecimal(lsn.Unsigned()).Add(n).LSN()
	return types.NewUnsigned(sum), err
}

// sequences adds the functions of sequences. There are none, so they only report what their argument is.
func sequences() {
	notSequence := withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		name, _ := s.Name(types.RegClass, a[0].I)
		return types.Null, sqlstate.New(sqlstate.WrongObjectType, `"%s" is not a sequence`, name)
	})
	register("nextval", types.Int8, notSequence, types.RegClass).Volatility = exec.Volatile
	register("currval", types.Int8, notSequence, types.RegClass).Volatility = exec.Volatile
	register("setval", types.Int8, notSequence, types.RegClass, types.Int8).Volatility = exec.Volatile
	register("setval", types.Int8, notSequence, types.RegClass, types.Int8, types.Bool).Volatility = exec.Volatile
	register("pg_sequence_last_value", types.Int8, notSequence, types.RegClass).Volatility = exec.Volatile
}

// parts adds functions about objects that belong to others.
func parts() {
	none := func(name string, cols ...exec.Column) {
		family.AddTable(&exec.TableFunc{Name: name, Args: []types.OID{types.RegClass}, Rows: noRows,
			Columns: func([]types.OID) []exec.Column { return cols }})
	}
	// No relation has partitions in the sense of SQL.
	none("pg_partition_tree", exec.Column{Name: "relid", Type: types.RegClass, Mod: -1},
		exec.Column{Name: "parentrelid", Type: types.RegClass, Mod: -1},
		exec.Column{Name: "isleaf", Type: types.Bool, Mod: -1}, exec.Column{Name: "level", Type: types.Int4, Mod: -1})
	none("pg_partition_ancestors", exec.Column{Name: "relid", Type: types.RegClass, Mod: -1})
	register("pg_partition_root", types.RegClass, constant(types.Null), types.RegClass)
	// Relations have no files of their own.
	register("pg_relation_filepath", types.Text, constant(types.Null), types.RegClass)
	register("pg_relation_filenode", types.Oid, withSnapshot(func(s *Snapshot, a []types.Datum) (types.Datum, error) {
		for _, c := range s.Classes {
			if c.OID == a[0].I && filenode(c) != 0 {
				return types.NewInt(filenode(c)), nil
			}
		}
		return types.Null, nil
	}), types.RegClass)
	register("pg_describe_object", types.Text, withSnapshot(describeObject), types.Oid, types.Oid, types.Int4)
}

// describeObject describes a relation, a column, a type or a schema; other objects are unknown.
func describeObject(s *Snapshot, a []types.Datum) (types.Datum, error) {
	catalog, _ := s.Name(types.RegClass, a[0].I)
	switch catalog {
	case "pg_type":
		if name, ok := s.Name(types.RegType, a[1].I); ok {
			return types.NewText("type " + name), nil
		}
	case "pg_namespace":
		if name, ok := s.Name(types.RegNS, a[1].I); ok {
			return types.NewText("schema " + name), nil
		}
	case "pg_class":
		for _, c := range s.Classes {
			if c.OID != a[1].I {
				continue
			}
			kind := map[string]string{"r": "table ", "v": "view ", "i": "index "}[c.Kind]
			if i := int(a[2].I); i > 0 && i <= len(c.Columns) {
				kind = "column " + c.Columns[i-1].Name + " of " + kind
			}
			return types.NewText(kind + s.display(c)), nil
		}
	}
	return types.Null, nil
}
