package node

import (
	"context"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/node/console/state"
)

// statusWithin bounds the wait for what the store's cluster says about itself. The console waits for a second.
const statusWithin = 700 * time.Millisecond

// shownStorage is what the console says about this node's store.
func (n own) shownStorage(ctx context.Context) state.Storage {
	s := state.Storage{Node: n.name, Reasons: []string{}, Compact: state.Compaction{Waiting: []state.Compactable{}}}
	if n.running.Load() == nil {
		s.Error = "the node is starting"
		return s
	}
	s.Engine = n.engine.Name()
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	if err := n.health().Ready(ctx); err != nil {
		s.Error = err.Error()
	}
	if e, ok := n.engine.(interface{ FreeBytes() (int64, bool) }); ok {
		if free, known := e.FreeBytes(); known {
			s.Free = &free
		}
	}
	if e, ok := n.engine.(interface{ SizeBytes() (int64, bool) }); ok {
		if size, known := e.SizeBytes(); known {
			s.Size = &size
		}
	}
	if e, ok := n.engine.(interface{ Tally() *kv.Counts }); ok {
		c := e.Tally().Counted()
		s.Commits, s.Conflicts, s.Retries = &c.Commits, &c.Conflicts, &c.Retries
	}
	if d, ok := n.engine.(degrader); ok {
		s.Reasons = append(s.Reasons, d.Degraded()...)
	}
	s.Compact = n.compaction().forConsole()
	return s
}

// forConsole describes compaction.
func (c compaction) forConsole() state.Compaction {
	now := c.queue()
	out := state.Compaction{Auto: c.auto, Runs: now.Runs, Failures: now.Failures, Bodies: now.Bodies,
		Bytes: now.BodyBytes + now.AttachmentBytes, LastError: now.LastError, LastAt: moment(now.LastErrorAt),
		Queue: now.Queue, Waiting: []state.Compactable{}, More: now.Waiting - len(now.Databases)}
	if now.LastError != "" && now.LastDatabase != "" {
		out.LastError = now.LastDatabase + ": " + now.LastError
	}
	for _, d := range now.Databases {
		out.Waiting = append(out.Waiting, state.Compactable(d))
	}
	return out
}

// shownScripts is what the console says about this node's JavaScript.
func (n own) shownScripts() state.Scripts {
	out := state.Scripts{Node: n.name, Limits: map[string]int64{}, Databases: []state.ScriptUse{}}
	if n.running.Load() == nil {
		return out
	}
	s := n.scripts.Stats()
	out.Runtimes, out.Idle, out.Most = s.Runtimes, s.Idle, s.Most
	out.Running, out.Paused, out.Waiting = s.Running, s.Paused, s.Waiting
	out.Stopped, out.Refused, out.Seconds = s.Stopped, s.Refused, s.Seconds
	for name, times := range s.Limits {
		out.Limits[name] = times
	}
	for _, d := range s.Databases {
		out.Databases = append(out.Databases, state.ScriptUse{Database: d.Database, Seconds: d.Seconds, Waiting: d.Waiting})
	}
	return out
}

// shownSettings lists the settings in force on this node: those of node.yaml, and those that clients can change.
func (n own) shownSettings() (list []state.Setting) {
	for _, s := range n.cfg.Shown() {
		list = append(list, state.Setting{Name: s.Path, Value: s.Value, Default: s.Default})
	}
	return list
}
