package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestProgram_ReadyLine(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			p := start(t, dir, "-name", "one")
			want := regexp.MustCompile(`^name=one http=127\.0\.0\.1:\d+ sql=127\.0\.0\.1:\d+ gossip=127\.0\.0\.1:\d+ data=` +
				regexp.QuoteMeta(dir) + `/data engine=` + engine() + `$`)
			line := strings.TrimPrefix(strings.SplitN(p.stdout.String(), "\n", 2)[0], "divan ready ")
			if !want.MatchString(line) {
				t.Errorf("ready line %q", line)
			}
			for _, port := range []string{"http", "sql", "gossip"} {
				conn, err := net.DialTimeout("tcp", p.ready[port], time.Second)
				if err != nil {
					t.Errorf("%s does not answer: %v", port, err)
					continue
				}
				conn.Close()
			}
			p.stop(sig)
		})
	}
}

// A name cannot move the cursor of the terminal where the node is started.
func TestProgram_StrangeName(t *testing.T) {
	p := start(t, t.TempDir(), "-name", "a\u009b2J\u202eb")
	if line := p.stdout.String(); !strings.HasPrefix(line, `divan ready name="a\u009b2J\u202eb" http=127.0.0.1:`) {
		t.Errorf("ready line %q", line)
	}
	p.stop(syscall.SIGTERM)
}

