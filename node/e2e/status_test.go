package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// divan status prints the cluster and says by its exit status how it is.
func TestProgram_Status(t *testing.T) {
	n := start(t, t.TempDir(), "-admin", "anna:s3cret")
	anna := n.as("anna:s3cret")
	anna.ok("PUT", "/db", "")
	run := func(args ...string) (text string, code int) {
		cmd := exec.CommandContext(t.Context(), divan, append([]string{"status"}, args...)...)
		cmd.Env = withoutDivan(os.Environ())
		out, _ := cmd.CombinedOutput() // the status says more than the error
		return string(out), cmd.ProcessState.ExitCode()
	}
	address := strings.Replace(n.http(), "//", "//anna:s3cret@", 1)
	text, code := run("-url", address)
	if code != 0 || !strings.HasPrefix(text, "OK  all is well: 1 node\n") || !strings.Contains(text, "has started") {
		t.Errorf("%d: %s", code, text)
	}
	text, code = run("-url", address, "-json")
	var o struct{ State string }
	if err := json.Unmarshal([]byte(text), &o); code != 0 || err != nil || o.State != "ok" {
		t.Errorf("%d: %v %s", code, err, text)
	}
	file := filepath.Join(t.TempDir(), "address")
	if err := os.WriteFile(file, []byte(address+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := exec.CommandContext(t.Context(), divan, "status")
	ask.Env = append(withoutDivan(os.Environ()), "DIVAN_URL_FILE="+file)
	if out, err := ask.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "OK ") {
		t.Errorf("with the address in a file: %v, %s", err, out)
	}
	if text, code := run("-up", "-url", n.http()); code != 0 || text != "ok\n" {
		t.Errorf("%d: %s", code, text)
	}
	// With a wrong password it does not ask until the account is locked.
	wrong := strings.Replace(n.http(), "//", "//anna:wrong@", 1)
	for _, args := range [][]string{{"-watch", "-url", wrong}, {"-url", n.http()}, {"-up", "-url", "http://127.0.0.1:1"}, {"-url", "http://127.0.0.1:1"},
		{"-url", "nonsense"},
		{"-nonsense"}, {"argument"}} {
		if text, code := run(args...); code != 2 || text == "" {
			t.Errorf("%v: %d %s", args, code, text)
		}
	}
}

// A scraper with the token reads the metrics of a node, and an admin its profiles.
func TestProgram_Scraped(t *testing.T) {
	const token = "a-token-for-scraping"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte("http: {metrics_token: "+token+"}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	n := start(t, dir, "-admin", "anna:s3cret")
	anna, stranger := n.as("anna:s3cret"), n.client()
	anna.ok("PUT", "/db", "")
	anna.ok("GET", "/db", "")
	if got := stranger.do("GET", "/metrics", "", "Authorization", "Bearer "+token); got.status != 200 ||
		!strings.Contains(string(got.body), `divan_http_route_duration_seconds_count{method="PUT",route="/{db}"} 1`) {
		t.Errorf("scraped %d %.2000s", got.status, got.body)
	}
	for _, path := range []string{"/metrics", "/_debug/pprof/", "/_debug/pprof/heap"} {
		if got := stranger.status("GET", path, ""); got != 401 {
			t.Errorf("%s without a login: %d", path, got)
		}
		if path != "/metrics" {
			if got := stranger.do("GET", path, "", "Authorization", "Bearer "+token).status; got != 401 {
				t.Errorf("%s with the token: %d", path, got)
			}
		}
		if got := anna.status("GET", path, ""); got != 200 {
			t.Errorf("%s for an admin: %d", path, got)
		}
	}
	if got := anna.do("GET", "/_debug/pprof/goroutine?debug=1", ""); !strings.Contains(string(got.body),
		"goroutine profile") {
		t.Errorf("%.200s", got.body)
	}
	if got := anna.do("GET", "/_debug/pprof/cmdline", ""); got.status != 404 ||
		strings.Contains(string(got.body), "s3cret") {
		t.Errorf("the command line, with a password, is shown: %s", got.body)
	}
	if got := anna.do("GET", "/_debug/pprof/heap", "", "Sec-Fetch-Site", "cross-site").status; got != 403 {
		t.Errorf("a profile for another site: %d", got)
	}
}
