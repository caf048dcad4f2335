package node

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/divandb/divan/node/config"
)

// A name in the log cannot move the cursor of a terminal, nor reorder its text, and is the same for who reads the JSON.
func TestNewLogger_Escapes(t *testing.T) {
	for name, want := range map[string]string{
		"one": "one", "Zoë 日本": "Zoë 日本", `a"b\`: `a\"b\\`,
		"a\u009b2Jb": `a\u009b2Jb`, "a\u202eb": `a\u202eb`, "a\u007fb": `a\u007fb`, "\U000e0001": `\udb40\udc01`,
		"\ufffd": "\ufffd",
	} {
		var out bytes.Buffer
		NewLogger(&out, config.Log{Level: "info", Format: "json"}).Info("started", "name", name)
		var line struct{ Name string }
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Name != name ||
			!bytes.HasSuffix(out.Bytes(), []byte(`"name":"`+want+"\"}\n")) {
			t.Errorf("%q is logged as %s, %v", name, &out, err)
		}
		out.Reset()
		NewLogger(&out, config.Log{Level: "info", Format: "text"}).Info("started", "name", name)
		if bytes.ContainsAny(out.Bytes(), "\u009b\u202e\U000e0001") {
			t.Errorf("%q is logged as %q", name, &out)
		}
	}
}

// Ordinary names and directories are in the ready line as they are.
func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{"one": "one", "Zoë's C:\\data dir": "Zoë's C:\\data dir",
		"a\u009bb": `"a\u009bb"`, "a\u202e\"b": `"a\u202e\"b"`, "a\xffb": `"a\xffb"`} {
		if got := printable(s); got != want {
			t.Errorf("%q is written as %s, want %s", s, got, want)
		}
	}
}
