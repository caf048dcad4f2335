package machine

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/divandb/divan/node/config"
)

func TestPrecautions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes of files")
	}
	dir := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Data, c.File, c.Cluster.Secret = dir, file, "s"
	c.HTTP.MaxConnections = 16
	mode := func(name string, m os.FileMode) {
		t.Helper()
		if err := os.Chmod(name, m); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		data, file  os.FileMode
		connections int
		want        string // in the only warning, or empty
	}{
		{0o700, 0o600, 16, ""},
		{0o750, 0o600, 16, "have access to the data directory"},
		{0o700, 0o644, 16, "can read the secrets in " + file},
		{0o700, 0o600, 1 << 40, "too few files for http.max_connections"},
		{0o777, 0o600, 16, "can replace the store"},
		{0o777 | os.ModeSticky, 0o600, 16, "have access to the data directory"},
	} {
		mode(dir, step.data)
		mode(file, step.file)
		c.HTTP.MaxConnections = step.connections
		warnings := Precautions(c)
		if (len(warnings) == 1) != (step.want != "") ||
			!strings.Contains(strings.Join(warnings, "\n"), step.want) {
			t.Errorf("%+v: %q", step, warnings)
		}
	}
	mode(file, 0o644)
	mode(dir, 0o700)
	c.Cluster.Secret, c.HTTP.MaxConnections = "", 16
	if warnings := Precautions(c); len(warnings) > 0 {
		t.Errorf("without secrets: %q", warnings)
	}
	c.SecretFiles, c.SQL.TLS.Key = []string{file, "/run/secrets/admin"}, file
	c.Ignored = []string{"DIVAN_X"}
	if warnings := strings.Join(Precautions(c), "\n"); strings.Count(warnings, "can read the secret in "+file) != 2 ||
		!strings.Contains(warnings, "DIVAN_X is no setting") || strings.Count(warnings, "\n") != 2 {
		t.Errorf("with files of secrets: %q", warnings)
	}
	c.SecretFiles, c.SQL.TLS.Key, c.Ignored = nil, "", nil
	c.Data = filepath.Join(dir, "missing")
	if warnings := Precautions(c); len(warnings) > 0 {
		t.Errorf("without a directory: %q", warnings)
	}
}

// Connections leave files to the store: a start with few says so, instead of failing later.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		files                        uint64
		mostHTTP, mostSQL, http, sql int
	}{
		{1 << 20, 8192, 200, 8192, 200},
		{9160, 8192, 200, 8192, 200},
		{9159, 8192, 200, 8191, 200},
		{1024, 8192, 200, 384, 128},
		{1024, 16, 200, 16, 200},
		{900, 16, 200, 16, 112},
		{120, 8192, 200, 45, 15},
		{2, 8192, 200, 1, 1},
	} {
		if http, sql := divide(c.files, c.mostHTTP, c.mostSQL); http != c.http || sql != c.sql {
			t.Errorf("%+v: %d and %d", c, http, sql)
		}
	}
}

func TestSyncTime(t *testing.T) {
	dir := t.TempDir()
	if took := SyncTime(dir); took <= 0 || took > syncsWithin {
		t.Errorf("a sync takes %v", took)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if took := SyncTime(filepath.Join(dir, "missing")); took != 0 {
		t.Errorf("of a missing directory: %v", took)
	}
}
