package node

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/fdb"
	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/replicate"
)

// own reads the parts of this node for the console. Before the node has started, there is nothing.
type own struct{ *Node }

func (n own) here() console.Here {
	begun := time.Now().UTC()
	aside := sync.OnceValue(func() *layer.Store { return n.store.Aside() }) // the store is opened later
	return console.Here{
		Members: n.shownMembers,
		Awaited: func() int {
			if c := n.joined.Load(); c != nil {
				return n.earlier.awaited(time.Now(), c.Members())
			}
			return 0
		},
		Displaced: func() bool {
			c := n.joined.Load()
			return c != nil && c.Displaced()
		},
		Report: func(ctx context.Context) state.Report {
			r := state.Report{Started: &begun, Unread: -1}
			if level, until := n.levels.raised(); !until.IsZero() {
				r.LogLevel, r.LogUntil = level, moment(until)
			}
			if n.running.Load() == nil {
				return r
			}
			h := n.health()
			r.Engine, r.Reasons = n.engine.Name(), slices.Concat(h.Degraded(), h.diskLow(), h.open.shown())
			if skips := n.measuring.skips.Load(); skips != nil {
				r.Skips, r.Skipping = skips.worst, skips.indexes
			}
			if known := n.survey.Known(); known.Named {
				r.Unread = known.Unread
			}
			if err := h.StoreReady(ctx); err != nil {
				r.Store = ofStore(err)
			}
			return r
		},
		Actors:       n.shownActors,
		ActorsBehind: n.actorsBehind,
		Sessions:     n.shownSessions,
		Shards:       n.shownShards,
		Indexes:      n.shownIndexes,
		IndexesOf:    n.shownIndexesOf,
		Index:        n.shownIndexAnew,
		FailedBuilds: n.failedBuilds,
		Tasks:        n.shownTasks,
		Jobs: func(ctx context.Context) iter.Seq2[state.Job, error] {
			return shownJobsOf(n.store.Jobs(ctx))
		},
		Replications: n.shownReplications,
		Databases: func(ctx context.Context) iter.Seq2[string, error] {
			return n.store.Names(ctx, layer.NamesOptions{Limit: -1})
		},
		Database: n.shownDatabase,
		Version: func(ctx context.Context, name string) (v console.Version, err error) {
			db, err := aside().Database(ctx, name)
			if err != nil {
				return v, err
			}
			info, err := db.Info(ctx)
			return console.Version{UUID: info.UUID, ID: fmt.Sprint(info.UpdateSeq, " ", info.PurgeSeq),
				Entries: info.DocCount + info.DocDelCount}, err
		},
		InConflict: func(ctx context.Context, name string) (int64, error) {
			db, err := aside().Database(ctx, name)
			if err != nil {
				return 0, err
			}
			return inConflict(ctx, db)
		},
		Storage: n.shownStorage, Scripts: n.shownScripts, Settings: n.shownSettings,
		Cluster: n.shownCluster,
		Used: func(visit func(name string, done console.Use)) {
			n.store.EachCounted(func(name string, c layer.Counted) {
				visit(name, console.Use{Writes: c.Written, Refused: c.Refused, Reads: c.Read, Feed: c.Changes})
			})
		},
	}
}

// earlier are the nodes that used the store when this one started.
type earlier struct {
	names []string
	at    time.Time
}

// awaitedFor is for how long after its start a node expects those that used the store before. If its own join list is
// empty, it does not look for them, and they find it after some seconds.
const awaitedFor = 10 * time.Second

// awaited returns how many of them are expected and have not been members since.
func (e earlier) awaited(now time.Time, members []cluster.Member) (n int) {
	if now.Sub(e.at) > awaitedFor {
		return 0
	}
	for _, name := range e.names {
		if !slices.ContainsFunc(members, func(m cluster.Member) bool { return m.Name == name }) {
			n++
		}
	}
	return n
}

