package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const root = "../.."

// binary returns the binary under test: that of DIVAN_TEST_BINARY, or a new one.
func binary(t *testing.T) string {
	t.Helper()
	if file := os.Getenv("DIVAN_TEST_BINARY"); file != "" {
		return file
	}
	file := filepath.Join(t.TempDir(), "divan")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", file, "./node/cmd/divan")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// shared is the release of this run.
var shared struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	status := m.Run()
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir) // in the directory for temporary files
	}
	os.Exit(status)
}

// made makes a release for this machine, once, and returns its directory.
func made(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("packages are for Linux")
	}
	shared.Do(func() {
		shared.dir, shared.err = os.MkdirTemp("", "divan-packaging-") //nolint:usetesting // outlives the test
		if shared.err != nil {
			return
		}
		shared.err = release(t.Context(), options{root: root, out: shared.dir, version: "9.8.7-rc.1", binary: binary(t),
			targets: []target{{runtime.GOOS, runtime.GOARCH}}, compression: "none"})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.dir
}

// skip leaves a test out, unless everything must be there (CI sets DIVAN_TEST_ALL).
func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("DIVAN_TEST_ALL") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func TestRelease(t *testing.T) {
	out := made(t)
	base := "divan-9.8.7-rc.1-linux-" + runtime.GOARCH
	f, err := os.Open(filepath.Join(out, base+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Name == base+"/divan" && h.Mode != 0o755 {
			t.Errorf("the binary has mode %o", h.Mode)
		}
	}
	for _, name := range []string{"divan", "LICENSE", "README.md", "CHANGELOG.md", "node.yaml"} {
		if !slices.Contains(names, base+"/"+name) {
			t.Errorf("the archive lacks %s: %q", name, names)
		}
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = out
	if text, err := check.CombinedOutput(); err != nil || !strings.Contains(string(text), base+".tar.gz: OK") {
		t.Errorf("sha256sum: %v, %s", err, text)
	}
}

// What README.md and the other pages link to is in the packages too.
func TestListPapers_links(t *testing.T) {
	list, err := listPapers(root)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, e := range list {
		for name := e.name; name != "."; name = path.Dir(name) { // a link can be to a directory
			there[name] = true
		}
	}
	link := regexp.MustCompile(`\]\(([^)#: ]+)`)
	links := 0
	for _, e := range list {
		// Only who has the repository needs what ARCHITECTURE.md describes.
		if path.Ext(e.name) != ".md" || e.name == "ARCHITECTURE.md" {
			continue
		}
		text, err := os.ReadFile(e.from)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			if strings.HasPrefix(string(m[1]), "http") {
				continue
			}
			links++
			if to := path.Join(path.Dir(e.name), string(m[1])); !there[to] {
				t.Errorf("%s links to %s, which is not in the packages", e.name, to)
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
}

// A file that was not completed, since the release was interrupted, is not there under its name.
func TestComplete(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "divan.deb")
	interrupted := errors.New("interrupted")
	half := func(partial string) error {
		if err := os.WriteFile(partial, []byte("half"), 0o600); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(file); err == nil && string(text) != "whole" {
			t.Errorf("while it is made: %s", text)
		}
		return interrupted
	}
	if err := complete(file, half); !errors.Is(err, interrupted) {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := writeFile(file, []byte("whole"), 0o640); err != nil {
		t.Fatal(err)
	}
	_ = complete(file, half)
	if text, err := os.ReadFile(file); err != nil || string(text) != "whole" {
		t.Errorf("after an attempt to make it again: %s, %v", text, err)
	}
}

// An interrupted release leaves no file of a release, and no checksums of an earlier one.
func TestRelease_interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := t.TempDir()
	if err := writeFile(filepath.Join(out, sums), []byte("of before"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := options{root: root, out: out, version: "9.8.7", targets: targets[:1], compression: "none"}
	if err := release(ctx, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	left, err := os.ReadDir(out)
	if err != nil || len(left) != 1 || left[0].Name() != "build" {
		t.Errorf("left %v, %v", left, err)
	}
}

// What is no release is refused.
func TestRelease_refused(t *testing.T) {
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{version: "v1"}, "is not a version"},
		{options{version: "1.2.3", targets: []target{{"linux", ""}}}, "no release for linux/"},
		{options{version: "1.0.0", binary: "x", targets: targets}, "exactly one target"},
		{options{version: "1.0.0", binary: "../../go.mod", targets: targets[:1]}, "linux/amd64: "},
		{options{version: "1.0.0", binary: binary(t), targets: []target{{"windows", "arm64"}}}, "is for "},
	} {
		c.o.root, c.o.out = root, t.TempDir()
		if err := release(t.Context(), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.o, err, c.want)
		}
	}
	if err := unlisted([]byte(`{"components":[{"name":"a","version":"v1"}]}`), []string{"a@v1"}); err != nil {
		t.Error(err)
	}
	if unlisted([]byte(`{"components":[{"name":"a","version":"v1"}]}`), []string{"a@v1", "b@v1"}) == nil {
		t.Error("a module that is not in the list is not missed")
	}
}

func TestWriteZip(t *testing.T) {
	var b bytes.Buffer
	files := []entry{{"divan.exe", filepath.Join(root, "go.mod"), 0o755}}
	if err := writeZip(&b, "base", files, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(r.File) != 1 || r.File[0].Name != "base/divan.exe" || r.File[0].Mode() != 0o755 {
		t.Errorf("%v, %v", r, err)
	}
}

// The module can be installed with `go install`: its path is that of its repository, and nothing is replaced.
func TestModule(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "module github.com/divandb/divan\n") {
		t.Error("the module has another path than the repository")
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "replace") || strings.HasPrefix(line, "exclude") {
			t.Errorf("go install refuses a module with the line %q", line)
		}
	}
}
