package query_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divandb/divan/query/exec/exectest"
)

// Texts sent to clients never contain a zero byte, which clients take for the end, even if documents contain one. Such
// a document makes no statement fail.
func TestTexts_HaveNoZeroBytes(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("db")
	db.Put("a\x00b", `{"a":"x\u0000y","k\u0000":["\u0000"]}`)
	db.Put("plain", `{"a":"z"}`)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/db?default_query_exec_mode=simple_protocol")
	const where = " FROM docs ORDER BY doc->>'a' LIMIT 1"
	for _, expr := range []string{
		"doc->>'a'", "id", "array[doc->>'a', id]", "row(id, doc->>'a')", "doc#>>'{a}'", "jsonb_object_keys(doc)",
		"(jsonb_each_text(doc)).value", "jsonb_path_query(doc, '$.a')#>>'{}'", "upper(doc->>'a') || id",
		"to_jsonb(doc->>'a')",
		"(SELECT r.a FROM jsonb_to_record(doc) AS r(a text))", "(SELECT x FROM jsonb_array_elements_text(doc->$1) x)",
	} {
		arg := [][]byte{[]byte("k\x00")}
		if !strings.Contains(expr, "$1") {
			arg = nil
		} else {
			// A parameter with a zero byte is refused.
			r := conn.PgConn().ExecParams(t.Context(), "SELECT "+expr+where, arg, nil, nil, nil).Read()
			if got := code(r.Err); got != "22021" {
				t.Errorf("a zero byte in a parameter: %v", r.Err)
			}
			arg[0] = []byte("k\uFFFD")
		}
		for format := range int16(2) {
			r := conn.PgConn().ExecParams(t.Context(), "SELECT "+expr+where, arg, nil, nil, []int16{format}).Read()
			if r.Err != nil || len(r.Rows) == 0 {
				t.Errorf("%s: %v, %d rows", expr, r.Err, len(r.Rows))
				continue
			}
			oid := r.FieldDescriptions[0].DataTypeOID
			composed := oid == pgtype.TextArrayOID || oid == pgtype.RecordOID
			if got := r.Rows[0][0]; bytes.IndexByte(got, 0) >= 0 && !(format == 1 && composed) {
				t.Errorf("%s in format %d: %q", expr, format, got)
			} else if arg == nil && expr != "jsonb_object_keys(doc)" && !bytes.Contains(got, []byte("\uFFFD")) {
				t.Errorf("%s in format %d: %q has no replacement", expr, format, got)
			}
		}
	}
	for _, copied := range []string{"COPY (SELECT id, doc->>'a' FROM docs) TO STDOUT",
		"COPY docs TO STDOUT (FORMAT csv)"} {
		var out bytes.Buffer
		if _, err := conn.PgConn().CopyTo(t.Context(), &out, copied); err != nil ||
			bytes.IndexByte(out.Bytes(), 0) >= 0 {
			t.Errorf("%s: %v, %q", copied, err, out.Bytes())
		}
	}
	// Comparisons find a document both by its JSON and by the text that is shown.
	for sql, want := range map[string]string{
		`SELECT count(*) FROM docs WHERE doc->'a' = '"x\u0000y"'`:               "1",
		`SELECT count(*) FROM docs WHERE doc->'a' = '"x\ufffdy"'`:               "0",
		`SELECT count(*) FROM docs WHERE doc->>'a' = U&'x\FFFDy'`:               "1",
		`SELECT length(doc->>'a') FROM docs WHERE doc @> '{"a":"x\u0000y"}'`:    "3",
		`SELECT doc->'a' FROM docs WHERE doc @> '{"a":"x\u0000y"}'`:             `"x\u0000y"`,
		`SELECT count(*) FROM docs WHERE doc->>'a' ~ 'z|x.y' AND id LIKE '%_%'`: "2",
	} {
		r := conn.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
		if r.Err != nil || len(r.Rows) != 1 || string(r.Rows[0][0]) != want {
			t.Errorf("%s: %v, %q", sql, r.Err, r.Rows)
		}
	}
}
