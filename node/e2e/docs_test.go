//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/divandb/divan/scripts/fixtures"
)

const (
	docsRoot = "../.."
	// docsPatience is how long a block may take.
	docsPatience = 2 * time.Minute
)

// docsPages are the pages whose commands are run: all of them.
func docsPages(t *testing.T) (pages []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(docsRoot, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	return pages
}

// Every command in the documentation works: each page is read from top to bottom, and what is in its code blocks is
// run, in a directory that looks like a clone. A comment before a block, or on its own, says what a reader sees by
// himself:
//
//	<!-- test: node -admin a:b -->  a node runs from here on, until the next such comment
//	<!-- test: stop -->             the node is stopped
//	<!-- test: demo -->             a demo of one node runs from here on
//	<!-- test: also NAME a:b -->    another node runs, on the ports after those of the first
//	<!-- test: database NAME -->    of the SQL blocks from here on
//	<!-- test: run COMMAND -->      a command that prepares what follows
//	<!-- test: background TEXT -->  the next block goes on, and prints TEXT when it is ready
//	<!-- test: file NAME -->        the next block is the file
//	<!-- test: prints TEXT -->      the next block prints that
//	<!-- test: skip REASON -->      the next block is not run
//
// Blocks of sh are run by bash, those of sql by psql, and those of yaml must be settings. All others need a comment,
// except blocks without a language, which show what is printed.
func TestDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some nodes")
	}
	needEmbedded(t)
	for _, program := range []string{"bash", "curl", "psql", "node", "python3"} {
		need(t, program, "the documentation uses it")
	}
	if _, err := fixtures.Modules(); err != nil {
		skip(t, "npm packages: %v", err)
	}
	ran := 0
	for _, page := range docsPages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := docsSteps(string(text))
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		if !slices.ContainsFunc(steps, func(s docsStep) bool { return s.block != nil }) {
			continue
		}
		ran++
		t.Run(strings.TrimPrefix(page, docsRoot+"/"), func(t *testing.T) {
			t.Parallel()
			d := newDocsRun(t)
			if strings.Contains(string(text), "import psycopg\n") && d.command(t.Context(),
				"python3 -c 'import psycopg'").Run() != nil {
				skip(t, "Python has no psycopg; on Debian it is in the package python3-psycopg")
			}
			for i := range steps {
				if !d.step(&steps[i]) {
					t.Fatalf("line %d: what follows is not tried", steps[i].line)
				}
			}
		})
	}
	if ran < 5 {
		t.Errorf("only %d pages have commands", ran)
	}
}

// docsStep is a code block, or a comment on its own.
type docsStep struct {
	line  int
	words map[string]string // of the comments before it: the first word, and the rest
	block []string          // its lines; nil for a comment on its own
	lang  string
}

var (
	docsComment = regexp.MustCompile(`^\s*<!-- test: (\w+) ?(.*?) -->\s*$`)
	docsAlone   = []string{"node", "also", "stop", "demo", "database", "run"}
	docsBefore  = []string{"background", "file", "prints", "skip"}
)

// docsSteps reads a page.
func docsSteps(page string) (steps []docsStep, err error) {
	before := map[string]string{}
	var open *docsStep
	indent := 0
	for i, line := range strings.Split(page, "\n") {
		trimmed := strings.TrimSpace(line)
		fence := strings.HasPrefix(trimmed, "```")
		comment := docsComment.FindStringSubmatch(line)
		switch {
		case open != nil && fence:
			steps, open = append(steps, *open), nil
		case open != nil:
			open.block = append(open.block, line[min(indent, len(line)-len(strings.TrimLeft(line, " "))):])
		case fence:
			open = &docsStep{line: i + 1, words: before, lang: strings.TrimPrefix(trimmed, "```"), block: []string{}}
			indent, before = strings.Index(line, "`"), map[string]string{}
		case comment != nil && slices.Contains(docsAlone, comment[1]):
			steps = append(steps, docsStep{line: i + 1, words: map[string]string{comment[1]: comment[2]}})
		case comment != nil && slices.Contains(docsBefore, comment[1]):
			before[comment[1]] = comment[2]
		case comment != nil:
			return nil, fmt.Errorf("line %d: no test knows %q", i+1, comment[1])
		case len(before) > 0 && trimmed != "":
			return nil, fmt.Errorf("line %d: a comment for the test is not before a block", i+1)
		}
	}
	if open != nil || len(before) > 0 {
		return nil, fmt.Errorf("the last block does not end")
	}
	return steps, nil
}

// Comments and blocks are found, and faults in them are not passed over.
func TestDocsSteps(t *testing.T) {
	steps, err := docsSteps("text\n<!-- test: node -name x -->\n\n1. item\n\n   <!-- test: prints a --> \n" +
		"   <!-- test: background b -->\n   ```sh\n   one\n     two\n   ```\n```\nshown\n```\n")
	if err != nil || len(steps) != 3 || steps[0].words["node"] != "-name x" || steps[1].words["background"] != "b" ||
		strings.Join(steps[1].block, "|") != "one|  two" || steps[1].line != 8 || steps[2].lang != "" {
		t.Errorf("%+v, %v", steps, err)
	}
	for _, bad := range []string{"<!-- test: nonsense -->\n", "<!-- test: skip it -->\ntext\n", "```sh\nopen\n",
		"<!-- test: skip it -->\n"} {
		if steps, err := docsSteps(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, steps)
		}
	}
}

