package copying_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/divandb/divan/query/copying"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/types"
)

// read returns the rows, or the error, of data that comes in pieces of some length.
func read(o *ast.Copy, data string, piece func() int) (out []string) {
	cols := []copying.Column{{Name: "a", Type: types.Text}, {Name: "b", Type: types.Text}}
	in := copying.NewIn(o, cols, &types.Env{})
	for {
		n := min(piece(), len(data))
		in.Feed([]byte(data[:n]), n == len(data))
		data = data[n:]
		for {
			row, err := in.Next()
			if errors.Is(err, io.EOF) && n == 0 && len(data) == 0 {
				return out
			}
			if errors.Is(err, copying.ErrMore) || errors.Is(err, io.EOF) {
				break // what comes after the mark of the end may be wrong
			}
			if err != nil {
				return append(out, err.Error())
			}
			out = append(out, fmt.Sprintf("%v %q, %v %q", row[0].IsNull(), row[0].S, row[1].IsNull(), row[1].S))
		}
		if n == 0 && len(data) == 0 {
			return append(out, "asks for more than there is")
		}
	}
}

// Data that comes in pieces has the rows and errors of the whole.
func TestIn_Pieces(t *testing.T) {
	text := ast.Copy{Format: "text", Delimiter: "\t", Null: `\N`}
	csv := ast.Copy{Format: "csv", Delimiter: ",", Quote: `"`, Escape: `"`}
	escaped := csv
	escaped.Escape = `\`
	head := csv
	head.Header = true
	signature := "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	row := "\x00\x02\x00\x00\x00\x02xy\xff\xff\xff\xff"
	binary := ast.Copy{Format: "binary"}
	for _, c := range []struct {
		o    *ast.Copy
		data string
	}{
		{&text, "a\tb\nc\\\td\te\\\\\n\\N\t\\x41\\101\n"}, {&text, "a\tb\r\nc\td\r\n"}, {&text, "a\tb\rc\td\r"},
		{&text, "a\tb\nc\td"}, {&text, "a\tb\n\\.\nrest"}, {&text, "a\tb\nc\td\r\n"}, {&text, "a\nb\tc\n"},
		{&text, "a\tb\rc\td\n"}, {&text, ""}, {&text, "a\tb\n" + strings.Repeat("long", 500) + "\tx\n"},
		{&csv, "a,\"b \"\"x\"\" \n y\"\nc,\n"}, {&csv, "a,b\r\nc,d\r\n"}, {&csv, "a,\"b"}, {&csv, "a,b\n\\.\nrest"},
		{&csv, "a,b\rc,d\n"}, {&csv, "\"\"\"\",\"\"\"\"\n"}, {&escaped, "\"a\\\"b\\\\\",\"\\\"\"\n"}, {&head, "x,y\na,b\n"},
		{&binary, signature + row + row + "\xff\xff"}, {&binary, signature + row}, {&binary, signature + row + "\x00"},
		{&binary, signature + row + "\xff\xffx"}, {&binary, "nonsense that is no signature"}, {&binary, signature[:9]},
		{&binary, signature + "\x00\x03"}, {&binary, ""},
	} {
		whole := read(c.o, c.data, func() int { return len(c.data) })
		if got := read(c.o, c.data, func() int { return 1 }); fmt.Sprint(got) != fmt.Sprint(whole) {
			t.Errorf("%q byte by byte:\n got %q\nwant %q", c.data, got, whole)
		}
		for range 20 {
			got := read(c.o, c.data, func() int { return rand.IntN(9) + 1 })
			if fmt.Sprint(got) != fmt.Sprint(whole) {
				t.Errorf("%q in pieces:\n got %q\nwant %q", c.data, got, whole)
			}
		}
	}
}
