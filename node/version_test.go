package node

import (
	"runtime/debug"
	"testing"
)

// What is known of a build depends on whether it came from a repository or from the module proxy.
func TestBuildFrom(t *testing.T) {
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789ABCDEF0123456789abcdef01234567"},
			{Key: "vcs.time", Value: "2026-11-24T11:21:13Z"}, {Key: "vcs.modified", Value: modified},
		}
	}
	for _, c := range []struct {
		name, main    string
		settings      []debug.BuildSetting
		short, module string
	}{
		{"a repository", "v0.0.0-20261124112113-0123456789ab", vcs("false"), "0123456", ""},
		{"a changed repository", "v0.0.0-20261124112113-0123456789ab+dirty", vcs("true"), "0123456.dirty", ""},
		{"no repository", "(devel)", nil, "", ""},
		{"a test", "", nil, "", ""},
		{"a tag from the proxy", "v0.2.0", nil, "", "0.2.0"},
		{"a candidate from the proxy", "v0.2.0-rc-1", nil, "", "0.2.0-rc-1"},
		{"a commit from the proxy", "v0.1.1-0.20261124112113-0123456789ab", nil, "0123456",
			"0.1.1-0.20261124112113-0123456789ab"},
	} {
		b := buildFrom(&debug.BuildInfo{Main: debug.Module{Version: c.main}, Settings: c.settings})
		if b.short() != c.short || b.module != c.module {
			t.Errorf("%s: %+v", c.name, b)
		}
	}
}