// docsRun is the shell of someone who reads a page. Its variables and directory are kept in files between blocks.
type docsRun struct {
	t        *testing.T
	dir      string // a clone
	home     string // files that are none of the reader's
	ports    map[string]string
	running  []docsProcess
	goEnv    []string
	database string
}

// docsPorts are the ports in the documentation, each of which becomes a free one.
var docsPorts = []string{"5984", "5433", "7946", "5985", "5434", "7956", "7945", "8000"}

// docsHosts are the other machines in the documentation, and where this test has them.
var docsHosts = map[string]string{"@old:5984": "@127.0.0.1:5984", "@new:5984": "@127.0.0.1:5985",
	"@other:5984": "@127.0.0.1:5985", "@couch:5984": "@127.0.0.1:5985"}

func newDocsRun(t *testing.T) *docsRun {
	t.Helper()
	d := &docsRun{t: t, dir: t.TempDir(), home: t.TempDir(), ports: map[string]string{}}
	for _, port := range docsPorts {
		// Each has room for what a demo of three nodes puts beside it.
		d.ports[port] = fmt.Sprint(1 + portsInRow(t, 0, 1, 2, 3, 11, 12, 21, 22))
	}
	root, err := filepath.Abs(docsRoot)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"node", "scripts", "docs", "layer", "query", "actors", "cluster", "go.mod", "go.sum"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(d.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	binary, err := filepath.Abs(divan)
	if err != nil {
		t.Fatal(err)
	}
	// The demo is small, and on free ports.
	wrapper := fmt.Sprintf("#!/bin/bash\nif [ \"$1\" = demo ]; then shift; exec %q demo -documents 2000 -http-port %s "+
		"-sql-port %s -gossip-port %s \"$@\"; fi\nexec %q \"$@\"\n", binary, d.ports["5984"], d.ports["5433"],
		d.ports["7946"], binary)
	d.write(filepath.Join(d.dir, "bin", "divan"), wrapper, 0o755)
	d.write(filepath.Join(d.home, "bin", "divan"), wrapper, 0o755)
	// The program is there already, and so are the packages of npm.
	d.write(filepath.Join(d.home, "bin", "go"), fmt.Sprintf("#!/bin/bash\ncase \"$*\" in\n"+
		"\"build -o bin/divan ./node/cmd/divan\") exit 0 ;;\n"+
		"\"run ./node/cmd/divan\"*) shift 2; exec %q \"$@\" ;;\nesac\nPATH=${PATH#*:}\n"+
		"case \"$*\" in\n\"run ./scripts/examples/\"*) go build -C %q -o %q \"$2\" && shift 2 && exec %[3]q \"$@\" ;;\n"+
		"esac\nexec go \"$@\"\n", filepath.Join(d.home, "bin", "divan"), root, filepath.Join(d.home, "example")), 0o755)
	if _, err := os.Stat("/usr/bin/python3"); err == nil { // Debian's, which has the packages that CI installs
		d.write(filepath.Join(d.home, "bin", "python3"), "#!/bin/bash\nexec /usr/bin/python3 \"$@\"\n", 0o755)
	}
	for _, name := range []string{"GOPATH", "GOCACHE", "GOMODCACHE"} { // of the real home
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		d.goEnv = append(d.goEnv, name+"="+strings.TrimSpace(string(out)))
	}
	d.write(filepath.Join(d.home, "bin", "npm"), "#!/bin/bash\n[ \"$1\" = install ] || exit 1\nshift\n"+
		"for p; do [ -d \"$NODE_PATH/$p\" ] || { echo \"$p is not in scripts/fixtures/package.json\"; exit 1; }; done\n",
		0o755)
	d.write(filepath.Join(d.home, ".curlrc"), "silent\nshow-error\nfail-with-body\n", 0o600)
	t.Cleanup(d.stop)
	return d
}

func (d *docsRun) write(name, text string, mode os.FileMode) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		d.t.Fatal(err)
	}
}

// here replaces the ports of the documentation by those of this test.
func (d *docsRun) here(text string) string {
	for host, at := range docsHosts {
		text = strings.ReplaceAll(text, host, at)
	}
	for from, to := range d.ports {
		text = regexp.MustCompile(`\b`+from+`\b`).ReplaceAllString(text, to)
	}
	return text
}

