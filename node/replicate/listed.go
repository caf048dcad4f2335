package replicate

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

const (
	// sharedFor is how long a list is given to all who ask for it. One that takes long is given for up to
	// longestShared, so that making them takes no more than a part of the time: one in shareOf.
	sharedFor     = time.Second
	longestShared = 10 * time.Second
	shareOf       = 20
	// readFor bounds how long the documents are read for a list. What is left is read for the next one.
	readFor = 700 * time.Millisecond
	// namesEvery is how often the names of all databases are read, to find those whose documents ask for replications.
	// One that has a job is found at once.
	namesEvery = 10 * time.Second
	// maxAgain is how many databases that were read before are looked at for a list, those first that were not for
	// longest.
	maxAgain = 200
	// MaxEnded bounds the ended replications that are remembered, each in some 600 bytes, and reasonLength what is kept
	// of their reasons.
	MaxEnded     = 20_000
	reasonLength = 500
	// keptFor is how long all is remembered when nobody asks any more.
	keptFor = time.Minute
)

// Listed is a replication in a list for operators. Source and Target are without passwords.
type Listed struct {
	ID, State, Source, Target string
	Database, Document        string // that asks for it; "" for POST /_replicate
	User, Node                string
	Continuous                bool
	Began, Changed            time.Time // Changed is when State changed last
	Read, Written, Failed     int64     // documents
	Pending                   *int64    // changes; nil if that is not known
	Errors                    int       // in a row
	Reason                    string    // of the last one
}

// List is a list of replications. What it points to is not to be changed.
type List struct {
	All []*Listed
	// Unread reports that some that have ended are missing, since their documents were not read in time, and Full that
	// there are more of them than are listed.
	Unread, Full bool
}

// listing keeps what lists need: the replications that have ended, which only documents tell of, by the feeds of their
// databases. It costs nothing while nobody asks.
type listing struct {
	turn chan struct{} // has an element while somebody uses the rest

	store  *layer.Store        // reads aside of those who use the databases
	of     map[string]*endedIn // by database
	named  time.Time           // when all names were read
	size   int                 // of all
	full   bool                // some are left out
	early  map[string]early    // by job
	last   List                // made at
	at     time.Time
	fresh  time.Duration // for how long last is given
	forget *time.Timer
}

// endedIn are the ended replications of a database, as of a sequence.
type endedIn struct {
	uuid   string // "" until it is read
	purges int64
	since  layer.Seq
	whole  bool // since was the end of the feed
	at     time.Time
	rows   map[string]*Listed // by document
}

// early is what the document or the request of a job says that no node has looked at.
type early struct {
	updated time.Time // of the job
	rec     *record
}

// List lists the replications of all nodes: those that wait or run, and those that have ended and whose documents are
// there, as GET /_scheduler/docs shows them.
func (v *View) List(ctx context.Context) (List, error) {
	l := &v.m.listing
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return List{}, ctx.Err()
	}
	defer func() { <-l.turn }()
	begun := time.Now()
	if begun.Sub(l.at) < l.fresh {
		return l.last, nil
	}
	if l.store == nil {
		l.store, l.of = v.m.o.Store.Aside(), map[string]*endedIn{}
		l.forget = time.AfterFunc(keptFor, l.clear)
	}
	l.forget.Reset(keptFor)
	within, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	waiting, err := l.readJobs(ctx, within, v)
	if err != nil {
		return List{}, err
	}
	// The documents are read after the jobs, so that a replication that ends meanwhile is not missing.
	list := List{Unread: !l.readDocs(within, v)}
	for _, r := range waiting {
		if e := l.of[r.Database]; r.Document == "" || e == nil || e.rows[r.Document] == nil {
			list.All = append(list.All, r)
		}
	}
	for _, e := range l.of {
		for _, r := range e.rows {
			list.All = append(list.All, r)
		}
	}
	list.Full = l.full
	l.last, l.at, l.fresh = list, time.Now(), sharedFor
	if !list.Unread {
		l.fresh = min(max(sharedFor, shareOf*l.at.Sub(begun)), longestShared)
	}
	return list, nil
}

// clear forgets all.
func (l *listing) clear() {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if time.Since(l.at) < keptFor/2 {
		return // somebody asks again
	}
	l.store, l.of, l.early, l.last, l.named, l.size, l.full = nil, nil, nil, List{}, time.Time{}, 0, false
}

// readJobs lists the replications that wait or run. Documents of jobs are read within a shorter time.
func (l *listing) readJobs(ctx, within context.Context, v *View) (list []*Listed, err error) {
	before := l.early
	l.early = map[string]early{}
	for j, err := range v.m.o.Store.JobsOf(ctx, layer.ReplicationJobs, "") {
		if err != nil {
			return nil, err
		}
		if !live(&j) {
			continue
		}
		s := &shown{job: &j, what: dataOf(&j), rec: parseRecord(j.Progress)}
		if s.rec.Began.IsZero() {
			e, known := before[j.ID]
			if !known || !e.updated.Equal(j.Updated) {
				e = early{j.Updated, v.foretold(within, &j, s.what, nil)}
			}
			if s.rec = e.rec; within.Err() == nil || known {
				l.early[j.ID] = e
			}
		}
		s.state = s.rec.state(&j)
		r := s.listed()
		list = append(list, &r)
		if r.Document != "" && l.of[r.Database] == nil {
			l.of[r.Database] = &endedIn{}
		}
	}
	return list, nil
}

