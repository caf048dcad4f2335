package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DefaultDocuments is how many documents the demo makes unless told otherwise.
const DefaultDocuments = 50_000

// Options say what to run.
type Options struct {
	// Nodes is how many nodes run, at least one.
	Nodes int
	// Directory keeps everything for the next time. If it is empty, a temporary directory is removed at the end.
	Directory string
	// Documents is how many documents are made.
	Documents int
	// Empty leaves the nodes without data, and prints only their ready lines.
	Empty bool
	// Ports are those of the first node. If Shift is set, higher ones are taken if they are in use.
	Ports Ports
	Shift bool
	// ClusterFile is an fdb.cluster; with it all nodes use FoundationDB.
	ClusterFile string
	// Program is the path of the divan binary.
	Program string
	// Out gets what the user should read.
	Out io.Writer
}

// attempts is how many sets of ports are tried if other programs take them while nodes start.
const attempts = 5

// Run starts the nodes, fills them, prints what to try, and writes a little until ctx ends or all nodes have. It then
// stops the nodes, and returns nil if ctx ended.
func Run(ctx context.Context, o Options) error {
	if o.Nodes < 1 || o.Nodes > maxNodes {
		return fmt.Errorf("there can be 1 to %d nodes", maxNodes)
	}
	if err := o.Ports.check(o.Nodes); err != nil {
		return err
	}
	directory, remove, err := prepare(o.Directory)
	if err != nil {
		return err
	}
	defer remove()
	members, err := startAnywhere(ctx, &o, directory)
	defer func() { stopAll(members) }()
	if err == nil {
		for _, m := range members {
			fmt.Fprintln(o.Out, m.line)
		}
		err = attend(ctx, &o, members)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// attend fills the nodes and writes until ctx ends or all nodes have. Meanwhile it reports nodes that have ended.
func attend(ctx context.Context, o *Options, members []*member) error {
	running, cancel := context.WithCancelCause(ctx)
	var reports sync.WaitGroup
	defer reports.Wait()
	defer cancel(nil)
	reports.Go(func() { report(running, o.Out, members, cancel) })
	if !o.Empty {
		if err := fill(running, o, members, o.Directory == ""); err != nil && running.Err() == nil {
			return err
		}
	}
	<-running.Done()
	return context.Cause(running)
}

// report says which nodes have ended, for example because they were killed to see what happens, and how. It calls end
// after the last one, and returns when ctx has ended.
func report(ctx context.Context, out io.Writer, members []*member, end context.CancelCauseFunc) {
	ended := make(chan *member)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for _, m := range members {
		waiting.Go(func() {
			select {
			case <-m.ended:
			case <-ctx.Done():
				return
			}
			select {
			case ended <- m:
			case <-ctx.Done():
			}
		})
	}
	for left := len(members); left > 0; left-- {
		var m *member
		select {
		case m = <-ended:
		case <-ctx.Done():
			return
		}
		what := "the others go on without it"
		switch {
		case left == 1:
			end(fmt.Errorf("%s has ended (%s), and no other node runs%s", m.name, m.how, m.lastWords()))
			return
		case m.hasStore:
			what = "it had the store, so that the others answer 503"
		}
		fmt.Fprintf(out, "\n%s has ended (%s); %s\n", m.name, m.how, what)
	}
}

// prepare returns the directory to use, which it creates, and a function that removes it if it is temporary. It refuses
// a directory with other things than those of an earlier demo.
func prepare(directory string) (string, func(), error) {
	if directory == "" {
		temporary, err := os.MkdirTemp("", "divan-demo-")
		return temporary, func() { os.RemoveAll(temporary) }, err
	}
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return "", nil, err
	}
	entries, err := os.ReadDir(absolute)
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		_, err := strconv.Atoi(e.Name()) // the directory of a node
		if err != nil && e.Name() != secretFile && !strings.HasPrefix(e.Name(), ".") {
			return "", nil, fmt.Errorf("%s has other things in it, such as %s: name an empty directory, a new one, or "+
				"that of an earlier demo", directory, e.Name())
		}
	}
	return absolute, func() {}, nil
}

// startAnywhere starts the nodes. If Options.Shift is set and another program takes a port in the moment between the
// search for free ones and the start, it goes on to higher ones.
func startAnywhere(ctx context.Context, o *Options, directory string) (members []*member, err error) {
	for range attempts {
		if o.Shift {
			if o.Ports, err = o.Ports.free(ctx, o.Nodes); err != nil {
				return nil, err
			}
		}
		members, err = startAll(ctx, o, directory)
		if taken := (portError{}); !o.Shift || !errors.As(err, &taken) {
			break
		}
		stopAll(members)
		members, o.Ports = nil, o.Ports.shifted(portStep)
	}
	return members, err
}

// startAll starts the nodes one after the other. It also returns those that have started before an error.
func startAll(ctx context.Context, o *Options, directory string) ([]*member, error) {
	secret, err := secretOf(directory)
	if err != nil {
		return nil, err
	}
	var members []*member
	for i := range o.Nodes {
		m, err := start(ctx, o, i+1, directory, secret)
		if err != nil {
			return members, err
		}
		members = append(members, m)
	}
	return members, nil
}

// fill makes the data and its indexes, prints what to try, and begins to write a little.
func fill(ctx context.Context, o *Options, members []*member, temporary bool) error {
	began := time.Now()
	s := divide(o.Documents)
	g := newGenerator(1, s.customers, began)
	nodes := make([]*client, len(members))
	for i, m := range members {
		nodes[i] = newClient(m.url())
	}
	loaded, err := load(ctx, nodes[0], g, s, func(done, of int) {
		if done == of {
			fmt.Fprintf(o.Out, "\n%d documents written in %.1f s\n", of, time.Since(began).Seconds())
		}
	})
	if err != nil {
		return err
	}
	if !loaded {
		fmt.Fprintln(o.Out, "\nthe databases exist already and are used as they are")
	}
	if err := index(ctx, nodes[0]); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "views built, ready after %.1f s\n", time.Since(began).Seconds())
	t, err := newTraffic(ctx, nodes, g)
	if err != nil {
		return err
	}
	guide(o.Out, members, temporary)
	t.run(ctx)
	return nil
}
