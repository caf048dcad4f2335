package console

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

// List is a page of a list of all nodes.
type List[T any] struct {
	table.Page[T]
	Now time.Time `json:"now"`
	// Partial is why some values are missing, or empty.
	Partial string `json:"partial,omitempty"`
	// Note says how old values are if that is not obvious, or is empty.
	Note string `json:"note,omitempty"`
	// SQL is where the node that was asked listens for sessions, in a list of these.
	SQL    string         `json:"sql,omitempty"`
	Absent []state.Absent `json:"absent"`
}

func number[T any, N int | int64 | float64](of func(*T) N) func(*T) table.Key {
	return func(r *T) table.Key { return table.Number(float64(of(r))) }
}

func text[T any](of func(*T) string) func(*T) table.Key {
	return func(r *T) table.Key { return table.Text(of(r)) }
}

func moment[T any](of func(*T) *time.Time) func(*T) table.Key {
	return func(r *T) table.Key {
		t := of(r)
		if t == nil {
			return table.Number(math.NaN())
		}
		return table.Number(float64(t.UnixMicro()))
	}
}

var actorTable = table.Table[state.Actor]{
	Columns: map[string]func(*state.Actor) table.Key{
		"id":       text(func(a *state.Actor) string { return a.ID }),
		"node":     text(func(a *state.Actor) string { return a.Node }),
		"kind":     text(func(a *state.Actor) string { return a.Kind }),
		"name":     text(func(a *state.Actor) string { return a.Name }),
		"state":    text(func(a *state.Actor) string { return a.State }),
		"mailbox":  number(func(a *state.Actor) int { return a.Mailbox }),
		"restarts": number(func(a *state.Actor) int { return a.Restarts }),
		"recent":   number(func(a *state.Actor) int { return a.Recent }),
		"below":    number(func(a *state.Actor) int { return a.Below }),
		"unwell": number(func(a *state.Actor) int {
			if well(a) {
				return a.Unwell
			}
			return a.Unwell + 1
		}),
		"failed": moment(func(a *state.Actor) *time.Time { return a.LastFailureAt }),
		"since":  moment(func(a *state.Actor) *time.Time { return &a.Since }),
	},
	Default: "id",
	ID:      func(a *state.Actor) string { return a.Node + "\x00" + a.ID },
	Search: func(a *state.Actor) []string {
		return []string{a.ID, a.Kind, a.Name, a.State, a.Node, a.LastFailure}
	},
}

var sessionTable = table.Table[state.Session]{
	Columns: map[string]func(*state.Session) table.Key{
		"pid":         number(func(s *state.Session) int64 { return s.PID }),
		"node":        text(func(s *state.Session) string { return s.Node }),
		"user":        text(func(s *state.Session) string { return s.User }),
		"database":    text(func(s *state.Session) string { return s.Database }),
		"application": text(func(s *state.Session) string { return s.Application }),
		"state":       text(func(s *state.Session) string { return s.State }),
		"since":       moment(func(s *state.Session) *time.Time { return &s.Since }),
		"began":       moment(func(s *state.Session) *time.Time { return s.Began }),
		"rows":        number(func(s *state.Session) int64 { return s.Rows }),
		"returned":    number(func(s *state.Session) int64 { return s.Returned }),
		"examined":    number(func(s *state.Session) int64 { return s.Examined }),
	},
	Default: "since",
	ID:      func(s *state.Session) string { return s.Node + "\x00" + strconv.FormatInt(s.PID, 10) },
	Search: func(s *state.Session) []string {
		return []string{s.User, s.Database, s.Application, s.State, s.Statement, s.Node, s.Remote}
	},
	Database: func(s *state.Session) string { return s.Database },
}

// inOrder returns the name of a shard, which is a number, such that those of one database sort by number.
func inOrder(shard string) string { return strings.Repeat("0", max(0, 20-len(shard))) + shard }

var shardTable = table.Table[state.Shard]{
	Columns: map[string]func(*state.Shard) table.Key{
		"database":  text(func(s *state.Shard) string { return s.Database + "\x00" + inOrder(s.Shard) }),
		"node":      text(func(s *state.Shard) string { return s.Node }),
		"owner":     text(func(s *state.Shard) string { return s.Seen().Owner }),
		"state":     text(func(s *state.Shard) string { return s.State }),
		"listeners": number(func(s *state.Shard) int { return s.Seen().Listeners }),
		"wakes":     number(func(s *state.Shard) int64 { return s.Seen().Wakes }),
		"lag":       number(func(s *state.Shard) float64 { return s.Seen().Lag }),
	},
	Default: "database",
	ID:      func(s *state.Shard) string { return s.Database + "\x00" + s.Shard + "\x00" + s.Node },
	Search: func(s *state.Shard) []string {
		s.Seen()
		return []string{s.Database, s.Shard, s.Node, s.Owner, s.State, s.Error}
	},
	Database: func(s *state.Shard) string { return s.Database },
}

