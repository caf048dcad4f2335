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
the lists, the queue for compaction and the counters, and indexes and their sums with what the documents emit. It tells
what is wrong, and what belongs to nobody any more, one line for each fault. The exit status is 0 if there is none, 1 if
there is any, and 2 if that cannot be found out. The node stays in use meanwhile. For a store that no node has open
there is divan check -deep.

  -digests  compare the data of attachments with their digests too
  -url URL  the node's address, with an admin's name and password: http://anna:secret@127.0.0.1:5984
            [DIVAN_URL]; the default is ` + defaultURL + `
`

// verify is `divan verify`.
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
	if *address == "" {
		*address = os.Getenv("DIVAN_URL")
	}
	if *address == "" {
		*address = defaultURL
	}
	client, err := relocate.NewClient(*address)
	if err != nil {
		return failed(err)
	}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	database := ""
	if len(names) > 0 {
		database = names[0]
	}
	faults, err := relocate.TellVerified(ctx, client, database, *digests, os.Stdout, progress())
	if errors.Is(err, syscall.ECONNREFUSED) {
		err = fmt.Errorf("%w (no node answers there: give its address with -url, or read its store with divan check "+
			"-deep)", err)
	}
	return verified(faults, err)
}

// verified is the exit status after a verification: 2 where it did not come to its end.
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

// checkDeep is `divan check -deep`, after the settings were found right.
func checkDeep(c *config.Config) int {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	log := node.NewLogger(os.Stderr, c.Log)
	store, closeStore, err := node.OpenStoreToRead(ctx, c, false, log)
	refused := err
	if err != nil {
		if strings.Contains(err.Error(), "in use by another process") {
			return failed(fmt.Errorf("%w: ask the node that has it open with divan verify", err))
		}
		if store, closeStore, err = node.OpenStoreToRead(ctx, c, true, slog.New(slog.DiscardHandler)); err != nil {
			return failed(refused)
		}
		failed(refused) // what is damaged in the rest is told as well
	}
	faults, err := relocate.TellVerified(ctx, store, "", false, os.Stdout, progress())
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	status := verified(faults, errors.Join(err, closeStore(stopping)))
	if refused != nil && status == statusOK {
		return statusFailed // nothing is wrong with the rest, but no node starts on it
	}
	return status
}

// failed says what went wrong in a line.
func failed(err error) int {
	fmt.Fprintln(os.Stderr, "divan:", strings.ReplaceAll(err.Error(), "\n", "; "))
	return statusFailed
}