// Endless feeds must not delay the end of the process.
func TestProgram_StopsUnderLoad(t *testing.T) {
	p := start(t, t.TempDir())
	c := p.client()
	c.ok("PUT", "/db", "")
	feed := c.stream("/db/_changes?feed=continuous&heartbeat=1000")
	defer feed.Close()
	long := c.stream("/db/_changes?feed=longpoll&since=now&heartbeat=1000")
	defer long.Close()
	conn, err := net.Dial("tcp", p.ready["sql"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() // a client that never sends anything
	p.stop(syscall.SIGTERM)
}

func TestProgram_Environment(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "node.yaml")
	text := "name: file\nhttp: {listen: '127.0.0.1:0'}\nsql: {listen: '127.0.0.1:0'}\ncluster: {gossip: " +
		"'127.0.0.1:0'}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, dir) // node.yaml and data in the working directory
	p.waitReady()
	if p.ready["name"] != "file" || p.ready["data"] != "./data" {
		t.Errorf("ready with %v", p.ready)
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err != nil {
		t.Error(err)
	}
	p.stop(syscall.SIGTERM)
}

// A node that cannot start prints one clear line, and exits with the status in docs/clauses.md.
func TestProgram_RefusesToStart(t *testing.T) {
	dir := t.TempDir()
	running := start(t, dir)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	notADir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notADir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	badConfig := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(badConfig, []byte("storag:\n  engine: x\nhttp:\n  listen: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sealed := filepath.Join(t.TempDir(), "sealed")
	if err := os.Mkdir(sealed, 0o000); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string // each a substring of the line with its index
		rooted bool     // root may do what makes the node fail
		lone   bool     // only a node with an embedded store, or a binary without FoundationDB, fails
	}{
		{name: "http port in use", args: []string{"-http", taken.Addr().String()}, status: 1,
			says: []string{"http: " + taken.Addr().String() + " is in use"}},
		{name: "sql port in use", args: []string{"-sql", taken.Addr().String()}, status: 1,
			says: []string{"sql: " + taken.Addr().String() + " is in use"}},
		{name: "gossip port in use", args: []string{"-gossip", taken.Addr().String()}, status: 1,
			says: []string{"gossip"}},
		{name: "data directory in use", args: []string{"-data", running.ready["data"]}, status: 1,
			says: []string{"in use by another process"}, lone: true},
		{name: "data directory is a file", args: []string{"-data", notADir}, status: 1, says: []string{notADir}},
		{name: "data directory unreadable", args: []string{"-data", sealed}, status: 1, says: []string{sealed},
			rooted: true},
		{name: "all faults of the configuration", args: []string{"-config", badConfig, "-name", "a b"}, status: 2,
			says: []string{
				badConfig + ":1: unknown setting storag (did you mean storage?)", badConfig +
					":4: http.listen: expected a string", "-name",
			}},
		{name: "open to the world without an admin", args: []string{"-http", "0.0.0.0:0"}, status: 2,
			says: []string{"there is no admin"}},
		{name: "fdb without the tag", args: []string{"-config", writeYAML(t, "storage: {engine: fdb}\n")}, status: 1,
			says: []string{"-tags fdb"}, lone: true},
		{name: "unknown command", args: []string{"frobnicate"}, status: 2, says: []string{`frobnicate`}},
		{name: "unknown flag", args: []string{"-frobnicate"}, status: 2, says: []string{"-frobnicate"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.rooted && os.Getuid() == 0 {
				t.Skip("root reads every directory")
			}
			if c.lone {
				needEmbedded(t)
			}
			args := append([]string{}, c.args...)
			if c.status == 1 {
				args = append(append([]string{"-data", t.TempDir()}, freePorts...), args...)
			}
			p := launch(t, t.TempDir(), args...)
			if code := p.wait(startTimeout); code != c.status {
				t.Errorf("exit status %d, want %d", code, c.status)
			}
			if out := p.stdout.rest(); out != "" {
				t.Errorf("standard output: %q", out)
			}
			text := strings.TrimSpace(p.stderr.whole())
			got := strings.Split(text, "\n")
			if c.status == 1 && len(got) != 1 {
				t.Errorf("not one line:\n%s", text)
			}
			for i, want := range c.says {
				if i >= len(got) || !strings.Contains(got[i], want) {
					t.Errorf("line %d does not say %q:\n%s", i+1, want, text)
				}
			}
		})
	}
	if !running.running() {
		t.Error("the node that has the directory ended")
	}
}

// The level of the log can be changed while the node runs, on all nodes and for later starts.
func TestProgram_LogLevel(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	c := p.client()
	shows := func(p *process, what string) bool {
		c := p.client()
		c.ok("GET", "/_all_dbs?"+what, "")
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if strings.Contains(p.stderr.whole(), `"path":"/_all_dbs"`) {
				return true
			}
		}
		return false
	}
	if value := c.ok("GET", "/_node/_local/_config/log/level", ""); value != "info" || shows(p, "first") {
		t.Errorf("level %v, or requests are logged at first", value)
	}
	if old := c.ok("PUT", "/_node/_local/_config/log/level", `"debug"`); old != "info" {
		t.Errorf("the level was %v", old)
	}
	if !shows(p, "second") {
		t.Error("requests are not logged at level debug")
	}
	p.stop(syscall.SIGTERM)
	p = start(t, dir)
	if !shows(p, "third") {
		t.Error("requests are not logged after a restart")
	}
	p.client().ok("DELETE", "/_node/_local/_config/log/level", "")
	if value := p.client().ok("GET", "/_node/_local/_config/log/level", ""); value != "info" {
		t.Errorf("afterwards the level is %v", value)
	}
}

func writeYAML(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestProgram_Commands(t *testing.T) {
	hash := strings.TrimSpace(output(t, "relax\n", 0, "hash-password"))
	if !strings.HasPrefix(hash, "SCRAM-SHA-256$100000:") {
		t.Errorf("hash-password prints %q", hash)
	}
	slow := output(t, "relax\n", 0, "hash-password", "-iterations", "600000")
	if !strings.HasPrefix(slow, "SCRAM-SHA-256$600000:") {
		t.Errorf("hash-password prints %q", slow)
	}
	for _, bad := range [][]string{{"-iterations", "4095"}, {"-iterations", "many"}, {"relax"}, {"-rounds", "5"}} {
		if out := output(t, "relax\n", 2, append([]string{"hash-password"}, bad...)...); out != "" {
			t.Errorf("hash-password %s prints %q", bad, out)
		}
	}
	if out := output(t, "", 2, "hash-password"); out != "" {
		t.Errorf("without a password it prints %q", out)
	}
	version := output(t, "", 0, "version")
	if !regexp.MustCompile(`^divan \d+\.\d+\.\d+\S*\ncommit +\S.*\nbuilt .*/.*\nengines +embedded, remote.*fdb.*\n` +
		`data +format \d+, in files of the embedded engine of format \d+; ` +
		`opens data of format 1 to \d+\n$`).MatchString(version) {
		t.Errorf("version prints %q", version)
	}
	for _, c := range [][]string{{"--version"}, {"-version"}} {
		if out := output(t, "", 0, c...); out != version {
			t.Errorf("%q prints %q", c, out)
		}
	}
	for _, c := range []string{"check", "demo", "export", "hash-password", "import-couchdb", "status", "verify"} {
		if out := output(t, "", 0, "help", c); out == "" || out != output(t, "", 0, c, "-help") {
			t.Errorf("help %s prints %q", c, out)
		}
	}
	if out := output(t, "", 2, "help", "nonsense"); out != "" {
		t.Errorf("help about nonsense prints %q", out)
	}
	// 1 would say that something is wrong with the data or the cluster.
	for _, c := range []string{"verify", "status"} {
		for _, where := range []string{"DIVAN_URL=nonsense", "DIVAN_URL_FILE=/missing"} {
			p := launchBinary(t, "env", nil, t.TempDir(), where, divan, c)
			if got := p.wait(startTimeout); got != 2 {
				t.Errorf("%s %s ends with %d: %s", where, c, got, p.stderr)
			}
		}
	}
	settings, err := exec.Command(divan, "help", "settings").Output() // more lines than output keeps
	if file := writeYAML(t, string(settings)); err != nil ||
		!strings.HasPrefix(output(t, "", 0, "check", "-config", file), file+": ok") {
		t.Errorf("check refuses the settings that help prints, %v", err)
	}
	good := writeYAML(t, "admins:\n  anna: "+hash+"\n")
	if out := output(t, "", 0, "check", "-config", good); !strings.Contains(out, good) {
		t.Errorf("check prints %q", out)
	}
	if out := output(t, "", 2, "check", "-config", writeYAML(t, "nam: x\n")); out != "" {
		t.Errorf("check of a bad file prints %q", out)
	}
	for _, help := range []string{"help", "-h", "-help", "--help"} {
		out := output(t, "", 0, help)
		for _, want := range []string{"hash-password", "-config", "DIVAN_HTTP"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not mention %s", help, want)
			}
		}
	}

	p := start(t, t.TempDir(), "-config", good)
	if status := p.client().status("GET", "/_session?basic=true", ""); status != 401 {
		t.Errorf("without a password: %d", status)
	}
	if status := p.as("anna:relax").status("GET", "/_session?basic=true", ""); status != 200 {
		t.Errorf("with the password that was hashed: %d", status)
	}
	p.stop(syscall.SIGTERM)
}

// output runs the binary to its end and returns its standard output.
func output(t *testing.T, input string, status int, args ...string) string {
	t.Helper()
	p := launchWith(t, strings.NewReader(input), t.TempDir(), args...)
	if code := p.wait(startTimeout); code != status {
		t.Errorf("%q exits with %d, want %d; standard error:\n%s", args, code, status, p.stderr)
	}
	return p.stdout.String()
}

// divan check describes the directory of an embedded store, even while a process has it open, and does not change it.
func TestProgram_CheckEmbedded(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte("storage: {engine: embedded}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	check := func(when, want string, status int) (said string) {
		t.Helper()
		p := launch(t, dir, "check")
		if code := p.wait(startTimeout); code != status || !strings.Contains(p.stdout.String(), want) ||
			!strings.Contains(p.stdout.String(), "GB free") {
			t.Errorf("%s: check exits with %d and prints %q, want %d and %q", when, code, p.stdout, status, want)
		}
		return p.stderr.whole()
	}
	files := func() (all []string) {
		t.Helper()
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			info, infoErr := d.Info()
			if err = errors.Join(err, infoErr); err == nil {
				all = append(all, fmt.Sprintf("%s %d %v", path, info.Size(), info.ModTime()))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	unchanged := func(when string, before []string) {
		t.Helper()
		if now := files(); !slices.Equal(now, before) {
			t.Errorf("%s: check changed %q to %q", when, before, now)
		}
	}
	before := files()
	check("at first", "does not exist yet", 0)
	unchanged("at first", before)
	p := start(t, dir)
	check("while a node runs", fmt.Sprintf("in use by process %d", p.cmd.Process.Pid), 0)
	if status := p.client().status("PUT", "/db", ""); status != 201 {
		t.Errorf("after the check: %d", status)
	}
	p.stop(syscall.SIGTERM)
	before = files()
	check("after it", "or later, not in use", 0)
	unchanged("after it", before)

	manifests, err := filepath.Glob(filepath.Join(dir, "data", "store", "*MANIFEST-*")) // and its copy
	if err != nil || len(manifests) == 0 {
		t.Fatalf("no manifest: %v", err)
	}
	for _, manifest := range manifests {
		if err := os.Truncate(manifest, 20); err != nil {
			t.Fatal(err)
		}
	}
	said := check("with a damaged manifest", "the engine's files have format", 1)
	if !strings.Contains(said, "damaged") {
		t.Errorf("check of a damaged store says %q", said)
	}
}

// divan check prints where the data would be, and fails if a node could not open the store.
func TestProgram_CheckStorage(t *testing.T) {
	check := func(dir string) (status int, p *process) {
		p = launch(t, dir, "check")
		return p.wait(startTimeout), p
	}
	// In the working directory, so that it is not given another store (storeEnvironment).
	dir := t.TempDir()
	settings := func(cluster, directory string) {
		t.Helper()
		text := fmt.Sprintf("storage: {engine: fdb, cluster_file: '%s', directory: '%s'}\n", cluster, directory)
		if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dead := filepath.Join(t.TempDir(), "fdb.cluster")
	if err := os.WriteFile(dead, []byte("no:body@127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings(dead, "a/b")
	status, p := check(dir)
	if status != 1 || !strings.Contains(p.stdout.String(), "directory a/b") {
		t.Errorf("check of a dead cluster exits with %d and prints %q", status, p.stdout)
	}
	if said := p.stderr.whole(); !strings.Contains(said, "does not answer") &&
		!strings.Contains(said, "scripts/build-fdb") {
		t.Errorf("check of a dead cluster says %q", said)
	}
	if testCluster == "" {
		return
	}
	settings(testCluster, storeDirectory(dir))
	if status, p := check(dir); status != 0 || !strings.Contains(p.stdout.String(), "does not exist yet") {
		t.Errorf("check before the first node exits with %d and prints %q", status, p.stdout)
	}
	start(t, dir).stop(syscall.SIGTERM)
	if status, p := check(dir); status != 0 || !strings.Contains(p.stdout.String(), "exists with prefix") {
		t.Errorf("check after the first node exits with %d and prints %q", status, p.stdout)
	}
}

// A byte of the log on disk has changed: the node does not start, and prints why on one line.
func TestProgram_Damage(t *testing.T) {
	needEmbedded(t)
	dir := t.TempDir()
	p := start(t, dir)
	p.client().ok("PUT", "/db", "")
	for i := range 50 {
		p.client().ok("PUT", fmt.Sprintf("/db/%d", i), `{"text":"`+strings.Repeat("x", 3000)+`"}`)
	}
	p.stop(syscall.SIGTERM)
	logs, err := filepath.Glob(filepath.Join(dir, "data", "store", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal("no log", err)
	}
	file := logs[len(logs)-1]
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[20_000] ^= 1
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p = launch(t, dir, append([]string{"-data", dir + "/data"}, freePorts...)...)
	if status := p.wait(startTimeout); status != 1 {
		t.Errorf("the node exits with %d", status)
	}
	if !regexp.MustCompile(`(?m)^divan: .*the store in .* is damaged: .*; restore a backup`).MatchString(
		p.stderr.whole()) {
		t.Errorf("it says:\n%s", p.stderr)
	}
}
