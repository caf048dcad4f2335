package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// slowDesign has a map function that takes about a millisecond, so that its build can be interrupted.
const slowDesign = `{"views":{"n":{"map":"function (doc) { var s = 0; for (var i = 0; i < 20000; i++) s += i; ` +
	`if (doc.n) emit(s && doc.n, doc.n) }",` +
	`"reduce":"_sum"}}}`

// runClocks runs three nodes, of which two have clocks that differ by an hour. The node that builds an index is killed,
// and the others must continue the build.
func runClocks(ctx context.Context, e *environment, t *tally) error {
	ahead, err := e.binaryAhead(ctx)
	if err != nil {
		return err
	}
	dir, err := e.newDir("clocks")
	if err != nil {
		return err
	}
	c, err := newThree(ctx, dir)
	if err != nil {
		return err
	}
	other := 1 + e.rng.IntN(2)
	c.specs[other].binary = ahead
	return c.round(ctx, e, t, func(ctx context.Context) error {
		wait(ctx, 2*time.Second)
		n := c.nodes[other].Load()
		if _, _, err := n.do(ctx, "PUT", "/"+database+"/_design/slow", []byte(slowDesign)); err != nil {
			return err
		}
		asking, stop := context.WithCancel(ctx)
		defer stop()
		asked := make(chan struct{})
		go func() { // the response never comes, but the build begins
			defer close(asked)
			_, _, _ = n.do(asking, "GET", "/"+database+"/_design/slow/_view/n", nil)
		}()
		wait(ctx, time.Duration(e.rng.IntN(700)+100)*time.Millisecond)
		c.nodes[other].Store(nil)
		n.kill()
		<-asked
		t.events++
		began := time.Now()
		_, body, err := c.nodes[0].Load().do(ctx, "GET", "/"+database+"/_design/slow/_view/n", nil)
		if err != nil {
			return fmt.Errorf("the index of a killed node's build, %v later: %w", time.Since(began).Round(time.Second),
				err)
		}
		t.took(time.Since(began))
		var answer struct{ Rows []struct{ Value int } }
		if err := json.Unmarshal(body, &answer); err != nil || len(answer.Rows) != 1 {
			return fmt.Errorf("the view answers %.200s: %w", body, err)
		}
		return c.start(ctx, e, other)
	})
}

// binaryAhead builds a second binary whose clock is an hour ahead, from the same sources with another time.Now.
func (e *environment) binaryAhead(ctx context.Context) (string, error) {
	binary := filepath.Join(e.dir, "divan-ahead")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	original := filepath.Join(strings.TrimSpace(string(out)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	changed := strings.Replace(string(text), now, now+"\tsec += 3600\n", 1)
	if changed == string(text) {
		return "", errors.New("time.Now of this Go version differs from what is expected")
	}
	replaced, overlay := filepath.Join(e.dir, "time.go"), filepath.Join(e.dir, "overlay.json")
	files, err := json.Marshal(map[string]any{"Replace": map[string]string{original: replaced}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(replaced, []byte(changed), 0o600),
		os.WriteFile(overlay, files, 0o600)); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", binary, "./node/cmd/divan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build a binary with another clock: %w: %s", err, out)
	}
	return binary, nil
}
