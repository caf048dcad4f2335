package parse_test

import (
	"reflect"
	"testing"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
)

// positions calls f for every node below v, which is a part of a tree.
func positions(v reflect.Value, f func(ast.Node)) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			if n, ok := v.Interface().(ast.Node); ok && v.Kind() == reflect.Pointer {
				f(n)
			}
			positions(v.Elem(), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			positions(v.Field(i), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			positions(v.Index(i), f)
		}
	}
}

// checkPositions fails if the position of a node is outside the text.
func checkPositions(t *testing.T, src string, st ast.Statement) {
	positions(reflect.ValueOf(st), func(n ast.Node) {
		if n.Pos() < 0 || n.Pos() > len(src) {
			t.Errorf("%s\n%T at %d of %d bytes", src, n, n.Pos(), len(src))
		}
	})
}

// TestStatement_Positions checks that the position of every node is within the text.
func TestStatement_Positions(t *testing.T) {
	for _, s := range corpus(t) {
		if st, err := parse.Statement(unbounded(), s); err == nil {
			checkPositions(t, s, st)
		}
	}
}

// FuzzPositions checks that in the tree of any text every position is within it, and that the memory of the tree is
// accounted for.
func FuzzPositions(f *testing.F) {
	for _, s := range corpus(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		w := unbounded()
		st, err := parse.Statement(w, src)
		if err != nil {
			if e := sqlstate.From(err); e.Pos < 0 || e.Pos > len(src)+1 {
				t.Fatalf("position %d in a text of %d bytes: %v", e.Pos, len(src), err)
			}
			return
		}
		if _, empty := st.(*ast.Empty); !empty && w.Used() < int64(len(src)) {
			t.Errorf("a tree of %d bytes of text holds %d", len(src), w.Used())
		}
		checkPositions(t, src, st)
	})
}
