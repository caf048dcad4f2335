package events

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
)

// nobody stands where no node is left.
const nobody = "no node"

// kind describes the events of a kind.
type kind struct {
	severity state.Severity
	log      string // the message in the log
	limited  bool   // a stranger can cause it
	// about is what has happened, and advice what to do, in docs/events.md.
	about, advice string
}

var kinds = map[state.EventKind]kind{
	state.NodeStarted: {severity: state.Info, log: "this node has started",
		about: "a node has started", advice: "nothing"},
	state.Draining: {severity: state.Info, log: "this node is being drained",
		about:  "a node has given its work to others, since it stops or somebody drained it; the others keep that",
		advice: "nothing"},
	state.MemberJoined: {severity: state.Info, log: "a member joined",
		about: "a node has joined the cluster", advice: "nothing"},
	state.MemberSilent: {severity: state.Warning, log: "a member does not answer",
		about: "a node does not answer", advice: "look at it if it does not answer again"},
	state.MemberAnswers: {severity: state.Good, log: "a member answers again",
		about:  "a silent node answers again",
		advice: "nothing, unless it happens often: then the network or the machine is overloaded"},
	state.MemberDead: {severity: state.Error, log: "a member was given up",
		about: "a silent node was given up; others do its work", advice: "start it again"},
	state.MemberLeft: {severity: state.Info, log: "a member left",
		about: "a node has stopped as announced", advice: "nothing"},
	state.MemberReturned: {severity: state.Good, log: "a member is back",
		about:  "a node that was given up is back; it was gone since it was last heard, or since it left",
		advice: "nothing"},
	state.MemberRestart: {severity: state.Info, log: "a member has restarted",
		about:  "a node has restarted before it was given up",
		advice: "nothing, unless nobody restarted it: see its log"},
	state.NodePaused: {severity: state.Warning, log: "this node was paused",
		about: "a node did not run for some time: its process was stopped, or its machine frozen or overloaded; the " +
			"others may have given it up",
		advice: "nothing, unless it happens often: then give its machine more processors or memory"},
	state.WrongSecret: {severity: state.Error, log: "a node has another secret", limited: true,
		about: "a node with another `cluster.secret`, or none, calls", advice: "give all nodes the same secret"},
	state.NameClash: {severity: state.Error, log: "two nodes have the same name", limited: true,
		about: "two nodes have the same name, of which the one that has lost it tells the others, or one could not " +
			"start because its name is taken",
		advice: "give one of them another name"},
	state.ShardsMoved: {severity: state.Info, log: "actors of changes shards moved",
		about: "other nodes watch the changes shards of a node", advice: "nothing"},
	state.ActorFailed: {severity: state.Error, log: "actor failed",
		about: "a part of a node failed and was restarted", advice: "report it, with the text in `detail`"},
	state.JobTaken: {severity: state.Info, log: tookJobs,
		about: "background work of a node that is gone goes on elsewhere; in the log once for all jobs, with their " +
			"number, and in one line of the console and of `divan status`", advice: "nothing"},
	state.Resharded: {severity: state.Info, log: "a database was resharded",
		about: "a database has another number of changes shards", advice: "nothing"},
	state.StoreLost: {severity: state.Error, log: "the store does not answer",
		about:  "the store does not answer; requests get 503",
		advice: "start the node with the store, or look at FoundationDB"},
	state.StoreBack: {severity: state.Good, log: "the store answers again",
		about: "the store answers again", advice: "nothing"},
	state.SlowStatement: {severity: state.Warning, log: "a statement was slow", limited: true,
		about: "an SQL statement took more than 2 s, also until it was cancelled, failed, or was ended with its " +
			"session, as its text says; `detail` has its plan", advice: "find a view or an index for it"},
	state.IndexErrors: {severity: state.Warning, log: "views skip documents",
		about:  "views skip documents whose map functions failed; again when they are twice as many",
		advice: "see `_design/{ddoc}/_errors`"},
	state.DiskLow: {severity: state.Error, log: "the disk is nearly full",
		about: "the disk of the store will soon be full", advice: "make space"},
	state.Degraded: {severity: state.Error, log: "this node needs an operator",
		about: "there is a reason in `/_up`", advice: "what the reason says"},
	state.Recovered: {severity: state.Good, log: "a reason to need an operator is over",
		about: "a reason in `/_up` is gone", advice: "nothing"},
	state.SettingChanged: {severity: state.Info, log: "a setting was changed",
		about: "somebody changed a setting with `_config`", advice: "nothing"},
	state.LoginRefused: {severity: state.Warning, log: "authentication failed", limited: true,
		about:  "a login was refused; those during a lockout are counted in `repeated`",
		advice: "nothing, unless there are many: somebody guesses passwords"},
	state.ActionDone: {severity: state.Info, log: "an operator acted",
		about:  "an operator did something in the console, or ended or cancelled another session by SQL",
		advice: "nothing"},
	state.ActionRefused: {severity: state.Warning, log: "an action was refused", limited: true,
		about: "somebody has tried to do something in the console, or with the session of another user by SQL, " +
			"without the right to do it; attempts that repeat it within an hour are counted in `repeated`",
		advice: "ask the user; of a page of another site it may be an attack on who has opened it"},

	state.ReplicationFailed: {severity: state.Warning, log: "a replication failed", limited: true,
		about: "a replication failed", advice: "see `/_scheduler/docs`"},
}