// shownMembers lists the members as nodes.
func (n own) shownMembers() (list []state.Node) {
	c := n.joined.Load()
	if c == nil {
		return []state.Node{}
	}
	states := map[cluster.Status][2]string{
		cluster.Alive:   {"ok", "it works"},
		cluster.Suspect: {"silent", "it has not answered for some seconds"},
		cluster.Left:    {"gone", "it has left as announced"},
	}
	alone := c.Displaced() // what gossip says of the others is not true of this node
	for _, m := range c.Members() {
		if alone && !m.Self {
			continue
		}
		s := states[m.Status]
		if m.GivenUp {
			s[1] = "it did not answer and was given up"
		}
		if m.Draining && m.Status != cluster.Left {
			s = [2]string{"draining", "it has given its work to others, and does none until it is restarted"}
		}
		list = append(list, state.Node{Name: m.Name, State: s[0], GivenUp: m.GivenUp, Text: s[1], Self: m.Self,
			HTTP: m.HTTP, SQL: m.SQL, Gossip: m.Gossip, Version: m.Version, Roles: m.Roles, GoneSince: m.GoneSince})
	}
	return list
}

func (n own) shownActors() iter.Seq[state.Actor] {
	return func(yield func(state.Actor) bool) { n.actorsBehind(nil, yield) }
}

func (n own) actorsBehind(place []string, visit func(state.Actor) bool) (at []string) {
	running := n.running.Load()
	if running == nil {
		return nil
	}
	return running.EachActor(place, func(a actors.Node, parent string, recent int) bool {
		row := state.Actor{Node: n.name, ID: a.ID, Parent: parent, Kind: a.Kind, Name: a.Name, State: a.State,
			Since: a.Since, Mailbox: a.Mailbox, Restarts: a.Restarts, Recent: recent, LastFailure: a.LastFailure,
			LastFailureAt: a.LastFailureAt}
		row.Look = func() (text json.RawMessage) {
			if facts := a.Look(); facts != nil {
				text, _ = json.Marshal(facts) // our own types, which always encode
			}
			return text
		}
		return visit(row)
	})
}

func (n own) shownSessions() iter.Seq[state.Session] {
	return func(yield func(state.Session) bool) {
		if n.running.Load() == nil || n.sql == nil {
			return
		}
		for _, s := range n.sql.Sessions() {
			row := state.Session{Node: n.name, PID: int64(s.PID), User: s.User, Database: s.Database,
				Application: s.Application, Remote: s.Remote, TLS: s.TLS, State: s.State, Statement: s.Statement,
				Since: s.Since, Rows: s.Rows, Returned: s.Returned, Examined: s.Examined, Plan: s.Plan}
			if began := s.StatementSince; !began.IsZero() {
				row.Began = &began
			}
			if !yield(row) {
				return
			}
		}
	}
}

func (n own) shownShards() iter.Seq[state.Shard] {
	return func(yield func(state.Shard) bool) {
		running := n.running.Load()
		if running == nil {
			return
		}
		for s := range running.Shards() {
			if !yield(state.Shard{Node: n.name, Database: s.Database, Shard: s.Shard, State: s.State,
				Look: func(row *state.Shard) {
					f := s.Look()
					row.Owner, row.Seq, row.Listeners, row.Followers = f.Node, f.Seq, f.Listeners, f.Followers
					row.Upkeep = f.Upkeep
					row.Wakes, row.Lag, row.Error = f.Wakes, f.Lag, f.Error
				}}) {
				return
			}
		}
	}
}

// shownIndexes are the indexes that the node has read of all databases, and how many of these it has not read yet.
func (n own) shownIndexes(ctx context.Context) (list iter.Seq[state.Index], known console.Known) {
	if n.running.Load() == nil {
		return func(func(state.Index) bool) {}, known
	}
	n.survey.Look(ctx)
	all := n.survey.All()
	return func(yield func(state.Index) bool) {
		for x := range all {
			if !yield(shownIndex(x)) {
				return
			}
		}
	}, console.Known(n.survey.Known())
}

func (n own) shownIndexesOf(ctx context.Context, database string) (list []state.Index, err error) {
	if n.running.Load() == nil {
		return nil, nil
	}
	found, err := n.survey.Read(ctx, database)
	if layer.KindOf(err) == layer.NotFound {
		return nil, nil
	}
	for _, x := range found {
		list = append(list, shownIndex(x))
	}
	return list, err
}

