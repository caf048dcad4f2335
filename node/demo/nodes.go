package demo

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	startWithin = 20 * time.Second
	// stopWithin is longer than a node takes to stop (docs/clauses.md, "Program").
	stopWithin = 7 * time.Second
)

// member is a node of the demo: a process of its own.
type member struct {
	name      string
	directory string // has node.yaml, log and the data
	process   *exec.Cmd
	ready     map[string]string // the fields of its ready line
	line      string            // the ready line
	hasStore  bool              // the other nodes use its store
	// ended is closed when the process has ended.
	ended chan struct{}
	how   string // how it ended; set before ended is closed
}

// url returns the address of the member's HTTP listener.
func (m *member) url() string { return "http://" + m.ready["http"] }

// alive reports whether the process runs.
func (m *member) alive() bool {
	select {
	case <-m.ended:
		return false
	default:
		return true
	}
}

// secretFile is the file of the secret in a demo's directory. Everything else there are directories of nodes.
const secretFile = "secret"

// secretOf returns the secret that the nodes of a directory share, which it makes at the first start.
func secretOf(directory string) (string, error) {
	file := filepath.Join(directory, secretFile)
	text, err := os.ReadFile(file)
	if err == nil && len(text) > 0 {
		return strings.TrimSpace(string(text)), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	random := make([]byte, 24)
	if _, err := rand.Read(random); err != nil {
		return "", err
	}
	secret := hex.EncodeToString(random)
	return secret, os.WriteFile(file, []byte(secret), 0o600)
}

// settings returns the node.yaml of the i-th of n nodes, counted from 1. The first one has the store and serves it to
// the others, unless they all use FoundationDB.
func settings(o *Options, i int, directory, secret string) string {
	var b strings.Builder
	store := o.Ports.address(o.Ports.Gossip - 1)
	first := o.Ports.address(o.Ports.Gossip)
	fmt.Fprintf(&b, "name: node%d\n", i)
	fmt.Fprintf(&b, "data: %s\n", strconv.Quote(filepath.Join(directory, strconv.Itoa(i))))
	cors := ""
	if !o.Empty { // so that PouchDB can be tried in a page of another origin
		cors = `, cors: {enabled: true, origins: ["https://pouchdb.com"]}`
	}
	fmt.Fprintf(&b, "http: {listen: %q%s}\n", o.Ports.address(o.Ports.HTTP+i-1), cors)
	fmt.Fprintf(&b, "sql: {listen: %q}\n", o.Ports.address(o.Ports.SQL+i-1))
	join := ""
	if i > 1 {
		join = strconv.Quote(first)
	}
	fmt.Fprintf(&b, "cluster: {gossip: %q, join: [%s], secret: %q}\n",
		o.Ports.address(o.Ports.Gossip+gossipStep*(i-1)), join, secret)
	switch {
	case o.ClusterFile != "":
		fmt.Fprintf(&b, "storage: {engine: fdb, cluster_file: %s}\n", strconv.Quote(o.ClusterFile))
	case i == 1 && o.Nodes == 1:
		b.WriteString("storage: {engine: embedded}\n")
	case i == 1:
		fmt.Fprintf(&b, "storage: {engine: embedded, listen: %q, secret: %q}\n", store, secret)
	default:
		fmt.Fprintf(&b, "storage: {engine: remote, address: %q, secret: %q}\n", store, secret)
	}
	return b.String()
}

// start starts the i-th node and waits until it is ready.
func start(ctx context.Context, o *Options, i int, directory, secret string) (*member, error) {
	m := &member{name: fmt.Sprintf("node%d", i), directory: filepath.Join(directory, strconv.Itoa(i)),
		hasStore: i == 1 && o.Nodes > 1 && o.ClusterFile == "", ended: make(chan struct{})}
	if err := os.MkdirAll(m.directory, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(m.directory, "node.yaml")
	if err := os.WriteFile(file, []byte(settings(o, i, directory, secret)), 0o600); err != nil {
		return nil, err
	}
	logFile, err := os.OpenFile(m.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer logFile.Close() // the process has a descriptor of its own
	// It outlives ctx, since nodes are stopped in an order.
	m.process = exec.CommandContext(context.WithoutCancel(ctx), o.Program, "-config", file)
	m.process.Env = environment()
	m.process.Stderr = logFile
	separate(m.process)
	stdout, err := m.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := m.process.Start(); err != nil {
		return nil, err
	}
	line := make(chan string, 1)
	go func() {
		defer close(m.ended)
		lines := bufio.NewScanner(stdout)
		if lines.Scan() {
			line <- lines.Text()
		}
		close(line)
		_ = m.process.Wait() // says no more than the state
		m.how = m.process.ProcessState.String()
	}()
	wait, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	select {
	case m.line = <-line:
	case <-wait.Done():
	}
	if m.line == "" {
		stopAll([]*member{m})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if wait.Err() != nil {
			m.how = "it was not ready within " + startWithin.String()
		}
		return nil, m.failure()
	}
	m.ready = fields(m.line)
	return m, nil
}

// fields returns the fields of a ready line. None but the directory of the data can have spaces, and it is not needed.
func fields(line string) map[string]string {
	of := map[string]string{}
	for _, word := range strings.Fields(line) {
		if name, value, ok := strings.Cut(word, "="); ok {
			of[name] = value
		}
	}
	return of
}

// own are the variables of the settings that the demo chooses for each node.
var own = []string{"CONFIG", "DATA", "HTTP", "HTTP_LISTEN", "SQL", "SQL_LISTEN", "GOSSIP", "CLUSTER_GOSSIP",
	"CLUSTER_REMOTING", "JOIN", "CLUSTER_JOIN", "CLUSTER_SECRET", "NAME", "STORAGE_ENGINE", "STORAGE_LISTEN",
	"STORAGE_ADDRESS", "STORAGE_SECRET", "STORAGE_CLUSTER_FILE"}

// environment returns the environment without those.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		setting, ours := strings.CutPrefix(name, "DIVAN_")
		return ours && (slices.Contains(own, setting) || slices.Contains(own, strings.TrimSuffix(setting, "_FILE")))
	})
}

// stopAll stops the nodes in the opposite order of their start, because the first one has the store. A node that does
// not stop in time is killed, which loses nothing.
func stopAll(members []*member) {
	for i := len(members) - 1; i >= 0; i-- {
		m := members[i]
		if !m.alive() {
			continue
		}
		interrupt(m.process.Process)
		select {
		case <-m.ended:
		case <-time.After(stopWithin):
			_ = m.process.Process.Kill()
			<-m.ended
		}
	}
}

// portError is a start that failed because another program uses a port.
type portError struct{ error }

// failure returns why a node did not start.
func (m *member) failure() error {
	said := m.lastWords()
	err := fmt.Errorf("%s did not start (%s)%s", m.name, m.how, said)
	if portInUse.MatchString(said) {
		return portError{err}
	}
	return err
}

// portInUse matches what a node says about a port, and what package net does.
var portInUse = regexp.MustCompile(`:\d+ is in use by another process|address already in use`)

// lastWords returns what a node that has ended said at the end, on one line that begins with a colon, or "".
func (m *member) lastWords() string {
	text, err := os.ReadFile(m.log())
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := lines[len(lines)-1]
	if reason, ok := strings.CutPrefix(last, "divan: "); ok {
		return ": " + reason
	}
	if last == "" {
		return ""
	}
	return ": the last line of its log is " + last
}

// log returns the path of the log.
func (m *member) log() string { return filepath.Join(m.directory, "log") }
