package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/divandb/divan/node"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/relocate"
)

const verifyUsage = `usage: divan verify [-url URL] [-digests] [DATABASE]

Has a node read every block and every row of its store, or of one database, and compare them: documents with the feed,
the lists, the compaction queue and the counters, and indexes and their reductions with what the documents emit. It
prints one line for each fault, including data that nothing refers to any more. The exit status is 0 if there are no
faults, 1 if there are any, and 2 if verify could not complete. The node can be used meanwhile. For a store that no node
has open, use divan check -deep.

  -digests  also compare the data of attachments with their digests
  -url URL  the node's address, with an admin's name and password: http://anna:secret@127.0.0.1:5984
            [DIVAN_URL, DIVAN_URL_FILE]; the default is ` + defaultURL + `
`

// verify implements `divan verify`.
func verify(args []string) int {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("url", "", "")
	digests := flags.Bool("digests", false, "")
	names, err := parseAnywhere(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(verifyUsage)
		return statusOK
	case err != nil || len(names) > 1:
		if err != nil {
			fmt.Fprintln(os.Stderr, "divan:", err)
		}
		fmt.Fprint(os.Stderr, verifyUsage)
		return statusUsage
	}
	if *address, err = nodeAddress(*address); err != nil {
		return verified(0, err)
	}
	client, err := relocate.NewClient(*address)
	if err != nil {
		return verified(0, err)
	}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	database := ""
	if len(names) > 0 {
		database = names[0]
	}
	faults, err := relocate.PrintVerified(ctx, client, database, *digests, os.Stdout, progress())
	if errors.Is(err, syscall.ECONNREFUSED) {
		err = fmt.Errorf("%w (no node answers there: pass its address with -url, or read its store with divan check "+
			"-deep)", err)
	}
	return verified(faults, err)
}

// verified returns the exit status after a verification: 2 if it did not complete.
func verified(faults int, err error) int {
	switch {
	case err != nil:
		failed(err)
		return statusUsage
	case faults > 0:
		return statusFailed
	}
	return statusOK
}

// checkDeep implements `divan check -deep`, after the settings were found valid.
func checkDeep(c *config.Config) int {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	log := node.NewLogger(os.Stderr, c.Log)
	store, closeStore, err := node.OpenStoreToRead(ctx, c, false, log)
	refused := err
	if err != nil {
		if strings.Contains(err.Error(), "in use by another process") {
			return failed(fmt.Errorf("%w: check it through the node that has it open with divan verify", err))
		}
		if store, closeStore, err = node.OpenStoreToRead(ctx, c, true, slog.New(slog.DiscardHandler)); err != nil {
			return failed(refused)
		}
		failed(refused) // damage in the rest is reported too
	}
	faults, err := relocate.PrintVerified(ctx, store, "", false, os.Stdout, progress())
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	status := verified(faults, errors.Join(err, closeStore(stopping)))
	if refused != nil && status == statusOK {
		return statusFailed // the rest is intact, but no node starts on it
	}
	return status
}

// failed prints an error on one line.
func failed(err error) int {
	fmt.Fprintln(os.Stderr, "divan:", strings.ReplaceAll(err.Error(), "\n", "; "))
	return statusFailed
}