// step does what a step says, and reports whether the next one can be tried.
func (d *docsRun) step(s *docsStep) bool {
	d.t.Helper()
	if s.block == nil {
		return d.alone(s)
	}
	text := d.here(strings.Join(s.block, "\n") + "\n")
	if reason, ok := s.words["skip"]; ok {
		if len(reason) < 10 {
			d.t.Errorf("line %d: a block is not run without a reason", s.line)
		}
		return true
	}
	if name, ok := s.words["file"]; ok {
		d.write(filepath.Join(d.dir, name), text, 0o700)
		return true
	}
	switch s.lang {
	case "":
		return true
	case "sh":
	case "sql":
		if d.database == "" {
			d.t.Errorf("line %d: in which database?", s.line)
			return false
		}
		file := filepath.Join(d.home, "block.sql")
		d.write(file, text, 0o600)
		text = fmt.Sprintf("psql -X -v ON_ERROR_STOP=1 -h 127.0.0.1 -p %s -d %s -f %q\n", d.ports["5433"], d.database, file)
	case "yaml":
		file := filepath.Join(d.home, "node.yaml")
		d.write(file, text, 0o600)
		// Status 1 is that of settings for a machine that is not this one.
		text = fmt.Sprintf("said=$(env -u DIVAN_HTTP -u DIVAN_SQL -u DIVAN_GOSSIP divan check -config %q -admin a:b) ||"+
			"[ $? = 1 ]\ngrep ': ok$' <<<\"$said\"\n", file)
	default:
		d.t.Errorf("line %d: a block of %s is neither run nor has a reason", s.line, s.lang)
		return true
	}
	if ready, ok := s.words["background"]; ok {
		return d.background(s.line, text, ready)
	}
	return d.bash(s.line, text, s.words["prints"])
}

// alone does what a comment on its own says.
func (d *docsRun) alone(s *docsStep) bool {
	d.t.Helper()
	for word, rest := range s.words {
		switch word {
		case "node":
			d.stop()
			return d.background(s.line, "divan "+d.here(rest), "divan ready")
		case "also":
			name, admin, _ := strings.Cut(rest, " ")
			return d.background(s.line, d.here("divan -data data-of-another -http 127.0.0.1:5985 -sql 127.0.0.1:5434 "+
				"-gossip 127.0.0.1:7956 -name "+name+" -admin "+admin), "divan ready")
		case "demo":
			d.stop()
			return d.background(s.line, "divan demo "+rest, "Ctrl-C")
		case "stop":
			d.stop()
		case "database":
			d.database = rest
		case "run":
			return d.bash(s.line, d.here(rest)+"\n", "")
		}
	}
	return true
}

// command returns bash with the reader's environment.
func (d *docsRun) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Dir = d.dir
	modules, _ := fixtures.Modules() // npm says what is missing
	cmd.Env = append(withoutDivan(os.Environ()), "HOME="+d.home,
		"PATH="+filepath.Join(d.home, "bin")+":"+os.Getenv("PATH"),
		"NODE_PATH="+modules, "DIVAN_HTTP=127.0.0.1:"+d.ports["5984"], "DIVAN_SQL=127.0.0.1:"+d.ports["5433"],
		"DIVAN_GOSSIP=127.0.0.1:"+d.ports["7946"], "PGCONNECT_TIMEOUT=10",
		"PGUSER=anna", "PGPASSWORD=secret")
	cmd.Env = append(cmd.Env, d.goEnv...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// bash runs a block.
func (d *docsRun) bash(line int, text, prints string) bool {
	d.t.Helper()
	kept := filepath.Join(d.home, "variables")
	ctx, cancel := context.WithTimeout(d.t.Context(), docsPatience)
	defer cancel()
	script := fmt.Sprintf("[ ! -e %[1]q ] || . %[1]q\n%[2]s\nexport -p >%[1]q", kept, text)
	out, err := d.command(ctx, script).CombinedOutput()
	if err != nil || !strings.Contains(string(out), d.here(prints)) {
		d.t.Errorf("line %d: %v, and it should print %q:\n%s\nprinted:\n%.4000s", line, err, prints, text, out)
		return false
	}
	return true
}

// background starts a block that goes on, and waits until it is ready.
func (d *docsRun) background(line int, text, ready string) bool {
	d.t.Helper()
	kept := filepath.Join(d.home, "variables")
	// The test's context ends before its cleanup, which stops the process as Ctrl-C does.
	ctx := context.WithoutCancel(d.t.Context())
	cmd := d.command(ctx, fmt.Sprintf("[ ! -e %[1]q ] || . %[1]q\n%[2]s", kept, text))
	out, errors := newLines(), newLines()
	cmd.Stdout, cmd.Stderr = out, errors
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	p := docsProcess{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the status of a shell that was interrupted says nothing
		out.end()
		errors.end()
		close(p.ended)
	}()
	d.running = append(d.running, p)
	for {
		said, err := out.next(startTimeout)
		if err != nil {
			d.t.Errorf("line %d: %s\nis not ready: %v\n%s\n%s", line, text, err, out, errors)
			return false
		}
		if strings.Contains(said, ready) {
			return true
		}
	}
}

// docsProcess runs in the background, in a process group of its own.
type docsProcess struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has
}

// stop ends what runs in the background, as Ctrl-C does.
func (d *docsRun) stop() {
	for _, p := range slices.Backward(d.running) {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT) // it may have ended
		select {
		case <-p.ended:
		case <-time.After(20 * time.Second):
			d.t.Errorf("%q does not stop", p.cmd.Args)
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			<-p.ended
		}
	}
	d.running = nil
}
