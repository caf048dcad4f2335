package query_test

import (
	"encoding/binary"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divandb/divan/query/exec/exectest"
)

// TestSession_BinaryRegclass checks that a regclass whose binary form is an OID has a name.
func TestSession_BinaryRegclass(t *testing.T) {
	s := exectest.NewStore()
	s.Create("postgres")
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/postgres").PgConn()
	const regclass, pgClass = 2205, 1259
	r := conn.ExecParams(t.Context(), "SELECT $1, $1::text", [][]byte{binary.BigEndian.AppendUint32(nil, pgClass)},
		[]uint32{regclass}, []int16{pgtype.BinaryFormatCode}, nil).Read()
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	for i, v := range r.Rows[0] {
		if string(v) != "pg_class" {
			t.Errorf("column %d is %q", i+1, v)
		}
	}
}
