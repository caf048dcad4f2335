package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/state"
)

const (
	// patience is how long an answer may take.
	patience = time.Second
	// shortPatience is how long a node is waited for that has not answered before.
	shortPatience = 50 * time.Millisecond
	// sameClock is the difference of clocks, beyond the time that an answer took, that is not corrected.
	sameClock = 100 * time.Millisecond
)

// Peers are the other members. All methods are safe for concurrent use.
type Peers interface {
	// Others returns the names of the other members that are up.
	Others() []string
	// Request sends a request to another member, whose Console gets it by Answer, and returns the answer. The error is
	// a Refused if the member has refused, or was not asked.
	Request(ctx context.Context, member string, request []byte) ([]byte, error)
}

// question is what nodes send each other.
type question struct {
	Ask string          `json:"ask"`
	Of  json.RawMessage `json:"of,omitempty"`
}

// reply is the answer to a question.
type reply struct {
	Now   time.Time       `json:"now"` // by the clock of the node that answers
	Value json.RawMessage `json:"value"`
}

// answer is a node's answer.
type answer[A any] struct {
	Node  string
	Value A
	// Skew is how far the node's clock is ahead of this one's; 0 if that cannot be told from the time that the answer
	// took.
	Skew time.Duration
}

// peers remembers which nodes answer.
type peers struct {
	Peers
	mu struct {
		sync.Mutex
		of map[string]*peer
	}
}

type peer struct {
	answered time.Time // when it last answered
	failing  string    // why it did not answer last time
	asking   int       // requests under way that nobody may be waiting for
}

// maxAsking bounds the requests under way to a node that does not answer.
const maxAsking = 4

// gather asks all nodes the same, this one included, and returns the answers by node and the nodes that have not
// answered. It takes little longer than patience.
func gather[Q, A any](ctx context.Context, c *Console, ask string, q Q,
	here func(context.Context, Q) (A, error)) ([]answer[A], []state.Absent) {
	request, err := encodeQuestion(ask, q)
	if err != nil {
		return nil, []state.Absent{{Node: c.o.Node, Reason: err.Error()}}
	}
	var mu sync.Mutex
	var answers []answer[A]
	absent := []state.Absent{}
	add := func(node string, v A, skew time.Duration, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			absent = append(absent, c.peers.absent(node, err))
			return
		}
		answers = append(answers, answer[A]{node, v, skew})
	}
	var asking sync.WaitGroup
	asking.Go(func() {
		within, cancel := context.WithTimeout(ctx, 2*patience)
		defer cancel()
		v, err := here(within, q)
		add(c.o.Node, v, 0, c.o.plain(err))
	})
	for _, node := range c.peers.Others() {
		asking.Go(func() {
			var v A
			r, skew, err := c.peers.ask(ctx, node, request)
			if err == nil {
				err = unreadable(json.Unmarshal(r.Value, &v))
			}
			add(node, v, skew, err)
		})
	}
	asking.Wait()
	slices.SortFunc(answers, func(a, b answer[A]) int { return strings.Compare(a.Node, b.Node) })
	slices.SortFunc(absent, func(a, b state.Absent) int { return strings.Compare(a.Node, b.Node) })
	return answers, absent
}

func encodeQuestion(ask string, q any) ([]byte, error) {
	of, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return json.Marshal(question{ask, of})
}

// ask asks one node. A node that has not answered before is waited for only briefly, so that it does not delay the
// others; its late answer still counts.
func (p *peers) ask(ctx context.Context, node string, request []byte) (reply, time.Duration, error) {
	p.mu.Lock()
	if p.mu.of == nil {
		p.mu.of = map[string]*peer{}
	}
	known := p.mu.of[node]
	if known == nil {
		known = &peer{}
		p.mu.of[node] = known
	}
	wait := patience
	if known.failing != "" {
		wait = shortPatience
		if known.asking >= maxAsking {
			p.mu.Unlock()
			return reply{}, 0, errors.New(known.failing)
		}
	}
	known.asking++
	p.mu.Unlock()

	type result struct {
		reply
		skew time.Duration
		err  error
	}
	done := make(chan result, 1)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	go func() { // ends within patience
		defer cancel()
		var r result
		begun := time.Now()
		text, err := p.Request(ctx, node, request)
		took := time.Since(begun)
		if err == nil {
			err = unreadable(json.Unmarshal(text, &r.reply))
		}
		if r.err = err; err == nil {
			r.skew = skew(r.Now, begun, took)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		known.asking--
		known.failing = ""
		if err != nil {
			known.failing = reason(err)
		} else {
			known.answered = time.Now()
		}
		done <- r
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.reply, r.skew, r.err
	case <-timer.C:
		return reply{}, 0, errNoAnswer
	}
}

var errNoAnswer = errors.New("it does not answer")

// unreadable returns the error of reading another node's answer, or nil.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("this node cannot read its answer, as if their versions differed too much: %w", err)
}

// plainly returns an error of a request in plain words.
func plainly(err error) error {
	var plain *plainError // which may be due to a deadline
	if !errors.As(err, &plain) && errors.Is(err, context.DeadlineExceeded) {
		return errNoAnswer
	}
	return err
}

// reason returns the text of an error of a request in plain words.
func reason(err error) string { return plainly(err).Error() }

// skew returns how far another node's clock is ahead, from what it said in an answer.
func skew(said time.Time, begun time.Time, took time.Duration) time.Duration {
	d := said.Sub(begun.Add(took / 2))
	if d.Abs() <= took/2+sameClock {
		return 0
	}
	return d
}

// absent describes a node that has not answered.
func (p *peers) absent(node string, err error) state.Absent {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := state.Absent{Node: node, Reason: reason(err)}
	if known := p.mu.of[node]; known != nil && !known.answered.IsZero() {
		at := known.answered.UTC()
		a.Since = &at
	}
	return a
}

// Answer answers another node's question. It is for cluster.Options.Answer.
func (c *Console) Answer(ctx context.Context, from string, request []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(request, &q); err != nil {
		return nil, fmt.Errorf("console: read a question: %w", err)
	}
	answers := c.answers[q.Ask]
	if answers == nil {
		return nil, fmt.Errorf("this version cannot answer %q", q.Ask)
	}
	v, err := answers(ctx, from, q.Of)
	if err != nil {
		return nil, c.o.plain(err) // its text is all that the other node gets
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return json.Marshal(reply{time.Now().UTC(), text})
}

// answering returns a function of Console.answers.
func answering[Q, A any](f func(context.Context, Q) (A, error)) func(context.Context, string, json.RawMessage) (any,
	error) {
	return func(ctx context.Context, _ string, of json.RawMessage) (any, error) {
		var q Q
		if err := json.Unmarshal(of, &q); err != nil {
			return nil, fmt.Errorf("console: read a question: %w", err)
		}
		return f(ctx, q)
	}
}
