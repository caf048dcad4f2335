package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/divandb/divan/node"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/machine"
	"github.com/divandb/divan/node/systemd"
)

// stopWithin is how long a node may take to stop: the guaranteed time less what the process itself needs.
const stopWithin = 4500 * time.Millisecond

// load reads the settings. If ok is false, it has printed why and the caller must exit with status.
func load(args []string) (c *config.Config, status int, ok bool) {
	c, err := config.Load(args, os.Environ())
	if errors.Is(err, flag.ErrHelp) {
		return nil, help(nil), false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return nil, statusUsage, false
	}
	return c, statusOK, true
}

// runNode runs a node until a signal stops it.
func runNode(args []string) int {
	c, status, ok := load(args)
	if !ok {
		return status
	}
	// The first signal asks the node to stop, even during the start. A second one ends the process at once.
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	machine.LimitMemory()
	defer collectLess()()
	log := node.NewLogger(os.Stderr, c.Log)
	n := node.New(c, log)
	if err := n.Start(ctx); err != nil {
		if ctx.Err() != nil { // asked to stop before it was ready
			return statusOK
		}
		fmt.Fprintln(os.Stderr, "divan:", strings.ReplaceAll(err.Error(), "\n", "; "))
		return statusFailed
	}
	fmt.Println(n.ReadyLine())
	systemd.Ready(strings.TrimPrefix(n.ReadyLine(), "divan "), log)
	go systemd.Watch(ctx, node.SelfCheck(n), log)
	<-ctx.Done()
	release()
	systemd.Stopping(c.HTTP.Drain+2*stopWithin, log)
	n.Drain(context.Background())
	stopping, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if err := n.Stop(stopping); err != nil {
		// What did not end in time ends with the process. No acknowledged write depends on it.
		log.Warn("not everything stopped cleanly", "err", err)
	}
	return statusOK
}
