package cluster

import (
	"context"
	"log"
	"log/slog"
	"strings"
)

// logger turns memberlist's lines into records. It drops debug lines, one per packet, and lines during the shutdown,
// when memberlist complains about the ports that it has closed.
func (g *gossip) logger() *log.Logger {
	return log.New(gossipLines{g}, "", 0)
}

type gossipLines struct{ g *gossip }

func (l gossipLines) Write(p []byte) (int, error) {
	if l.g.ending.Load() {
		return len(p), nil
	}
	line := strings.TrimSpace(string(p))
	level := slog.LevelInfo
	if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "["), "] "); ok && line[0] == '[' {
		line = strings.TrimPrefix(rest, "memberlist: ")
		switch name {
		case "DEBUG":
			return len(p), nil
		case "INFO":
			level = slog.LevelDebug
		case "WARN":
			level = slog.LevelWarn
		case "ERR", "ERROR":
			// memberlist logs an error when a peer hangs up or sends garbage, which is harmless
			level = slog.LevelWarn
		}
	}
	if level < slog.LevelWarn {
		l.g.o.Logger.Log(context.Background(), level, "gossip", "text", line)
		return len(p), nil
	}
	what, from, _ := strings.Cut(line, " from=")
	if secretFault(what) != secretSame {
		l.g.stranger(from)
		return len(p), nil // it is an event
	}
	if what, _, ok := strings.Cut(line, "Conflicting address"); ok && what == "" {
		return len(p), nil // NotifyConflict logs it
	}
	if l.g.said.first(what) {
		l.g.o.Logger.Log(context.Background(), level, "gossip", "text", line)
	}
	return len(p), nil
}
