package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served starts a command as a service of systemd, waits until it is ready, and stops it.
func served(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	// An abstract name, which a container can reach too.
	socket := &net.UnixAddr{Name: fmt.Sprintf("@divan-packaging-%d-%s", os.Getpid(), t.Name()), Net: "unixgram"}
	conn, err := net.ListenUnixgram("unixgram", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+socket.Name)
	log := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	failed := func(what string, err error) {
		_ = cmd.Process.Kill()
		text, _ := os.ReadFile(log)
		t.Fatalf("%s: %v\n%s", what, err, text)
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1024)
	if n, err := conn.Read(buf); err != nil || !strings.HasPrefix(string(buf[:n]), "READY=1") {
		failed("it did not become ready", err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			failed("it did not stop well", err)
		}
	case <-time.After(time.Minute):
		failed("it did not stop", nil)
	}
}

// The Debian package is installed into a directory, upgraded, run as its service says, removed and purged. adduser and
// chown only say what they would do.
func TestDebian(t *testing.T) {
	for _, program := range []string{"dpkg", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			skip(t, program+" is not installed")
		}
	}
	out := made(t)
	debs, err := filepath.Glob(filepath.Join(out, "*.deb"))
	if err != nil || len(debs) != 1 || filepath.Base(debs[0]) != "divan_9.8.7~rc.1_"+runtime.GOARCH+".deb" {
		t.Fatalf("packages %q, %v", debs, err)
	}
	if lintian, err := exec.LookPath("lintian"); err == nil { // what Debian's checker finds; CI does without it
		// The tests' binary keeps its symbols, and its package is not compressed: both take time that a release needs.
		check := exec.CommandContext(t.Context(), lintian, "--suppress-tags", "unstripped-binary-or-object,"+
			"uses-no-compression-for-data-tarball,uses-no-compression-for-control-tarball", debs[0])
		if text, err := check.CombinedOutput(); err != nil {
			t.Errorf("lintian: %v\n%s", err, text)
		}
	}
	tree, tools := t.TempDir(), t.TempDir()
	said := filepath.Join(tools, "said")
	for _, name := range []string{"adduser", "chown", "systemctl", "getent"} {
		script := "#!/bin/sh\necho " + name + " \"$@\" >>" + said + "\n"
		if name == "getent" {
			script += "exit 2\n" // there is no such user
		}
		if err := writeFile(filepath.Join(tools, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// install -o needs the user.
	install := "#!/bin/sh\n[ \"$1 $2 $3 $4 $5 $6 $7\" = \"-d -m 0700 -o divan -g divan\" ] || exit 1\n" +
		"mkdir -p -m 0700 \"$8\"\n"
	if err := writeFile(filepath.Join(tools, "install"), []byte(install), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(tree, "var/lib/dpkg"), 0o755); err != nil { //nolint:gosec // a system's
		t.Fatal(err)
	}
	if err := writeFile(filepath.Join(tree, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) string {
		t.Helper()
		args = append([]string{"--root=" + tree, "--force-not-root", "--force-script-chrootless", "--force-depends",
			"--force-confold", "--no-triggers"}, args...)
		cmd := exec.CommandContext(t.Context(), "dpkg", args...) //nolint:gosec // our own arguments
		cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg %q: %v\n%s", args, err, text)
		}
		return string(text)
	}
	dpkg("-i", debs[0])
	for name, mode := range map[string]os.FileMode{
		"usr/bin/divan": 0o755, "etc/divan/node.yaml": 0o640, "etc/default/divan": 0o600, "var/lib/divan": 0o700,
		"usr/lib/systemd/system/divan.service": 0o644, "usr/share/doc/divan/copyright": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(tree, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want %o", name, info, err, mode)
		}
	}
	if text, err := os.ReadFile(said); err != nil || !strings.Contains(string(text), "adduser --system --group") ||
		!strings.Contains(string(text), "chown root:divan "+tree+"/etc/divan/node.yaml") ||
		strings.Contains(string(text), "systemctl") {
		t.Errorf("the package did %s, %v", text, err)
	}
	runService(t, tree)

	settings := filepath.Join(tree, "etc/divan/node.yaml")
	err = os.WriteFile(settings, []byte("name: mine\ndata: /var/lib/divan\n"), 0o640) //nolint:gosec // as installed
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFile(filepath.Join(tree, "var/lib/divan/kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dpkg("-i", debs[0]) // an upgrade keeps the settings
	if text, err := os.ReadFile(settings); err != nil || !strings.HasPrefix(string(text), "name: mine\n") {
		t.Errorf("after an upgrade the settings are %s, %v", text, err)
	}
	dpkg("-r", "divan")
	if text := dpkg("--purge", "divan"); !strings.Contains(text, "the data is still in /var/lib/divan") {
		t.Errorf("purge says %s", text)
	}
	for name, there := range map[string]bool{"usr/bin/divan": false, "etc/divan/node.yaml": false,
		"var/lib/divan/kept": true} {
		if _, err := os.Stat(filepath.Join(tree, name)); (err == nil) != there {
			t.Errorf("%s after purge: %v", name, err)
		}
	}
}

// runService runs what the unit says, with the paths of the tree.
func runService(t *testing.T, tree string) {
	t.Helper()
	unit := filepath.Join(tree, "usr/lib/systemd/system/divan.service")
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	command := func(key string) *exec.Cmd {
		found := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindStringSubmatch(string(text))
		if found == nil {
			t.Fatalf("the unit has no %s", key)
		}
		words := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(found[1], "/usr/", tree+"/usr/"), "/etc/",
			tree+"/etc/"))
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...) //nolint:gosec // of our own unit
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"DIVAN_DATA=" + filepath.Join(tree, "var/lib/divan"), "DIVAN_HTTP=127.0.0.1:0",
			"DIVAN_SQL=127.0.0.1:0", "DIVAN_GOSSIP=127.0.0.1:0"}
		return cmd
	}
	if said, err := command("ExecStartPre").CombinedOutput(); err != nil || !strings.Contains(string(said),
		"/etc/divan/node.yaml: ok\nengine embedded, store in ") {
		t.Errorf("check: %v, %s", err, said)
	}
	served(t, command("ExecStart"))
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return
	}
	// Its status counts missing programs too.
	said, _ := exec.CommandContext(t.Context(), analyze, "verify", unit).CombinedOutput() //nolint:gosec // our own file
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "divan.service") && !strings.Contains(line, "is not executable") {
			t.Errorf("systemd-analyze: %s", line)
		}
	}
}

