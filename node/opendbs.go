package node

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
)

const (
	// openAgain is the interval at which databases known to be open are checked again.
	openAgain = 10 * time.Second
	// openShown is how many names the log and the dashboard show.
	openShown = 20
)

// openDatabases finds databases that everyone can use although the node has admins: those that were created before the
// first admin, and whose _security was never set. It checks all databases at the start and after each change of the
// admins, and in between checks again those that it found.
type openDatabases struct {
	store  *layer.Store
	closed func() bool // reports whether there are admins
	log    *slog.Logger
	look   chan struct{} // capacity 1: check all databases

	unread []string // databases that could not be checked; only used by run

	mu struct {
		sync.Mutex
		names []string
	}
}

// watchDatabases starts the watch. stop ends it and waits for it.
func watchDatabases(store *layer.Store, known *auth.Authenticator, log *slog.Logger) (o *openDatabases, stop func()) {
	o = &openDatabases{store: store, closed: func() bool { return !known.Open() }, log: log,
		look: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.run(ctx)
	}()
	o.again()
	return o, func() {
		cancel()
		<-done
	}
}

// again requests a check of all databases.
func (o *openDatabases) again() {
	select {
	case o.look <- struct{}{}:
	default: // already requested
	}
}

func (o *openDatabases) run(ctx context.Context) {
	timer := time.NewTimer(0)
	timer.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-o.look:
			err = o.all(ctx)
		case <-timer.C:
			err = o.known(ctx)
		}
		if err != nil && ctx.Err() == nil {
			o.log.Warn("cannot find out which databases are open to everyone", "error", err)
		}
		if err != nil || len(o.list())+len(o.unread) > 0 {
			timer.Reset(openAgain)
		}
		if err != nil {
			o.again()
			select { // pause, so that a failing engine is not asked all the time
			case <-ctx.Done():
				return
			case <-timer.C:
			}
		}
	}
}

// all checks every database, and logs those that are open.
func (o *openDatabases) all(ctx context.Context) error {
	var open, unread []string
	if o.closed() {
		for name, err := range o.store.Names(ctx, layer.NamesOptions{Limit: -1}) {
			if err != nil {
				return err
			}
			is, err := o.isOpen(ctx, name)
			switch {
			case layer.KindOf(err) == layer.Unavailable && !layer.Local(err) || ctx.Err() != nil:
				return err
			case err != nil: // a damaged database must not hide the others
				unread = append(unread, name)
				if len(unread) == 1 {
					o.log.Warn("cannot find out whether a database is open to everyone", "database", name, "error", err)
				}
			case is:
				open = append(open, name)
			}
		}
	}
	o.unread = unread
	if before := o.keep(open); len(open) > 0 && !slices.Equal(before, open) {
		o.log.Warn("databases made before there was an admin are open to everyone; set their _security", "count",
			len(open), "databases", shortList(open))
	}
	return nil
}

// known checks the databases that were open or could not be checked.
func (o *openDatabases) known(ctx context.Context) error {
	var open, unread []string
	for _, name := range slices.Sorted(slices.Values(slices.Concat(o.list(), o.unread))) {
		is, err := o.isOpen(ctx, name)
		switch {
		case layer.KindOf(err) == layer.Unavailable && !layer.Local(err) || ctx.Err() != nil:
			return err
		case err != nil:
			unread = append(unread, name)
		case is && o.closed():
			open = append(open, name)
		}
	}
	o.unread = unread
	o.keep(open)
	return nil
}

func (o *openDatabases) isOpen(ctx context.Context, name string) (bool, error) {
	d, err := o.store.Database(ctx, name)
	if err == nil {
		var set bool
		if set, err = d.SecuritySet(ctx); err == nil {
			return !set, nil
		}
	}
	if layer.KindOf(err) == layer.NotFound { // deleted meanwhile
		return false, nil
	}
	return false, err
}

func (o *openDatabases) keep(open []string) (before []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, o.mu.names = o.mu.names, open
	return before
}

func (o *openDatabases) list() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.names
}

// Degraded reports how many databases are open. It leaves out their names, because anyone can read /_up.
func (o *openDatabases) Degraded() []string {
	n := len(o.list())
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("open_databases: %s created before there was an admin; everyone can read and write "+
		"there: PUT /{db}/_security "+
		"(the log and the dashboard have the names; {} leaves one open on purpose)", counted(n))}
}

// shown returns the same for admins, with names.
func (o *openDatabases) shown() []string {
	if names := o.list(); len(names) > 0 {
		return []string{"open_databases: open to everyone: " + shortList(names)}
	}
	return nil
}

func counted(n int) string {
	if n == 1 {
		return "1 database was"
	}
	return fmt.Sprintf("%d databases were", n)
}

func shortList(names []string) string {
	text := strings.Join(names[:min(len(names), openShown)], ", ")
	if more := len(names) - openShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
