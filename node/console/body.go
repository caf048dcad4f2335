package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// readBody decodes the JSON object of a request, of at most most bytes, and returns what is wrong with it, for who
// sent it, or "".
func readBody(w http.ResponseWriter, r *http.Request, most int64, to any) (fault string) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &kind) && kind.Field == "":
		found, _, _ := strings.Cut(kind.Value, " ") // "number 7"
		return "it is " + article(found)
	case errors.As(err, &kind):
		return fmt.Sprintf("`%s` must be %s", kind.Field, wanted(kind.Type))
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not JSON from byte %d on", syntax.Offset)
	case errors.As(err, &large):
		return fmt.Sprintf("it is longer than %d bytes", large.Limit)
	case errors.Is(err, io.EOF):
		return "it is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "its end is missing"
	}
	// Package json has no type for this one.
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "there is no field `" + strings.Trim(name, `"`) + "`"
	}
	return "it cannot be read"
}

func article(noun string) string {
	if strings.HasPrefix(noun, "a") {
		return "an " + noun
	}
	return "a " + noun
}

// wanted describes the values of a field.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int:
		return "a whole number"
	case reflect.Uint32:
		return "a whole number from 0 to 4294967295"
	}
	return "of another type"
}
