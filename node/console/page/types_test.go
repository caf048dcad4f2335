package page_test

import (
	"encoding/json"
	"flag"
	"fmt"
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
		return "Array<" + script(t.Elem()) + ">"
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

func members(b *strings.Builder, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			members(b, f.Type)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if strings.Contains(options, "omitempty") {
			name = "[" + name + "]"
		}
		fmt.Fprintf(b, " * @property {%s} %s\n", script(f.Type), name)
	}
}

// The page's description of what it gets is that of package state.
func TestTypes(t *testing.T) {
	var b strings.Builder
	b.WriteString("// What the server answers. Generated from package state by: go test ./node/console/page -update\n")
	for _, v := range described {
		typ := reflect.TypeOf(v)
		fmt.Fprintf(&b, "\n/**\n * @typedef {Object} %s\n", typ.Name())
		members(&b, typ)
		b.WriteString(" */\n")
	}
	b.WriteString("\nexport {};\n")
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
