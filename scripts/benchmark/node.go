package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// node is the process under measurement.
type node struct {
	cmd    *exec.Cmd
	base   string        // base URL of HTTP requests
	sql    string        // address
	gossip string        // address
	took   time.Duration // from the start to the ready line
	http   *http.Client
}

// newDir creates a directory for one node's data.
func (e *environment) newDir(name string) string {
	e.starts++
	return filepath.Join(e.dir, fmt.Sprintf("%s-%d", name, e.starts))
}

// start runs the binary on free ports, with additional lines of node.yaml, and waits for its ready line.
func start(ctx context.Context, binary, data string, settings ...string) (*node, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	config := []byte(strings.Join(settings, "\n") + "\n")
	if err := os.WriteFile(filepath.Join(data, "node.yaml"), config, 0o600); err != nil {
		return nil, err
	}
	n := &node{
		cmd: exec.CommandContext(ctx, binary, "-config", "node.yaml", "-data", ".", "-http", "127.0.0.1:0", "-sql",
			"127.0.0.1:0", "-gossip", "127.0.0.1:0"),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}},
	}
	n.cmd.Dir, n.cmd.Stderr = data, os.Stderr
	n.cmd.Env = append(os.Environ(), "DIVAN_LOG_LEVEL=warn")
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	n.took = time.Since(began)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("no ready line: %w", err), n.stop())
	}
	for field := range strings.FieldsSeq(line) {
		if addr, ok := strings.CutPrefix(field, "http="); ok {
			n.base = "http://" + addr
		}
		if addr, ok := strings.CutPrefix(field, "sql="); ok {
			n.sql = addr
		}
		if addr, ok := strings.CutPrefix(field, "gossip="); ok {
			n.gossip = addr
		}
	}
	return n, nil
}

// stop ends the process. It may be called twice.
func (n *node) stop() error {
	if n.cmd.ProcessState != nil {
		return nil
	}
	n.http.CloseIdleConnections()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return n.cmd.Wait()
}

// call sends a request and passes the response to take, or drops it if take is nil.
func (n *node) call(ctx context.Context, method, path string, body any, take func(io.Reader) error) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, n.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := n.http.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 500)) // only for the message
		return fmt.Errorf("%s %s: %s %s", method, path, res.Status, text)
	}
	if take == nil {
		take = func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	}
	return take(res.Body)
}

// peakMB returns the peak resident memory, or 0 if the system does not report it.
func (n *node) peakMB() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				return 0
			}
			return kb / 1000
		}
	}
	return 0
}

// forgetPeak resets the peak, if the system supports it.
func (n *node) forgetPeak() {
	// elsewhere the peak covers the whole life of the process
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", n.cmd.Process.Pid), []byte("5"), 0)
}

// cpu returns the processor time that the process has used so far, or 0 if the system does not report it.
func (n *node) cpu() time.Duration {
	p, err := procStat(strconv.Itoa(n.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return p.used
}

func diskMB(dir string) float64 {
	var bytes int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // files may disappear meanwhile
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return float64(bytes) / 1e6
}

// decode returns a function that decodes a response's JSON.
func decode(into any) func(io.Reader) error {
	return func(r io.Reader) error { return json.NewDecoder(r).Decode(into) }
}