// The steps of the Containerfile give a root directory in which the program runs without anything else. RUN installs
// certificates, which are taken from this machine, and makes directories.
func TestContainerfile(t *testing.T) {
	out, image := made(t), t.TempDir()
	text, err := os.ReadFile(filepath.Join(out, "container", "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	stages := strings.Split(string(text), "\nFROM ")
	if len(stages) != 3 || !strings.HasPrefix(stages[2], "scratch\n") {
		t.Fatalf("%d stages", len(stages))
	}
	if !strings.Contains(stages[1], "RUN install -d -m 0700 /new/data\n") {
		t.Error("the first stage does not make /new/data")
	}
	copies := map[string]string{
		"/etc/ssl/certs/ca-certificates.crt": "/etc/ssl/certs/ca-certificates.crt",
		"divan-linux-${TARGETARCH}":          filepath.Join(out, "container", "divan-linux-"+runtime.GOARCH),
	}
	var env []string
	var entry string
	for line := range strings.Lines(stages[2]) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "COPY":
			from, to := words[len(words)-2], filepath.Join(image, words[len(words)-1])
			if from == "/new/data" {
				if err := os.MkdirAll(to, 0o700); err != nil {
					t.Fatal(err)
				}
				continue
			}
			source, ok := copies[from]
			if !ok {
				t.Fatalf("nobody makes %s", from)
			}
			if _, err := os.Stat(source); err != nil {
				skip(t, "there is no "+source+"; on Debian it is in the package ca-certificates")
			}
			if err := copyFile(source, to, 0o755); err != nil {
				t.Fatal(err)
			}
			delete(copies, from)
		case words[0] == "ENV":
			env = append(env, words[1:]...)
		case words[0] == "ENTRYPOINT":
			entry = strings.Trim(words[1], `[]"`)
		case words[0] == "HEALTHCHECK":
			if line != `HEALTHCHECK CMD ["/divan", "status", "-up"]`+"\n" {
				t.Errorf("another check: %s", line)
			}
		}
	}
	if len(copies) > 0 || entry != "/divan" {
		t.Errorf("not copied: %v; it runs %s", copies, entry)
	}
	run := func(more ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), entry)
		cmd.Env = append(append([]string{}, env...), more...)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Getgid(), Size: 1}}}
		return cmd
	}
	said, err := run().CombinedOutput()
	var exit *exec.ExitError
	switch {
	case !errors.As(err, &exit):
		skip(t, fmt.Sprintf("this machine allows no containers: %v", err))
	case exit.ExitCode() != 2 || !strings.Contains(string(said), "there is no admin"):
		t.Errorf("without an admin: %v, %s", err, said)
	}
	served(t, run("DIVAN_ADMIN=anna:secret", "DIVAN_HTTP=127.0.0.1:0", "DIVAN_SQL=127.0.0.1:0",
		"DIVAN_GOSSIP=127.0.0.1:0"))
}

