//go:build unix

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file of the store that the user may not read is not damage: every command names the file and says what to do.
func TestProgram_Denied(t *testing.T) {
	mostlyWaits(t)
	dir := t.TempDir()
	p := startEmbedded(t, dir)
	p.client().ok("PUT", "/db", "")
	p.client().ok("PUT", "/db/doc", `{}`)
	p.stop(syscall.SIGTERM)
	start(t, dir).stop(syscall.SIGTERM)
	store := filepath.Join(dir, "data", "store")
	open := exec.Command("chmod", "-R", "a+rwX", filepath.Dir(dir))
	if said, err := open.CombinedOutput(); err != nil {
		t.Fatal(err, string(said))
	}
	for _, pattern := range []string{"*.sst", "MANIFEST-*", "*.log", "horizon", "LOCK"} {
		names, err := filepath.Glob(filepath.Join(store, pattern))
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			if err := os.Chmod(name, 0); err != nil {
				t.Fatal(err)
			}
		}
		commands := [][]string{
			{"check", "-deep", "-data", "data"}, {"export", "-data", "data", "db", "x.export"},
			{"export", "-skip-damaged", "-data", "data", "db", "x.export"},
		}
		if pattern != "LOCK" { // without it a node reads, and waits until it can write
			commands = append(commands, append([]string{"-data", "data"}, freePorts...))
		}
		for _, args := range commands {
			said := asOther(t, dir, args...)
			if !strings.Contains(said, "permission denied") || strings.Contains(said, "damaged:") ||
				!strings.Contains(said, strings.Trim(pattern, "*-")) {
				t.Errorf("without %s %q says\n%s", pattern, args, said)
			}
		}
		for _, name := range names {
			if err := os.Chmod(name, 0o666); err != nil { //nolint:gosec // as above
				t.Fatal(err)
			}
		}
	}
}

// asOther runs a command that must fail as a user without permissions, and returns its output.
func asOther(t *testing.T, dir string, args ...string) string {
	t.Helper()
	binary := filepath.Join(dir, "divan")
	if _, err := os.Stat(binary); err != nil {
		if err := os.Link(divan, binary); err != nil {
			text, err := os.ReadFile(divan)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(binary, text, 0o755); err != nil { //nolint:gosec // to be run by the other user
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = dir, withoutDivan(os.Environ())
	if os.Geteuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	said, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("%q did not fail: %s", args, said)
	}
	return string(said)
}