var levels = map[state.Severity]slog.Level{
	state.Info: slog.LevelInfo, state.Good: slog.LevelInfo, state.Warning: slog.LevelWarn, state.Error: slog.LevelError,
}

// text returns an event in plain words.
func text(e *state.Event) string {
	of := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	switch e.Kind {
	case state.NodeStarted:
		return fmt.Sprintf("%s has started, version %s", e.Node, e.Object)
	case state.Draining:
		return fmt.Sprintf("%s is being drained and gives its work to other nodes", e.Node)
	case state.MemberJoined:
		return fmt.Sprintf("%s joined, version %s", e.Member, of(e.Object, "unknown"))
	case state.MemberSilent:
		if e.Since == nil {
			return fmt.Sprintf("%s does not answer", e.Member)
		}
		return fmt.Sprintf("%s has not answered for %s", e.Member, duration(e))
	case state.MemberAnswers:
		return fmt.Sprintf("%s answers again, after %s", e.Member, duration(e))
	case state.MemberDead:
		if e.Since == nil {
			return fmt.Sprintf("%s does not answer and was given up", e.Member)
		}
		return fmt.Sprintf("%s has not answered for %s and was given up", e.Member, duration(e))
	case state.MemberLeft:
		return fmt.Sprintf("%s left as announced, up for %s", e.Member, duration(e))
	case state.MemberReturned:
		return fmt.Sprintf("%s is back, gone for %s", e.Member, duration(e))
	case state.MemberRestart:
		return fmt.Sprintf("%s has restarted", e.Member)
	case state.NodePaused:
		return fmt.Sprintf("%s was paused for %s, in which it did nothing and heard nobody", e.Member, duration(e))
	case state.WrongSecret:
		return fmt.Sprintf("a node at %s has another cluster.secret: give all nodes the same", e.Address)
	case state.NameClash:
		if e.Detail != "" {
			return fmt.Sprintf("a node at %s is called %s too, and %s: give it another name", e.Address, e.Member,
				e.Detail)
		}
		return fmt.Sprintf("the node at %s is called %s too: give it another name", e.Address, e.Member)
	case state.ShardsMoved:
		return fmt.Sprintf("%d %s moved from %s to %s", e.Count, plural(e.Count, "changes shard"), e.From,
			cmp.Or(e.To, nobody))
	case state.ActorFailed:
		return fmt.Sprintf("%s failed and is restarted: %s", e.Actor, firstLine(e.Detail))
	case state.JobTaken:
		if e.Count > 1 {
			return fmt.Sprintf("%d jobs were taken over from %s by %s", e.Count, e.From, e.To)
		}
		return fmt.Sprintf("job %s goes on, on %s: %s has left it", e.Job, e.To, e.From)
	case state.Resharded:
		return fmt.Sprintf("%s was resharded to %d %s%s", e.Database, e.Count, plural(e.Count, "shard"), by(e))
	case state.StoreLost:
		return StoreLost(firstLine(e.Detail))
	case state.StoreBack:
		return "the store answers again, after " + duration(e)
	case state.SlowStatement:
		return Slow(e, "took")
	case state.IndexErrors:
		return fmt.Sprintf("views of %s in %s skip %d %s so far", e.Object, e.Database, e.Count,
			plural(e.Count, "document"))
	case state.DiskLow, state.Degraded:
		return firstLine(e.Detail)
	case state.Recovered:
		return strings.ReplaceAll(e.Object, "_", " ") + " is over"
	case state.SettingChanged:
		return fmt.Sprintf("setting %s was changed%s", e.Object, by(e))
	case state.LoginRefused:
		return fmt.Sprintf("a login of %s from %s was refused", of(e.User, "an unknown user"), e.Address)
	case state.ActionDone:
		return e.Object + by(e)
	case state.ActionRefused:
		who := of(e.User, "an unknown user")
		if e.Address != "" {
			who += " from " + e.Address
		}
		return fmt.Sprintf("not allowed to %s: %s; %s", who, e.Object, e.Detail)
	case state.ReplicationFailed:
		return fmt.Sprintf("the replication %s from %s to %s failed: %s", e.Object, of(e.From, "a database"),
			of(e.To, "another"), firstLine(e.Detail))
	}
	return string(e.Kind)
}

