package members

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/query/types"
)

// Memo finds what types.JSONField finds, whatever was asked before.
func TestMemo(t *testing.T) {
	names := []string{"a", "b", "é", `q"`, "", "a b", "0"}
	name := rapid.SampledFrom(names)
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
	value := rapid.SampledFrom([]string{"1", `"x"`, `"\"}{,:"`, "null", `{"a":{"b":[1,2]}}`, `[{"a":1},"]"]`, "-1.5e3",
		`"` + strings.Repeat("long ", 20) + `"`})
	spelled := map[string][]string{`q"`: {`"q\""`, `"q\u0022"`}, "é": {`"é"`, `"\u00e9"`}, "a": {`"a"`, `"\u0061"`}}
	rapid.Check(t, func(t *rapid.T) {
		var m Memo
		var docs []string
		for range rapid.IntRange(1, 4).Draw(t, "documents") {
			var b strings.Builder
			b.WriteString(space.Draw(t, "space") + "{")
			for i := range rapid.SampledFrom([]int{0, 1, 2, 5, most - 1, most, most + 1}).Draw(t, "members") {
				if i > 0 {
					b.WriteString(",")
				}
				n := name.Draw(t, "name")
				key := fmt.Sprintf("%q", n)
				if s := spelled[n]; s != nil {
					key = rapid.SampledFrom(s).Draw(t, "spelling")
				}
				for _, part := range []string{key, ":", value.Draw(t, "value")} {
					b.WriteString(space.Draw(t, "space") + part + space.Draw(t, "space"))
				}
			}
			b.WriteString("}")
			docs = append(docs, b.String())
		}
		docs = append(docs, "[1]", "7", `"text that is longer than what is remembered"`)
		for range 20 {
			s, n := rapid.SampledFrom(docs).Draw(t, "document"), name.Draw(t, "name")
			got, found := m.Field(s, n)
			want, wanted := types.JSONField(s, n)
			if got != want || found != wanted {
				t.Fatalf("%s of %s: %q %v, want %q %v", n, s, got, found, want, wanted)
			}
			jsonb := rapid.Bool().Draw(t, "jsonb")
			text, ok := m.Text(s, n, jsonb)
			wantText, wantOK := "", wanted
			switch {
			case wanted && jsonb:
				wantText, wantOK = types.JSONBText(want)
			case wanted:
				wantText, wantOK = types.JSONText(want)
			}
			if text != wantText || ok != wantOK {
				t.Fatalf("text of %s of %s: %q %v, want %q %v", n, s, text, ok, wantText, wantOK)
			}
			if n := name.Draw(t, "inner"); found { // of an object in the document
				got, found = m.Field(got, n)
				if want, wanted = types.JSONField(want, n); got != want || found != wanted {
					t.Fatalf("%s in %s: %q %v, want %q %v", n, s, got, found, want, wanted)
				}
			}
		}
	})
}
