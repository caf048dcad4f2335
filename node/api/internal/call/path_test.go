package call

import (
	"strings"
	"testing"
)

func TestSplitPath(t *testing.T) {
	for path, want := range map[string]string{
		"/":                          "",
		"/db":                        "db",
		"//db///doc/":                "db|doc",
		"/a%2Fb/c%2Fd":               "a/b|c/d",
		"/db/_design/x/_view/y":      "db|_design|x|_view|y",
		"/db/_design%2Fx/_view/y":    "db|_design|x|_view|y",
		"/db/_design%2fa%2Fb/_info":  "db|_design|a/b|_info",
		"/db/_local%2Fx":             "db|_local|x",
		"/db/_design%2F":             "db|_design",
		"/db/doc/a/b%2Fc":            "db|doc|a|b/c",
		"/db/a+b":                    "db|a b",
		"/db/a%2Bb":                  "db|a+b",
		"/_design%2Fx/_design%2Fx/y": "_design/x|_design|x|y",
	} {
		got, ok := SplitPath(path, true)
		if !ok || strings.Join(got, "|") != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, bad := range []string{"/%", "/db/%2", "/db/%zz"} {
		if got, ok := SplitPath(bad, true); ok {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

// Without decode_plus_to_space, a plus sign in a path is one.
func TestSplitPath_Plus(t *testing.T) {
	if got, ok := SplitPath("/db/a+b%2Bc%20d", false); !ok || strings.Join(got, "|") != "db|a+b+c d" {
		t.Errorf("%q", got)
	}
}

func TestParseQuery(t *testing.T) {
	for raw, want := range map[string]string{
		"":                     "",
		"a=1&b=2":              "a|1|b|2",
		"a=1;b=2":              "a|1|b|2",
		"a":                    "a|",
		"a=b=c&a=d":            "a|b=c|a|d",
		"key=%22x+y%22&&x=%2B": `key|"x y"|x|+`,
	} {
		ps, ok := ParseQuery(raw)
		var got []string
		for _, p := range ps {
			got = append(got, p.Name, p.Value)
		}
		if !ok || strings.Join(got, "|") != want {
			t.Errorf("%s: %q", raw, got)
		}
	}
	if got, ok := ParseQuery("a=%z1"); ok {
		t.Error(got)
	}
}