// shownIndex is an index without what works on it.
func shownIndex(x actors.IndexInfo) state.Index {
	row := state.Index{Database: x.Database, Design: x.Design, Views: x.Views, Rows: x.Rows, Bytes: x.Bytes,
		Errors: x.Errors, Skipped: x.Skipped, Building: x.Building, Current: x.Current, Lag: x.Behind.Seconds(),
		Job: layer.IndexJob{Database: x.Database, Signature: x.Signature}.ID()}
	if neverBuilt(x) {
		row.Lag = -1
	}
	return row
}

// shownIndexAnew reads an index that is shown.
func (n own) shownIndexAnew(ctx context.Context, row state.Index) (state.Index, error) {
	now, err := n.survey.ReadOne(ctx, row.Database, row.Design)
	if layer.KindOf(err) == layer.NotFound {
		return row, nil // deleted a moment ago; the next list does not have it
	}
	return shownIndex(now), err
}

// failedBuilds returns the jobs of a database, or of all, that build indexes and have failed.
func (n own) failedBuilds(ctx context.Context, database string) iter.Seq2[state.Job, error] {
	prefix := database
	if prefix != "" {
		prefix += "/" // see layer.IndexJob.ID; databases below it have names that begin like that
	}
	return shownJobsOf(func(yield func(layer.Job, error) bool) {
		for j, err := range n.store.JobsOf(ctx, layer.IndexJobs, prefix) {
			if (err != nil || j.Failures > 0) && !yield(j, err) {
				return
			}
		}
	})
}

func (n own) shownTasks() []state.Task {
	list := []state.Task{}
	running := n.running.Load()
	if running == nil {
		return list
	}
	now := time.Now()
	for _, t := range running.Tasks() {
		row := state.Task{Node: t.Node, Type: t.Type, Database: t.Database, Design: t.Design, Shard: string(t.Shard),
			Progress: t.Progress, Done: t.Documents, Total: t.Total, Rows: t.Rows,
			Started: time.Unix(t.StartedOn, 0).UTC(), Error: t.Error}
		if passed := now.Sub(row.Started).Seconds(); passed >= 1 {
			row.Rate = float64(t.Documents-t.Earlier) / passed
		}
		if row.Rate > 0 && t.Total > t.Documents {
			left := float64(t.Total-t.Documents) / row.Rate
			row.Left = &left
		}
		row.Raw, _ = json.Marshal(t) // our own type, which always encodes
		list = append(list, row)
	}
	return list
}