var jobTable = table.Table[state.Job]{
	Columns: map[string]func(*state.Job) table.Key{
		"id":       text(func(j *state.Job) string { return j.Type + "\x00" + j.ID }),
		"type":     text(func(j *state.Job) string { return j.Type }),
		"state":    text(func(j *state.Job) string { return j.State }),
		"worker":   text(func(j *state.Job) string { return j.Worker }),
		"failures": number(func(j *state.Job) int { return j.Failures }),
		"updated":  moment(func(j *state.Job) *time.Time { return j.Updated }),
		"created":  moment(func(j *state.Job) *time.Time { return j.Created }),
	},
	Default: "id",
	ID:      func(j *state.Job) string { return j.Type + "\x00" + j.ID },
	Search: func(j *state.Job) []string {
		return []string{j.Type, j.ID, j.State, j.Worker, j.Error}
	},
}

var replicationTable = table.Table[state.Replication]{
	Columns: map[string]func(*state.Replication) table.Key{
		"source":   text(func(r *state.Replication) string { return r.Source }),
		"target":   text(func(r *state.Replication) string { return r.Target }),
		"document": text(func(r *state.Replication) string { return r.Database + "\x00" + r.Document }),
		"state":    text(func(r *state.Replication) string { return r.State }),
		"node":     text(func(r *state.Replication) string { return r.Node }),
		"written":  number(func(r *state.Replication) int64 { return r.Written }),
		"failed":   number(func(r *state.Replication) int64 { return r.Failed }),
		"errors":   number(func(r *state.Replication) int { return r.Errors }),
		"changed":  moment(func(r *state.Replication) *time.Time { return r.Changed }),
		"pending": func(r *state.Replication) table.Key {
			if r.Pending == nil {
				return table.Number(math.NaN())
			}
			return table.Number(float64(*r.Pending))
		},
	},
	Default: "source",
	ID: func(r *state.Replication) string {
		return r.Source + "\x00" + r.Target + "\x00" + r.Database + "\x00" + r.Document + "\x00" + r.ID
	},
	Search: func(r *state.Replication) []string {
		return []string{r.ID, r.Source, r.Target, r.Database, r.Document, r.User, r.Node, r.State, r.Error}
	},
}

// listOf returns a page of a list that each node has a part of.
func listOf[T any](ctx context.Context, c *Console, ask string, t table.Table[T], q table.Query,
	here func(context.Context, table.Query) (table.Page[T], error)) (List[T], error) {
	if err := t.Check(q); err != nil {
		return List[T]{}, err
	}
	answers, absent := gather(ctx, c, ask, q, here)
	pages := make([]table.Page[T], len(answers))
	for i, a := range answers {
		pages[i] = a.Value
	}
	page, err := t.Merge(pages, q)
	return List[T]{Page: page, Now: time.Now().UTC(), Absent: absent}, err
}

func (c *local) actorsHere(_ context.Context, q table.Query) (table.Page[state.Actor], error) {
	p, err := actorTable.Select(c.o.Here.Actors(), q)
	lookAt(p.Rows)
	return p, err
}

// lookAt completes the actors of a page.
func lookAt(rows []state.Actor) {
	for i := range rows {
		complete(&rows[i])
	}
}

func complete(a *state.Actor) {
	a.LastFailure = short(a.LastFailure)
	if a.Look != nil {
		a.Facts, a.Look = a.Look(), nil
	}
}

// short cuts a text, so that a page of 500 rows fits a message.
func short(s string) string { return shorter(s, shortLength) }

const shortLength = 500

