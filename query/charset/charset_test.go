package charset_test

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/charset"
	"github.com/divandb/divan/query/pgtest"
	"github.com/divandb/divan/query/sqlstate"
)

// names are the names of all character sets that PostgreSQL can convert to UTF8.
var names = strings.Fields(`BIG5 EUC_CN EUC_JIS_2004 EUC_JP EUC_KR EUC_TW GB18030 GBK ISO_8859_5 ISO_8859_6 ISO_8859_7
	ISO_8859_8 JOHAB KOI8R KOI8U LATIN1 LATIN2 LATIN3 LATIN4 LATIN5 LATIN6 LATIN7 LATIN8 LATIN9 LATIN10
	SHIFT_JIS_2004 SJIS UHC WIN1250 WIN1251 WIN1252 WIN1253 WIN1254 WIN1255 WIN1256 WIN1257 WIN1258 WIN866 WIN874`)

// conversions are functions that return the converted text in hexadecimal digits, or the error.
const conversions = `
CREATE OR REPLACE FUNCTION pg_temp.decoded(b bytea, e name) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN RETURN encode(convert_to(convert_from(b, e), 'UTF8'), 'hex');
	EXCEPTION WHEN others THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
CREATE OR REPLACE FUNCTION pg_temp.encoded(t text, e name) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN RETURN encode(convert_to(t, e), 'hex');
	EXCEPTION WHEN others THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$`

// TestEncoding_PostgreSQL compares the conversions of all characters, and errors, with those of PostgreSQL.
func TestEncoding_PostgreSQL(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), conversions); err != nil {
		t.Fatal(err)
	}
	answer := func(out string, err error) string {
		var e *sqlstate.Error
		if errors.As(err, &e) {
			return string(e.Code) + " " + e.Message
		}
		return hex.EncodeToString([]byte(out))
	}
	for _, name := range names {
		e, ok := charset.Find(name)
		if !ok {
			t.Errorf("%s is not known", name)
		}
		if e == nil {
			continue
		}
		faults := 0
		compare := func(sql string, ours func(text []byte) string) {
			rows, err := conn.Query(t.Context(), sql, name)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				var text []byte
				var want string
				if err := rows.Scan(&text, &want); err != nil {
					t.Fatal(err)
				}
				if got := ours(text); got != want {
					if faults++; faults < 1000 {
						t.Errorf("%s: %x is %s, want %s", name, text, got, want)
					}
				}
			}
			if err := rows.Err(); err != nil {
				t.Error(err)
			}
		}
		decoded := func(text []byte) string {
			// PostgreSQL's function checks the whole text first.
			if err := e.Check(string(text)); err != nil {
				return answer("", err)
			}
			return answer(e.Decode(string(text)))
		}
		compare(`SELECT b, pg_temp.decoded(b, $1) FROM (SELECT decode(lpad(to_hex(i), 2, '0'), 'hex') b
			FROM generate_series(0, 255) i) x`, decoded)
		compare(`SELECT b, pg_temp.decoded(b, $1) FROM (SELECT decode(to_hex(i) || t, 'hex') b
			FROM generate_series(128, 255) i, unnest(ARRAY['00', '20', '41', 'c3a9', '8141', 'a1a1a1', 'fefefe']) t) x`, decoded)
		if e.Name() == "SJIS" || e.Name() == "GBK" || e.Name() == "UHC" || e.Name() == "EUC_KR" {
			compare(`SELECT b, pg_temp.decoded(b, $1) FROM (SELECT decode(to_hex(i), 'hex') b
				FROM generate_series(32768, 65535) i) x`, decoded)
		}
		ranges := "i < 2000 OR i BETWEEN 8190 AND 10000 OR i > 65500"
		if e.Name() == "SJIS" || e.Name() == "GBK" || e.Name() == "UHC" || e.Name() == "EUC_KR" {
			ranges = "i NOT BETWEEN 55296 AND 57343"
		}
		compare(`SELECT convert_to(chr(i), 'UTF8'), pg_temp.encoded(chr(i), $1) FROM generate_series(1, 65600) i
			WHERE `+ranges, func(text []byte) string {
			out, err := e.Encode(nil, string(text))
			return answer(string(out), err)
		})
	}
}

// TestFind_PostgreSQL compares which names exist.
func TestFind_PostgreSQL(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, name := range append(strings.Fields(`utf8 UTF-8 unicode sqlascii SQL_ASCII iso88591 iso-8859-1 win win-1252
		windows1252 cp1252 latin-1 l1 alt abc tcvn vscii koi8 koi8-r mskanji shiftjis ShiftJIS win932 uhc win949 gbk
		win936 win950 windows950 MULE_INTERNAL euckr eucjp nope auto`), "", `"utf8"`, "latin 1", "é") {
		var is bool
		if err := conn.QueryRow(t.Context(), "SELECT pg_char_to_encoding($1) >= 0", name).Scan(&is); err != nil {
			t.Fatal(err)
		}
		if _, ok := charset.Find(name); ok != is {
			t.Errorf("%q exists: %t, in PostgreSQL %t", name, ok, is)
		}
		_, err := conn.Exec(t.Context(), "SET client_encoding = '"+name+"'")
		var pe *pgconn.PgError
		if is && errors.As(err, &pe) && pe.Code != "0A000" {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := conn.Exec(t.Context(), "SET client_encoding = 'UTF8'"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStream checks that a text is decoded in the same way however it is divided.
func TestStream(t *testing.T) {
	for _, name := range []string{"WIN1252", "SJIS", "GBK", "UHC", "EUC_KR"} {
		e, _ := charset.Find(name)
		want := "café € ÿ"
		if e.Name() != "WIN1252" {
			want = "x、漢字、ABC 東京\n\\"
		}
		if name == "UHC" || name == "EUC_KR" {
			want = "한국어 xyz 漢字\\"
		}
		raw, err := e.Encode(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		for size := 1; size <= len(raw); size++ {
			s := charset.NewStream(e)
			var got []byte
			for at := 0; at < len(raw); at += size {
				piece, err := s.Decode(raw[at:min(at+size, len(raw))], at+size >= len(raw))
				if err != nil {
					t.Fatalf("%s in pieces of %d: %v", name, size, err)
				}
				got = append(got, piece...)
			}
			if string(got) != want {
				t.Errorf("%s in pieces of %d: %q, want %q", name, size, got, want)
			}
		}
		if name != "WIN1252" {
			if _, err := charset.NewStream(e).Decode([]byte("x\x95"), true); err == nil {
				t.Errorf("%s: a text that ends within a character is decoded", name)
			}
		}
	}
}