// shownJobsOf returns the jobs that wait or run.
func shownJobsOf(jobs iter.Seq2[layer.Job, error]) iter.Seq2[state.Job, error] {
	return func(yield func(state.Job, error) bool) {
		for j, err := range jobs {
			if err != nil {
				yield(state.Job{}, err)
				return
			}
			if j.State == layer.JobFinished {
				continue
			}
			row := state.Job{Type: j.Type, ID: j.ID, State: string(j.State), Worker: j.Worker, Token: j.Token,
				Failures: j.Failures, Error: j.Error, FailedAt: moment(j.FailedAt), Advanced: j.Advanced,
				Due: moment(j.Due), Updated: moment(j.Updated), Created: moment(j.Created), Lease: j.Lease.Seconds()}
			if j.Type == layer.IndexJobs {
				var of layer.IndexJob
				if json.Unmarshal(j.Data, &of) == nil {
					row.Database, row.Design = of.Database, of.Design
				}
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (n own) shownReplications(ctx context.Context) (rows iter.Seq[state.Replication], missing string, err error) {
	list, err := n.replications.View().List(ctx)
	switch {
	case list.Unread:
		missing = "Some replications that have ended are not listed yet: their documents have not all been read."
	case list.Full:
		missing = fmt.Sprintf("Of the replications that have ended, no more than %d are listed.", replicate.MaxEnded)
	}
	return func(yield func(state.Replication) bool) {
		for _, r := range list.All {
			if !yield(state.Replication{ID: r.ID, State: r.State, Source: r.Source, Target: r.Target,
				Database: r.Database, Document: r.Document, User: r.User, Node: r.Node, Continuous: r.Continuous,
				Started: moment(r.Began), Changed: moment(r.Changed), Read: r.Read, Written: r.Written,
				Failed: r.Failed, Pending: r.Pending, Errors: r.Errors, Error: r.Reason}) {
				return
			}
		}
	}, missing, err
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func (n own) shownDatabase(ctx context.Context, name string, whole bool) (state.Database, error) {
	db, err := n.store.Database(ctx, name)
	if err != nil {
		return state.Database{}, err
	}
	info, err := db.Info(ctx)
	if err != nil {
		return state.Database{}, err
	}
	shown := state.Database{Name: name, Docs: &info.DocCount, Deleted: &info.DocDelCount, Bytes: &info.FileSize,
		Shards: &info.Shards}
	if !whole {
		return shown, nil
	}
	indexes, err := db.Indexes(ctx)
	if err != nil {
		return state.Database{}, err
	}
	count := len(indexes)
	shown.Indexes = &count
	return shown, nil
}

// inConflict counts the documents that have several leaves which are not deleted.
func inConflict(ctx context.Context, db *layer.Database) (n int64, err error) {
	pass, err := db.Changes(ctx, layer.ChangesOptions{Limit: -1, InConflict: true, Uncounted: true})
	if err != nil {
		return 0, err
	}
	for c, err := range pass.Rows {
		if err != nil {
			return 0, err
		}
		if c.InConflict {
			n++
		}
	}
	return n, nil
}

// storeWithin bounds the wait for the store's answer. The console gives a node a second.
const storeWithin = 700 * time.Millisecond

// shownStorage is what the console says about this node's store.
func (n own) shownStorage(ctx context.Context) state.Storage {
	s := state.Storage{Node: n.name, Reasons: []string{}, Compact: state.Compaction{Waiting: []state.Compactable{}}}
	if n.running.Load() == nil {
		s.Error = "the node is starting"
		return s
	}
	s.Engine = n.engine.Name()
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	if err := n.health().StoreReady(ctx); err != nil {
		s.Error = ofStore(err)
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

// shownCluster is what FoundationDB says about itself; nil with other engines.
func (n own) shownCluster(ctx context.Context) (*state.StoreCluster, error) {
	if n.running.Load() == nil {
		return nil, nil
	}
	engine := n.engine
	if guarded, ok := engine.(interface{ Below() kv.Engine }); ok {
		engine = guarded.Below()
	}
	e, ok := engine.(interface {
		Status(ctx context.Context) (fdb.Status, error)
	})
	if !ok {
		return nil, nil
	}
	s, err := e.Status(ctx)
	if err != nil {
		return nil, err
	}
	shown := state.StoreCluster(s)
	shown.Messages = slices.Clone(s.Messages)
	return &shown, nil
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
	maps.Copy(out.Limits, s.Limits)
	for _, d := range s.Databases {
		out.Databases = append(out.Databases, state.ScriptUse(d))
	}
	return out
}

// shownSettings lists the settings in force on this node: those of node.yaml, and the options that clients have
// changed. Where such an option replaces a setting of node.yaml, or an operator does for some time, that has its value.
func (n own) shownSettings() (list []state.Setting) {
	replaced := map[string]string{} // by the setting
	var options []state.Setting
	for _, o := range n.settings.Changed() {
		options = append(options, state.Setting{Name: o.Name, Value: o.Value, Default: o.Before})
		if o.Setting != "" {
			replaced[o.Setting] = o.Value + ", by the option " + o.Name
		}
	}
	for _, s := range n.cfg.Shown() {
		row := state.Setting{Name: s.Path, Value: s.Value, Default: s.Default}
		if value, ok := replaced[s.Path]; ok {
			row.Value = value
		}
		if level, until := n.levels.raised(); s.Path == "log.level" && !until.IsZero() {
			row.Value = level + " until " + until.UTC().Format("15:04:05") + " UTC, by an operator"
		}
		if s.Path == "admins" { // that of -admin, and those that clients have added or removed
			row.Value = strings.Join(slices.Sorted(maps.Keys(n.auth.Admins())), ", ")
		}
		list = append(list, row)
	}
	return append(list, options...)
}
