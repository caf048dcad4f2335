package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"
)

// readBody decodes the JSON object of a request, of at most most bytes, and returns what is wrong with it, for who
// sent it, or "". Package json would take what is no UTF-8 for U+FFFD, and leave out what follows the object.
func readBody(w http.ResponseWriter, r *http.Request, most int64, to any) (fault string) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err == nil && !utf8.Valid(text) {
		return "it is not UTF-8"
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err == nil {
		err = d.Decode(to)
	}
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var large *http.MaxBytesError
	switch {
	case err == nil && len(bytes.TrimSpace(text[d.InputOffset():])) > 0:
		return fmt.Sprintf("it goes on after byte %d, where the object ends", d.InputOffset())
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
