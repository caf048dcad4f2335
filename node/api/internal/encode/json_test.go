package encode

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzAppendString: what is written is JSON, and the same text again.
func FuzzAppendString(f *testing.F) {
	f.Add("plain")
	f.Add("\"\\\n\x00\x1fü\u2028\U0001F600")
	f.Add("\xff\xfe")
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal(String(nil, s), &back); err != nil ||
			back != strings.ToValidUTF8(string([]rune(s)), "\ufffd") {
			t.Fatalf("%q became %q: %v", s, back, err)
		}
	})
}
