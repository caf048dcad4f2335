package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// Run starts the nodes, fills them, prints what to try, and writes a little until ctx ends or all nodes have. It then
// stops the nodes, and returns nil if ctx ended.
func Run(ctx context.Context, o Options) error {
	if o.Nodes < 1 || o.Nodes > maxNodes {
		return fmt.Errorf("there can be 1 to %d nodes", maxNodes)
	}
	if err := o.Ports.check(o.Nodes); err != nil {
		return err
	}
	if o.Shift {
		var err error
		if o.Ports, err = o.Ports.free(ctx, o.Nodes); err != nil {
			return err
		}
	}
	directory, remove, err := prepare(o.Directory)
	if err != nil {
		return err
	}
	defer remove()
	members, err := startAll(ctx, &o, directory)
	defer func() { stopAll(members) }()
	if err == nil && !o.Empty {
		err = fill(ctx, &o, members, o.Directory == "")
	}
	if err != nil && ctx.Err() == nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-allEnded(members):
		return fmt.Errorf("all nodes have ended; the end of the log of %s:\n%s", members[0].name,
			lastLines(filepath.Join(members[0].directory, "log"), 5))
	}
}

// prepare returns the directory to use, which it creates, and a function that removes it if it is temporary.
func prepare(directory string) (string, func(), error) {
	if directory == "" {
		temporary, err := os.MkdirTemp("", "divan-demo-")
		return temporary, func() { os.RemoveAll(temporary) }, err
	}
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return "", nil, err
	}
	return absolute, func() {}, os.MkdirAll(absolute, 0o700)
}

// startAll starts the nodes one after the other and prints their ready lines. It also returns those that have started
// before an error.
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
		fmt.Fprintln(o.Out, m.line)
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

// allEnded returns a channel that is closed when every node has ended. If one ends, because it was killed to see what
// happens, the others keep running.
func allEnded(members []*member) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		for _, m := range members {
			<-m.ended
		}
		close(ended)
	}()
	return ended
}
