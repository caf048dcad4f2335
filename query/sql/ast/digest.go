package ast

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
)

// Digest returns a hash of an expression, which is the same for expressions that differ only in their places.
func Digest(e Expr) string {
	h := sha256.New()
	write(h, reflect.ValueOf(e))
	return hex.EncodeToString(h.Sum(nil))
}

var place = reflect.TypeFor[At]()

// write writes a value in a form that no other one has. A hash does not fail.
func write(w io.Writer, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			_, _ = io.WriteString(w, "nil ")
			return
		}
		write(w, v.Elem())
	case reflect.Struct:
		_, _ = fmt.Fprintf(w, "%s{", v.Type().Name())
		for i := range v.NumField() {
			if f := v.Field(i); f.Type() != place {
				write(w, f)
			}
		}
		_, _ = io.WriteString(w, "}")
	case reflect.Slice:
		_, _ = fmt.Fprintf(w, "%d[", v.Len())
		for i := range v.Len() {
			if e := v.Index(i); e.Type() != place {
				write(w, e)
			}
		}
		_, _ = io.WriteString(w, "]")
	case reflect.String:
		_, _ = fmt.Fprintf(w, "%d:%s ", v.Len(), v.String())
	default:
		_, _ = fmt.Fprintf(w, "%v ", v)
	}
}
