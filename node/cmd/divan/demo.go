package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/divandb/divan/node/demo"
)

const demoUsageText = `usage: divan demo [-dir DIR] [-documents N] [-empty] [NODES]

Runs nodes on this machine (default 1) with data to look at: customers and orders in the database shop, with views and
relations for SQL, and measurements in the database sensors, with four changes shards. It prints what to try, and writes
some documents until Ctrl-C. With several nodes, the first one has the store.

  -dir DIR            keep the data in DIR, and use it again the next time; without it, the data is in a temporary
                      directory, which is removed at the end
  -documents N        how many documents to make; the default is 50000
  -empty              no documents, and no guide: prints the ready line of each node, and which one has ended
  -http-port PORT     the first node's port for HTTP, SQL and gossip; the other nodes count up from it, by one for
  -sql-port PORT      HTTP and SQL and by ten for gossip. The defaults are 5984, 5433 and 7946, or free ones above these
  -gossip-port PORT   if they are in use
  -cluster-file FILE  an fdb.cluster: all nodes use FoundationDB
`

// runDemo implements `divan demo`.
func runDemo(args []string) int {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	ports := demo.DefaultPorts()
	o := demo.Options{Nodes: 1, Out: os.Stdout}
	flags.StringVar(&o.Directory, "dir", "", "")
	flags.IntVar(&o.Documents, "documents", demo.DefaultDocuments, "")
	flags.BoolVar(&o.Empty, "empty", false, "")
	flags.IntVar(&ports.HTTP, "http-port", ports.HTTP, "")
	flags.IntVar(&ports.SQL, "sql-port", ports.SQL, "")
	flags.IntVar(&ports.Gossip, "gossip-port", ports.Gossip, "")
	flags.StringVar(&o.ClusterFile, "cluster-file", "", "")
	err := parseAround(flags, args, &o.Nodes)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(demoUsageText)
		return statusOK
	case err != nil:
		fmt.Fprintln(os.Stderr, "divan:", err)
		fmt.Fprint(os.Stderr, demoUsageText)
		return statusUsage
	case o.Documents < 1:
		fmt.Fprintln(os.Stderr, "divan: -documents must be a positive number")
		return statusUsage
	}
	o.Ports, o.Shift = ports, ports == demo.DefaultPorts()
	if o.Program, err = os.Executable(); err != nil {
		return failed(err)
	}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	signal.Ignore(syscall.SIGPIPE) // so that it cleans up
	o.Out = writer{os.Stdout, release}
	if err := demo.Run(ctx, o); err != nil {
		return failed(err)
	}
	return statusOK
}

// writer calls failed if nobody reads what it writes, as with `divan demo | head`.
type writer struct {
	io.Writer
	failed func()
}

func (w writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		w.failed()
	}
	return n, err
}

// parseAround parses flags before and after the number of nodes.
func parseAround(flags *flag.FlagSet, args []string, nodes *int) error {
	if err := flags.Parse(args); err != nil || flags.NArg() == 0 {
		return err
	}
	n, err := strconv.Atoi(flags.Arg(0))
	if err != nil || n < 1 {
		return fmt.Errorf("%q is no number of nodes", flags.Arg(0))
	}
	*nodes = n
	if err := flags.Parse(flags.Args()[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}