// The service starts when the package is installed, and an upgrade restarts it only if it runs, and never enables one
// that the operator has disabled.
func TestMaintainerScripts(t *testing.T) {
	tree, tools := t.TempDir(), t.TempDir()
	said := filepath.Join(tools, "said")
	for _, name := range []string{"adduser", "chown", "install", "chmod", "getent", "systemctl"} {
		script := "#!/bin/sh\nexit 0\n"
		if name == "systemctl" {
			script = "#!/bin/sh\necho \"$@\" >>" + said + "\n"
		}
		if err := writeFile(filepath.Join(tools, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(tree, "etc/systemd/system/multi-user.target.wants/divan.service")
	for _, dir := range []string{filepath.Dir(link), filepath.Join(tree, "run/systemd/system")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeFile(link, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script string
		args   []string
		want   string // what systemctl is told
	}{
		{"postinst", []string{"configure", ""}, "daemon-reload\nenable --now divan.service\n"},
		{"prerm", []string{"upgrade", "0.3.0"}, ""},
		{"postinst", []string{"configure", "0.2.0"}, "daemon-reload\ntry-restart divan.service\n"},
		{"postinst", []string{"abort-upgrade", "0.3.0"}, ""},
		{"prerm", []string{"remove"}, "stop divan.service\n"},
		{"postrm", []string{"remove"}, "daemon-reload\n"},
		{"postrm", []string{"purge"}, "daemon-reload\n"},
	} {
		if _, err := os.Stat(link); err != nil {
			t.Errorf("before %s %q the service is not enabled any more", c.script, c.args)
		}
		text, err := os.ReadFile(filepath.Join("debian", c.script))
		if err != nil {
			t.Fatal(err)
		}
		here := strings.NewReplacer("/run/systemd/system", tree+"/run/systemd/system", `"$DPKG_ROOT/`, `"`+tree+"/")
		//nolint:gosec // our own scripts
		cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", here.Replace(string(text)), c.script},
			c.args...)...)
		cmd.Env = []string{"PATH=" + tools + ":" + os.Getenv("PATH"), "DPKG_ROOT="}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s %q: %v\n%s", c.script, c.args, err, out)
		}
		got, _ := os.ReadFile(said)
		if string(got) != c.want {
			t.Errorf("%s %q tells systemctl %q, want %q", c.script, c.args, got, c.want)
		}
		_ = os.Remove(said)
	}
	if _, err := os.Stat(link); !os.IsNotExist(err) {
		t.Errorf("after purge the service is still enabled: %v", err)
	}
}
