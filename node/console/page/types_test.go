package page_test

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/state"
)

var update = flag.Bool("update", false, "write js/types.js")

// described are the types that the page gets.
var described = []any{state.Verdict{}, state.Door{}, state.Overview{}, state.Attention{}, state.Node{},
	state.Database{}, state.Shard{},
	state.Index{}, state.Task{}, state.Job{}, state.Replication{}, state.Actor{}, state.Session{},
	state.EventPage{}, state.Event{},
	state.Story{}, state.StoryLine{}, state.Absent{}, state.Plots{}, state.Plot{}, state.PlotLine{}, state.Line{},
	state.Series{},
	state.Storage{}, state.StoreCluster{}, state.Compaction{}, state.Compactable{}, state.Scripts{}, state.ScriptUse{},
	state.Setting{}, state.SQLLine{}, state.SQLColumn{}, state.SQLError{}}

// script returns the name of a type in the page.
func script(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "string" // RFC 3339
	case reflect.TypeFor[json.RawMessage]():
		return "Object"
	case reflect.TypeFor[state.Values]():
		return "Array<?number>"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return script(t.Elem())
	case reflect.Slice:
		return script(t.Elem()) + "[]"
	case reflect.Map:
		return "Object<string, " + script(t.Elem()) + ">"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Struct:
		return t.Name()
	}
	return "number"
}

// members returns the members of an object: "name: string", "since?: string".
func members(t reflect.Type) (list []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			list = append(list, members(f.Type)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if strings.HasPrefix(options, "omit") {
			name += "?"
		}
		list = append(list, name+": "+script(f.Type))
	}
	return list
}

// wrapped joins words to lines of at most 120 columns.
func wrapped(words []string) string {
	var b strings.Builder
	column := 0
	for i, w := range words {
		switch {
		case i == 0:
		case column+1+len(w) > 120:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(w)
		column += len(w)
	}
	return b.String()
}

// The page's description of what it gets is that of package state.
func TestTypes(t *testing.T) {
	var b strings.Builder
	b.WriteString("/**\nWhat the server answers. " +
		"Generated from package state by: go test ./node/console/page -update\n")
	for _, v := range described {
		typ := reflect.TypeOf(v)
		text := "@typedef {{" + strings.Join(members(typ), ", ") + "}} " + typ.Name()
		b.WriteString(wrapped(strings.Fields(text)) + "\n")
	}
	b.WriteString("*/\nexport {};\n")
	if *update {
		if err := os.WriteFile("js/types.js", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("js/types.js")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Error("js/types.js differs from package state: go test ./node/console/page -update")
	}
}