func shorter(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// Actors returns a page of the actors of all nodes.
func (c *Console) Actors(ctx context.Context, q table.Query) (List[state.Actor], error) {
	return listOf(ctx, c, "actors", actorTable, q, c.local.actorsHere)
}

func (c *local) sessionsHere(_ context.Context, q table.Query) (table.Page[state.Session], error) {
	p, err := sessionTable.Select(c.o.Here.Sessions(), q)
	plans := 0
	for i := range p.Rows {
		p.Rows[i].Cut = len(p.Rows[i].Statement) > shortLength
		p.Rows[i].Statement = short(p.Rows[i].Statement)
		if p.Rows[i].Plan != "" {
			plans++
		}
	}
	for i := range p.Rows {
		p.Rows[i].Plan = shorter(p.Rows[i].Plan, max(shortLength, plansLength/max(plans, 1)))
	}
	return p, err
}

// plansLength is how long the plans of a page are together, unless that left less than shortLength for each.
const plansLength = 20 << 10

// Sessions returns a page of the SQL sessions of all nodes.
func (c *Console) Sessions(ctx context.Context, q table.Query) (List[state.Session], error) {
	l, err := listOf(ctx, c, "sessions", sessionTable, q, c.local.sessionsHere)
	for _, n := range c.o.Here.Members() {
		if n.Self {
			l.SQL = n.SQL
		}
	}
	return l, err
}

func (c *local) shardsHere(_ context.Context, q table.Query) (table.Page[state.Shard], error) {
	p, err := shardTable.Select(c.o.Here.Shards(), q)
	for i := range p.Rows {
		p.Rows[i].Error = short(p.Rows[i].Seen().Error)
	}
	return p, err
}

// Shards returns a page of the changes shards that nodes watch.
func (c *Console) Shards(ctx context.Context, q table.Query) (List[state.Shard], error) {
	return listOf(ctx, c, "shards", shardTable, q, c.local.shardsHere)
}

// Jobs returns a page of the jobs in the store that are not finished.
func (c *Console) Jobs(ctx context.Context, q table.Query) (List[state.Job], error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	l, err := ofStore(jobTable, c.o.Here.Jobs(ctx), q)
	for i := range l.Rows {
		l.Rows[i].Error = short(l.Rows[i].Error)
	}
	return l, err
}

// replicationStates is the order in which the states of replications are counted.
var replicationStates = []string{"running", "crashing", "error", "pending", "initializing", "failed", "completed"}

// Replications returns a page of the replications by the server, also of those that have ended. The note counts all of
// them by state.
func Replications(ctx context.Context, c *Console, q table.Query) (List[state.Replication], error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	list, missing, err := c.o.Here.Replications(ctx)
	if err != nil {
		return List[state.Replication]{}, err
	}
	states := map[string]int{}
	l, err := ofStore(replicationTable, func(yield func(state.Replication, error) bool) {
		for r := range list {
			states[r.State]++
			if !yield(r, nil) {
				return
			}
		}
	}, q)
	for i := range l.Rows {
		l.Rows[i].Error = short(l.Rows[i].Error)
	}
	var counts []string
	for _, s := range replicationStates {
		if n := states[s]; n > 0 {
			counts = append(counts, fmt.Sprint(n, " ", s))
		}
	}
	l.Note, l.Partial = strings.Join(counts, ", "), missing
	return l, err
}

// ofStore returns a page of a list that is in the store.
func ofStore[T any](t table.Table[T], rows iter.Seq2[T, error], q table.Query) (List[T], error) {
	var failed error
	p, err := t.Select(until(rows, &failed), q)
	if err == nil {
		err = failed
	}
	return List[T]{Page: p, Now: time.Now().UTC(), Absent: []state.Absent{}}, err
}

// until returns the values of a sequence up to its first error.
func until[T any](seq iter.Seq2[T, error], failed *error) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v, err := range seq {
			if err != nil {
				*failed = err
				return
			}
			if !yield(v) {
				return
			}
		}
	}
}

// tasksHere returns this node's builds and compactions.
func (c *local) tasksHere(context.Context, struct{}) ([]state.Task, error) {
	list := c.o.Here.Tasks()
	return list[:min(len(list), table.MaxLimit)], nil
}

// Tasks returns the builds and compactions of all nodes.
func (c *Console) Tasks(ctx context.Context) ([]state.Task, []state.Absent) {
	answers, absent := gather(ctx, c, "tasks", struct{}{}, c.local.tasksHere)
	list := []state.Task{}
	for _, a := range answers {
		list = append(list, a.Value...)
	}
	return list, absent
}

// EachSession calls visit for all SQL sessions, by node and id, until it returns false. A node that stops answering is
// left out from there on, and returned.
func (c *Console) EachSession(ctx context.Context, visit func(state.Session) bool) ([]state.Absent, error) {
	return each(ctx, c.Sessions, table.Query{Sort: "node", Limit: eachLimit}, visit)
}

func each[T any](ctx context.Context, read func(context.Context, table.Query) (List[T], error), q table.Query,
	visit func(T) bool) (absent []state.Absent, err error) {
	for {
		page, err := read(ctx, q)
		if err != nil {
			return absent, err
		}
		for _, a := range page.Absent {
			if !slices.ContainsFunc(absent, func(b state.Absent) bool { return a.Node == b.Node }) {
				absent = append(absent, a)
			}
		}
		for _, row := range page.Rows {
			if !visit(row) {
				return absent, nil
			}
		}
		if page.Next == "" || ctx.Err() != nil {
			return absent, ctx.Err()
		}
		q.After = page.Next
	}
}

// eachLimit is how many rows are asked for at a time by EachActor and EachSession, which is at most the size of a page.
const eachLimit = table.MaxLimit
