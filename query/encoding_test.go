package query_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// notUTF8 are bytes that are not UTF-8, or contain a zero byte, some of them in values that would otherwise be right.
var notUTF8 = []string{"\xff", "a\xc3", "\x00", "a\x00b", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\"\xff\"", "{\"a\": \"\xc3(\"}",
	"{\xff}", "{\"a\x00\"}", "1\xff", "$.\"\xff\"", "2020-01-01 \xff", "\\x\xff", "{\xff", "pg_class\xff",
	strings.Repeat("x", 70) + "\xff", "é"}

var wrongBinary = regexp.MustCompile("^(22P03|08P01 |22008 |XX000 unsupported json)")

// TestParameters_Encoding sends such bytes as parameters of every type, in both formats, alone and in binary arrays.
// The answer must be PostgreSQL's, with its message and context.
func TestParameters_Encoding(t *testing.T) {
	theirs := connect(t, pgtest.URL(t)).PgConn()
	s := exectest.NewStore()
	s.Create("postgres")
	_, addr := start(t, s, nil)
	ours := connect(t, "postgres://ann@"+addr+"/postgres").PgConn()
	answer := func(conn *pgconn.PgConn, typ uint32, format int16, value string) string {
		r := conn.ExecParams(t.Context(), "SELECT $1::text", [][]byte{[]byte(value)}, []uint32{typ}, []int16{format},
			nil).Read()
		var pe *pgconn.PgError
		switch {
		case errors.As(r.Err, &pe) && pe.Code == "22P03":
			return pe.Code
		case errors.As(r.Err, &pe):
			return fmt.Sprintf("%s %s, %s", pe.Code, pe.Message, pe.Where)
		case r.Err != nil:
			return r.Err.Error()
		}
		return fmt.Sprintf("%q", r.Rows)
	}
	// item is the binary form of an array with one item.
	item := func(elem uint32, value string) string {
		var b []byte
		for _, n := range []uint32{1, 0, elem, 1, 1, uint32(len(value))} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return string(b) + value
	}
	types := map[string]uint32{"bool": 16, "bytea": 17, "char": 18, "name": 19, "int8": 20, "int2": 21, "int4": 23,
		"text": 25, "oid": 26, "json": 114, "float4": 700, "float8": 701, "bpchar": 1042, "varchar": 1043,
		"date": 1082, "time": 1083, "timestamp": 1114, "timestamptz": 1184, "interval": 1186, "timetz": 1266,
		"numeric": 1700, "regclass": 2205, "regtype": 2206, "uuid": 2950, "jsonb": 3802, "jsonpath": 4072}
	arrays := map[string][2]uint32{"text[]": {1009, 25}, "name[]": {1003, 19}, "varchar[]": {1015, 1043},
		"json[]": {199, 114}, "jsonb[]": {3807, 3802}, "int4[]": {1007, 23}, "bytea[]": {1001, 17}}
	check := func(name string, typ uint32, format int16, value string) {
		t.Helper()
		got, want := answer(ours, typ, format, value), answer(theirs, typ, format, value)
		if got == "22P03" && wrongBinary.MatchString(want) {
			return // PostgreSQL describes what is wrong with the binary form
		}
		if got != want {
			t.Errorf("%s, format %d, %q:\ngot  %s\nwant %s", name, format, value, got, want)
		}
	}
	for _, value := range notUTF8 {
		for name, oid := range types {
			check(name, oid, 0, value)
			if name == "jsonb" || name == "jsonpath" {
				check(name, oid, 1, "\x01"+value)
			}
			check(name, oid, 1, value)
		}
		for name, oids := range arrays {
			check(name, oids[0], 0, value)
			check(name, oids[0], 1, item(oids[1], value))
			check(name, oids[0], 1, item(oids[1], "\x01"+value))
		}
	}
}

// TestCopyFrom_Encoding copies rows in other character sets, in pieces of any size.
func TestCopyFrom_Encoding(t *testing.T) {
	s := exectest.NewStore()
	s.Create("cities")
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities").PgConn()
	run := func(sql string) string {
		t.Helper()
		r, err := conn.Exec(t.Context(), sql).ReadAll()
		if err != nil {
			return code(err) + " " + err.Error()
		}
		var out []string
		for _, row := range r[len(r)-1].Rows {
			out = append(out, string(row[0]))
		}
		return strings.Join(out, ",")
	}
	for _, c := range []struct{ client, option, text, want string }{
		{"win1252", "", "a\t{\"v\": \"\x80uro \xe9\"}\n", "€uro é"},
		{"utf8", "ENCODING 'win1252'", "b\t{\"v\": \"\x80uro \xe9\"}\n", "€uro é"},
		{"win1252", "ENCODING 'utf8'", "c\t{\"v\": \"\u20ac\"}\n", "\x80"},
		{"utf8", "FORMAT csv, ENCODING 'sjis'", "d,\"{\"\"v\"\": \"\"\x93\x8c\x8b\x9e \x83\x5c\"\"}\"\n", "東京 ソ"},
		{"sjis", "", "e\t{\"v\": \"\x83\x5c\x95\x7c\"}\n", "\x83\x5c\x95\x7c"},
		{"utf8", "ENCODING 'win1252'", "f\t{\"v\": \"\x81\"}\n", "22P05"},
		{"utf8", "ENCODING 'sjis'", "g\t{\"v\": \"\xff\xff\"}\n", "22021"},
		{"utf8", "ENCODING 'sjis'", "h\t{\"v\": 1}\n\x93", "22021"},
		{"win1252", "", "i\t{\"v\": \"\xe9\"}\n", "\xe9"},
	} {
		for size := 1; size <= len(c.text); size++ {
			if got := run("DELETE FROM docs; SET client_encoding = '" + c.client + "'"); got != "" {
				t.Fatal(got)
			}
			got := ""
			options := "NULL '-'"
			if c.option != "" {
				options += ", " + c.option
			}
			_, err := conn.CopyFrom(t.Context(), &pieces{c.text, size}, "COPY docs FROM STDIN WITH ("+options+")")
			if got = code(err); err == nil {
				got = run("SELECT doc->>'v' FROM docs")
			}
			want := c.want
			if c.client == "win1252" && want == "€uro é" {
				want = "\x80uro \xe9"
			}
			if got != want {
				t.Errorf("%+v in pieces of %d: %q", c, size, got)
			}
		}
	}
}

// pieces reads a text in pieces.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}