// readDocs reads what has changed in the databases whose documents ask for replications, and reports whether nothing
// is left that was never read.
func (l *listing) readDocs(ctx context.Context, v *View) (whole bool) {
	whole = true
	if time.Since(l.named) > namesEvery {
		whole = l.readNames(ctx) == nil
	}
	names := make([]string, 0, len(l.of))
	for name := range l.of {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(l.of[a].at.Compare(l.of[b].at), strings.Compare(a, b))
	})
	again := 0
	for _, name := range names {
		if l.of[name].whole {
			if again++; again > maxAgain {
				break
			}
		}
		if err := l.readIn(ctx, v, name); err != nil {
			if e := l.of[name]; e != nil && !e.whole {
				whole = false
			}
			if ctx.Err() != nil {
				break
			}
		}
	}
	return whole
}

// readNames finds the databases.
func (l *listing) readNames(ctx context.Context) error {
	begun, there := time.Now(), map[string]bool{}
	for name, err := range l.store.Names(ctx, layer.NamesOptions{Limit: -1}) {
		if err != nil {
			return err
		}
		if !layer.IsReplicator(name) {
			continue
		}
		if there[name] = true; l.of[name] == nil {
			l.of[name] = &endedIn{}
		}
	}
	for name := range l.of {
		if !there[name] {
			l.drop(name)
		}
	}
	l.named = begun
	return nil
}

func (l *listing) drop(name string) {
	l.size -= len(l.of[name].rows)
	delete(l.of, name)
}

// readIn reads what has changed in a database.
func (l *listing) readIn(ctx context.Context, v *View, name string) error {
	db, err := l.store.Database(ctx, name)
	if err == nil {
		err = l.follow(ctx, v, db)
	}
	if layer.KindOf(err) == layer.NotFound {
		l.drop(name)
		return nil
	}
	return err
}

func (l *listing) follow(ctx context.Context, v *View, db *layer.Database) error {
	info, err := db.Info(ctx)
	if err != nil {
		return err
	}
	e := l.of[db.Name()]
	if e.uuid != info.UUID || e.purges != info.PurgeSeq { // what was purged is not in the feed
		l.size -= len(e.rows)
		e = &endedIn{uuid: info.UUID, purges: info.PurgeSeq, rows: map[string]*Listed{}}
		l.of[db.Name()] = e
	}
	e.at = time.Now()
	if e.whole && e.since == info.UpdateSeq {
		return nil
	}
	pass, err := db.Changes(ctx, layer.ChangesOptions{Since: e.since, Limit: -1, IncludeDocs: true, Uncounted: true})
	if err != nil {
		return err
	}
	for c, err := range pass.Rows {
		if err != nil {
			return err
		}
		l.learn(v, db.Name(), &c)
		e.since = c.Seq
	}
	e.since, e.whole = pass.LastSeq(), true
	return nil
}

// learn notes a change of a document.
func (l *listing) learn(v *View, database string, c *layer.Change) {
	e := l.of[database]
	if _, known := e.rows[c.ID]; known {
		delete(e.rows, c.ID)
		l.size--
	}
	if c.Deleted || c.Doc == nil || strings.HasPrefix(c.ID, "_design/") || !isTerminal(c.Doc.Body) {
		return
	}
	if l.size >= MaxEnded {
		l.full = true
		return
	}
	e.rows[c.ID] = v.listedDoc(database, c.Doc)
	l.size++
}

// listedDoc is a document whose replication has ended for good, as a row of a list.
func (v *View) listedDoc(database string, doc *layer.Document) *Listed {
	body := gjson.ParseBytes(doc.Body)
	at := func(r gjson.Result) time.Time {
		t, _ := time.Parse(time.RFC3339, r.Str) // zero if that is not known
		return t
	}
	stats := body.Get("_replication_stats")
	l := &Listed{State: stateOf(doc.Body), Database: database, Document: doc.ID,
		Changed: at(body.Get("_replication_state_time")), Began: at(stats.Get("start_time")),
		Read: stats.Get("docs_read").Int(), Written: stats.Get("docs_written").Int(),
		Failed: stats.Get("doc_write_failures").Int()}
	d := v.m.o.Settings().Defaults
	if s, err := d.Parse(doc.Body); err == nil { // otherwise parts of an invalid URL might be shown
		l.Source, l.Target, l.Continuous = s.Source.Shown(), s.Target.Shown(), s.Continuous
	}
	if l.State == FailedState {
		reason := body.Get("_replication_state_reason").String()
		l.Errors, l.Reason = 1, strings.Clone(strings.ToValidUTF8(reason[:min(len(reason), reasonLength)], ""))
	}
	return l
}

func (s *shown) listed() Listed {
	r := s.rec
	l := Listed{ID: r.ID, State: s.state, Source: r.Source, Target: r.Target, Database: s.what.Database,
		Document: s.what.Document, User: s.what.User, Node: r.Node, Continuous: r.Continuous, Began: r.Began,
		Changed: r.Changed, Pending: r.Pending, Errors: r.Errors, Reason: r.Broken}
	if r.Stats != nil {
		l.Read, l.Written, l.Failed = r.Stats.DocsRead, r.Stats.DocsWritten, r.Stats.DocWriteFailures
	}
	switch s.state {
	case Crashing:
		l.Reason = r.History[0].Reason
	case Running:
		l.Reason = r.Trouble
	}
	return l
}
