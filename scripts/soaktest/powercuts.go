package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

func needsGo(context.Context, *environment) string {
	if _, err := exec.LookPath("go"); err != nil {
		return "it needs Go"
	}
	return ""
}

var steps = regexp.MustCompile(`(\d+) crashes, (\d+) steps`)

// runPowerCuts runs the engine's own test, because no real file system loses data of a running process that was not
// synced.
func runPowerCuts(ctx context.Context, e *environment, t *tally) error {
	test := filepath.Join(e.dir, "embedded.test")
	if _, err := os.Stat(test); err != nil {
		build := exec.CommandContext(ctx, "go", "test", "-c", "-o", test, "./layer/kv/embedded")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the engine's tests: %w: %s", err, out)
		}
	}
	run := exec.CommandContext(ctx, test, "-test.run=^TestCrash_powerCut$", "-test.v", "-test.timeout=10m")
	run.Env = append(os.Environ(), "DIVAN_CRASH_ROUNDS=200", "DIVAN_CRASH_SEED="+strconv.FormatUint(e.rng.Uint64(), 10))
	out, err := run.CombinedOutput()
	if err != nil {
		return fmt.Errorf("power cuts: %w: %s", err, out)
	}
	if m := steps.FindSubmatch(out); m != nil {
		cuts, _ := strconv.Atoi(string(m[1])) // digits always parse
		n, _ := strconv.Atoi(string(m[2]))
		t.events, t.writes = t.events+cuts, t.writes+n
	}
	return nil
}