// StoreLost is the text of an event of that kind, with why the store is lost. Most reasons say that it does not answer,
// or that it cannot be read.
func StoreLost(reason string) string {
	if rest, ok := strings.CutPrefix(reason, "The store "); ok {
		return "the store " + rest
	}
	return "the store does not answer: " + reason
}

// Slow is the text of an event of a slow statement. ended says what it did for as long as it took: "took", or "was
// cancelled after".
func Slow(e *state.Event, ended string) string {
	return fmt.Sprintf("a statement of %s in %s %s %s%s", cmp.Or(e.User, "a session"), e.Database, ended, duration(e),
		rows(e))
}

func by(e *state.Event) string {
	if e.User == "" {
		return ""
	}
	return " by " + e.User
}

// rows says what a statement has read and returned.
func rows(e *state.Event) string {
	if e.Examined == 0 {
		return ""
	}
	return fmt.Sprintf(": it examined %d and returned %d %s", e.Examined, e.Count, plural(e.Count, "row"))
}

func plural(n int64, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// duration says how long what an event is about lasted.
func duration(e *state.Event) string {
	if e.Since != nil {
		return inWords(tenths(e.At).Sub(tenths(*e.Since)))
	}
	return inWords(time.Duration(e.Seconds * float64(time.Second)))
}

// tenths returns a time to a tenth of a second, as clocks show it: what is shown as 14.8 and 17.3 took 2.5 s.
func tenths(t time.Time) time.Time { return t.Truncate(100 * time.Millisecond) }

// inWords returns a duration with one or two units.
func inWords(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// attributes returns what the log says about an event. A statement is not in the log, since it may contain data.
func attributes(e *state.Event) []slog.Attr {
	list := []slog.Attr{slog.String("event", string(e.Kind))}
	add := func(key, value string) {
		if value != "" {
			list = append(list, slog.String(key, value))
		}
	}
	add("member", e.Member)
	add("database", e.Database)
	switch e.Kind {
	case state.SettingChanged:
		add("setting", e.Object)
	case state.ActionDone, state.ActionRefused:
		add("action", e.Object)
	case state.IndexErrors:
		add("design", e.Object)
	case state.NodeStarted, state.MemberJoined:
		add("version", e.Object)
	default:
		add("reason", e.Object)
	}
	add("job", e.Job)
	add("actor", e.Actor)
	add("user", e.User)
	add("from", e.Address)
	add("from_node", e.From)
	add("to_node", e.To)
	if e.Token != 0 {
		list = append(list, slog.Int64("token", e.Token))
	}
	if e.Count != 0 {
		list = append(list, slog.Int64("count", e.Count))
	}
	switch {
	case e.Since != nil:
		list = append(list, slog.Float64("seconds", e.At.Sub(*e.Since).Seconds()))
	case e.Seconds != 0:
		list = append(list, slog.Float64("seconds", e.Seconds))
	}
	if e.Kind != state.SlowStatement {
		add("error", e.Detail)
	}
	return list
}
