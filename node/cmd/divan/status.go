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

	"golang.org/x/term"

	"github.com/divandb/divan/node/status"
)

const statusUsageText = `usage: divan status [-url URL] [-watch] [-json] [-events N] [-up]

Prints the state of the whole cluster, as one of its nodes sees it: nodes with their load and the lag of their indexes,
what needs attention, jobs, builds, what needed attention lately, and the last events. The exit status is 0 if all is
well, 1 if something needs attention, and 2 if no node reaches its store or the node does not answer.

  -watch     print it again every two seconds, until interrupted
  -json      print it as JSON, one line each time
  -up        only ask whether the node serves requests, which needs no password: the exit status is 0 if it does,
             also if it needs an operator, and 2 if not
  -events N  show the last N events; the default is 10
  -url URL   the node's address, with an admin's name and password: http://anna:secret@127.0.0.1:5984
             [DIVAN_URL, DIVAN_URL_FILE]; the default is ` + defaultURL + `
`

const watchEvery = 2 * time.Second

// showStatus implements `divan status`.
func showStatus(args []string) int {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("url", "", "")
	watch, asJSON := flags.Bool("watch", false, ""), flags.Bool("json", false, "")
	events, up := flags.Int("events", 10, ""), flags.Bool("up", false, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(statusUsageText)
		return statusOK
	case err != nil || flags.NArg() > 0 || *events < 0:
		if err != nil {
			fmt.Fprintln(os.Stderr, "divan:", err)
		}
		fmt.Fprint(os.Stderr, statusUsageText)
		return statusUsage
	}
	var err error
	if *address, err = nodeAddress(*address); err != nil {
		failed(err)
		return status.Failed
	}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	if *up {
		return showUp(ctx, *address)
	}
	show := func() (exit int, refused bool) {
		o, text, err := status.Fetch(ctx, *address, *events)
		if err != nil {
			if ctx.Err() == nil {
				failed(err)
			}
			return status.Failed, errors.Is(err, status.ErrLogin)
		}
		if *asJSON {
			fmt.Printf("%s\n", text)
		} else {
			fmt.Print(status.Text(o, columns()))
		}
		return status.Exit(o), false
	}
	exit, refused := show()
	for *watch && !refused { // asking again would lock the account
		select {
		case <-ctx.Done():
			return exit
		case <-time.After(watchEvery):
		}
		if !*asJSON {
			if term.IsTerminal(int(os.Stdout.Fd())) {
				fmt.Print("\x1b[H\x1b[2J") // to the top of an empty screen
			} else {
				fmt.Println()
			}
		}
		now := 0
		if now, refused = show(); ctx.Err() == nil {
			exit = now
		}
	}
	return exit
}

// showUp prints whether a node serves requests.
func showUp(ctx context.Context, address string) int {
	text, err := status.Up(ctx, address)
	if err != nil {
		failed(err)
		return status.Failed
	}
	fmt.Println(text)
	return statusOK
}

// columns returns the width of the terminal, or 80.
func columns() int {
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		return width
	}
	return 80
}
