package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/divandb/divan/node/relocate"
)

const couchDBUsage = `usage: divan import-couchdb [-url URL] [-parallel N] [-replicator] COUCHDB

Moves all databases of the CouchDB at COUCHDB, http://admin:password@host:5984, to a running node, with users, design
documents, security objects and limits. The node replicates them, so it must reach that address too. The command can be
interrupted, which stops the node's replications too, and repeated: it continues where it was, and moves what has
changed since. It waits up to 30 s for a server that restarts. Documents that the node refuses are named, and the
reasons are in its log. The exit status is 0 if everything was moved, 1 if not, and 2 for wrong usage.

  -url URL      the node's address, with an admin's name and password: http://anna:secret@127.0.0.1:5984
                [DIVAN_URL, DIVAN_URL_FILE]; the default is ` + defaultURL + `
  -parallel N   databases at once; the default is 4
  -replicator   move _replicator databases too: their replications then run on the node
`

// importCouchDB moves a whole CouchDB to a node.
func importCouchDB(args []string) int {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("url", "", "")
	parallel := flags.Int("parallel", 4, "")
	replicator := flags.Bool("replicator", false, "")
	names, err := parseAnywhere(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(couchDBUsage)
		return statusOK
	}
	if err != nil || len(names) != 1 || *parallel < 1 {
		fmt.Fprint(os.Stderr, couchDBUsage)
		return statusUsage
	}
	if *address, err = nodeAddress(*address); err != nil {
		return failed(err)
	}
	to, err := relocate.NewClient(*address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "divan:", err)
		return statusUsage
	}
	from, err := relocate.NewClient(names[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "divan: the address of a CouchDB must have the form http://admin:password@host:5984")
		return statusUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	done, err := (&relocate.CouchDBImport{From: from, To: to, Replicator: *replicator, Parallel: *parallel,
		Out: &relocate.Progress{Out: os.Stderr, Every: 5 * time.Second}}).Run(ctx)
	if done != nil {
		fmt.Printf("%s, %s moved; failed: %s; not finished: %s; missing: %s\n",
			relocate.Count(done.Databases, "database"), relocate.Count(done.Documents, "document"),
			relocate.Count(len(done.Failed), "database"), relocate.Count(len(done.Unfinished), "database"),
			relocate.Count(done.Missing, "document"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "divan:", err)
		return statusFailed
	}
	return statusOK
}
