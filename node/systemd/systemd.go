// Package systemd tells the service manager how the node is: that it is ready, that it stops, and, as long as it
// answers, that it is alive. Without a service manager that asks for it (Type=notify, WatchdogSec), nothing happens.
package systemd

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready says that the node serves requests. status is shown by `systemctl status`.
func Ready(status string, log *slog.Logger) {
	send(daemon.SdNotifyReady+"\nSTATUS="+status, log)
}

// Stopping says that the node stops, and how long that may take. The service manager then waits that long, whatever its
// TimeoutStopSec is.
func Stopping(within time.Duration, log *slog.Logger) {
	send(fmt.Sprintf("%s\nEXTEND_TIMEOUT_USEC=%d\nSTATUS=stopping", daemon.SdNotifyStopping,
		within.Microseconds()), log)
}

// Watch reports that the node is alive as long as alive returns nil, three times in each WatchdogSec, until ctx ends.
// If the reports stop, the service manager restarts the node.
func Watch(ctx context.Context, alive func(context.Context) error, log *slog.Logger) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("the service manager's watchdog cannot be used", "err", err)
	}
	if limit <= 0 {
		return
	}
	every := limit / 3
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	failing := false
	for {
		attempt, cancel := context.WithTimeout(ctx, every)
		err := alive(attempt)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failing = false
			send(daemon.SdNotifyWatchdog, log)
		case !failing:
			failing = true
			log.Error("this node does not answer itself: the service manager will restart it", "within", limit,
				"err", err)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func send(state string, log *slog.Logger) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("the service manager cannot be told how the node is", "err", err)
	}
}
