// Command soaktest causes trouble to built nodes and records what they acknowledged: kills, power cuts, damaged files,
// a full disk, pauses, partitions, wrong clocks. scripts/soak runs it. It prints a table of what was tried and what was
// lost, and exits with status 1 if anything was lost, duplicated or answered wrongly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// trouble is one kind of trouble. Each has a file of its own.
type trouble struct {
	name, about string
	// why returns why it cannot run on this machine, or "".
	why func(ctx context.Context, e *environment) string
	// run runs one round. It counts faults of the node in t. An error means that the round itself could not run, or
	// that the node did something that is not counted, such as not starting again.
	run func(ctx context.Context, e *environment, t *tally) error
}

func troubles() []trouble {
	return []trouble{
		{"kills", "kill -9 under writes, start again", always, runKills},
		{"power cuts", "data that was not synced is lost, in a simulated file system", needsGo, runPowerCuts},
		{"damaged files", "a bit, 4 KB, the end or all of a file is changed or removed, after a kill or a stop", always,
			runFaults},
		{"full disk", "filled by another program during writes, and freed again", needsMount, runFullDisk},
		{"pauses", "one of three nodes is paused for seconds and continues", always, runPauses},
		{"kills of three", "one of three nodes is killed or stopped, and starts again", always, runClusterKills},
		{"partitions", "one of three nodes is cut off from the others, in network namespaces", needsNamespaces,
			runPartitions},
		{"clocks", "of three nodes two have clocks that differ by an hour, and one is killed", needsGo, runClocks},
	}
}

func always(context.Context, *environment) string { return "" }

// environment is what a round works with.
type environment struct {
	binary string
	dir    string // for data; emptied after each successful round
	rng    *rand.Rand
	rounds int
	log    io.Writer
}

// newDir creates a directory for a round or a node.
func (e *environment) newDir(name string) (string, error) {
	e.rounds++
	dir := filepath.Join(e.dir, fmt.Sprintf("%s-%d", strings.ReplaceAll(name, " ", "-"), e.rounds))
	return dir, os.MkdirAll(dir, 0o700)
}

// tally has the counts for one kind of trouble.
type tally struct {
	rounds    int
	events    int // kills, faults, pauses ...
	writes    int // acknowledged
	unknown   int // answered with an error or not at all: they may have succeeded or not
	refused   int // refused starts and reads answered with an error: damage that was reported
	lost      int // acknowledged but missing
	doubled   int // present twice, in a feed or as an unexplained conflict
	wrong     int // present, but not as acknowledged or tried; or an index that disagrees
	longest   time.Duration
	remarks   []string
	leftOut   string
	roundTime time.Duration
}

func (t *tally) bad() int { return t.lost + t.doubled + t.wrong }

// remark adds a line below the table.
func (t *tally) remark(format string, args ...any) {
	if len(t.remarks) < 20 {
		t.remarks = append(t.remarks, fmt.Sprintf(format, args...))
	}
}

// took records the duration of something that a user waits for, such as the start after a kill.
func (t *tally) took(d time.Duration) { t.longest = max(t.longest, d) }

func main() {
	binary := flag.String("binary", "bin/divan", "the binary `FILE` to test")
	minutes := flag.Float64("minutes", 2, "how long to run")
	seed := flag.Uint64("seed", rand.Uint64(),
		"of what is left to chance; the order of events on a busy machine is not")
	only := flag.String("only", "", "comma-separated kinds of trouble; empty: all")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: scripts/soak [flags] MINUTES")
		for _, k := range troubles() {
			fmt.Fprintf(os.Stderr, "  %-15s %s\n", k.name, k.about)
		}
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	failed, err := soak(ctx, *binary, *minutes, *seed, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

// soak runs rounds in turn until the time is over, at least one of each kind.
func soak(ctx context.Context, binary string, minutes float64, seed uint64, only string) (failed bool, err error) {
	binary, err = filepath.Abs(binary)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "divan-soak-")
	if err != nil {
		return false, err
	}
	e := &environment{binary: binary, dir: dir, rng: rand.New(rand.NewPCG(seed, 0)), log: os.Stderr}
	fmt.Fprintf(e.log, "soak: seed %d\n", seed)
	end := time.Now().Add(time.Duration(minutes * float64(time.Minute)))
	kinds := chosen(only)
	if len(kinds) == 0 {
		return false, fmt.Errorf("no kind of trouble is called %q", only)
	}
	tallies := make([]*tally, len(kinds))
	for i := range tallies {
		tallies[i] = &tally{leftOut: kinds[i].why(ctx, e)}
	}
	for first := true; ctx.Err() == nil && (first || time.Now().Before(end)); first = false {
		for i, k := range kinds {
			t := tallies[i]
			if t.leftOut != "" || ctx.Err() != nil || (!first && time.Now().Add(t.roundTime).After(end)) {
				continue
			}
			if err := e.round(ctx, k, t); err != nil {
				failed = true
				t.wrong++
				t.remark("%v", err)
			}
		}
	}
	printTable(os.Stdout, kinds, tallies)
	for _, t := range tallies {
		failed = failed || t.bad() > 0
	}
	if failed {
		fmt.Printf("the data of failed rounds is in %s\n", dir)
		return true, nil
	}
	return false, os.RemoveAll(dir)
}

// round runs one round, and removes its data unless something went wrong.
func (e *environment) round(ctx context.Context, k trouble, t *tally) error {
	before, began := t.bad(), time.Now()
	err := k.run(ctx, e, t)
	t.rounds++
	t.roundTime = max(t.roundTime, time.Since(began))
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil
	}
	fmt.Fprintf(e.log, "soak: %-15s round %d, %v: %d written, %d unknown, lost %d, doubled %d, wrong %d\n",
		k.name, t.rounds, time.Since(began).Round(100*time.Millisecond), t.writes, t.unknown, t.lost, t.doubled,
		t.wrong)
	if err != nil || t.bad() > before {
		return err
	}
	entries, err := os.ReadDir(e.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), strings.ReplaceAll(k.name, " ", "-")+"-") {
			err = errors.Join(err, os.RemoveAll(filepath.Join(e.dir, entry.Name())))
		}
	}
	return err
}

func chosen(only string) []trouble {
	if only == "" {
		return troubles()
	}
	var some []trouble
	for _, k := range troubles() {
		for name := range strings.SplitSeq(only, ",") {
			if k.name == strings.TrimSpace(name) {
				some = append(some, k)
			}
		}
	}
	return some
}

func printTable(w io.Writer, kinds []trouble, tallies []*tally) {
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "trouble\trounds\tevents\tacknowledged\tunknown\tnamed\tlost\tdoubled\twrong\tlongest wait\t")
	for i, k := range kinds {
		t := tallies[i]
		wait := "-"
		if t.longest > 0 {
			wait = t.longest.Round(10 * time.Millisecond).String()
		}
		if t.leftOut != "" {
			fmt.Fprintf(out, "%s\t-\t\t\t\t\t\t\t\t\t\n", k.name)
			continue
		}
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t\n", k.name, t.rounds, t.events, t.writes,
			t.unknown, t.refused,
			t.lost, t.doubled, t.wrong, wait)
	}
	_ = out.Flush() // standard output
	for i, k := range kinds {
		if why := tallies[i].leftOut; why != "" {
			fmt.Fprintf(w, "%s: left out: %s\n", k.name, why)
		}
		for _, r := range tallies[i].remarks {
			fmt.Fprintf(w, "%s: %s\n", k.name, r)
		}
	}
	fmt.Fprintln(w,
		"unknown: writes answered with an error or not at all; named: damage that a start or a read was refused for")
}
