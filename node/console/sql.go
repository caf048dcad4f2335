package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/state"
)

const (
	// defaultRows and maxRows bound the rows of an answer, and maxAnswer its bytes. maxText bounds the SQL.
	defaultRows = 1000
	maxRows     = 10_000
	maxAnswer   = 16 << 20
	maxText     = 1 << 20
	// flushEvery is the longest time that a row waits for others.
	flushEvery = 100 * time.Millisecond
)

// Statement is SQL that a page runs. It may consist of several statements.
type Statement struct {
	User     string `json:"-"`
	Database string `json:"database"`
	SQL      string `json:"sql"`
	// Rows is how many rows are wanted; 0 means 1000. There are at most 10,000.
	Rows int `json:"rows"`
	// Explain asks for the plan of the one statement instead: Plan does not run it, PlanAndRun does.
	Explain string `json:"explain"`
}

// Values of Statement.Explain.
const (
	Plan       = "plan"
	PlanAndRun = "run"
)

// Results takes what a Statement returns: Columns, rows and Done for each statement in it, and notices at any time. An
// error ends it.
type Results interface {
	Columns(list []state.SQLColumn) error
	// Row takes the values as texts; nil is NULL. They are only valid until it returns.
	Row(values [][]byte) error
	Done(tag string) error
	Notice(e *state.SQLError) error
}

// sql runs a statement for the user of a request and streams the answer. The request needs the token: a statement may
// write. If the browser disconnects, the statement is cancelled.
func (p pages) sql(w http.ResponseWriter, r *http.Request) {
	user, ok := p.permitted(w, r)
	if !ok {
		return
	}
	var s Statement
	if fault := readBody(w, r, maxText, &s); fault != "" {
		refuse(w, http.StatusBadRequest, "The body must be an object with `database` and `sql`: "+fault+".")
		return
	}
	if s.Database == "" || s.Rows < 0 || s.Rows > maxRows {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("`database` must be the name of a database, and `rows` a number "+
			"up to %d.", maxRows))
		return
	}
	if s.Explain != "" && s.Explain != Plan && s.Explain != PlanAndRun {
		refuse(w, http.StatusBadRequest, "`explain` must be plan or run.")
		return
	}
	if s.User = user; s.Rows == 0 {
		s.Rows = defaultRows
	}
	head(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Accel-Buffering", "no") // for a proxy that would wait for the end
	to := &lines{w: w, rows: s.Rows, left: maxAnswer}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var flushing sync.WaitGroup
	flushing.Go(func() { to.flushUntil(ctx) })
	err := p.c.o.SQL(ctx, s, to)
	cancel()
	flushing.Wait()
	var failed *state.SQLError
	switch {
	case err == nil || r.Context().Err() != nil:
	case errors.Is(err, errEnough):
		_ = to.add(state.SQLLine{More: to.why(s.Rows) + " The statement was ended: what it did not commit is undone."})
	case errors.As(err, &failed):
		_ = to.add(state.SQLLine{Error: failed})
	default:
		_ = to.add(state.SQLLine{Error: &state.SQLError{Code: "XX000", Message: p.c.o.told(err)}})
	}
}

var errEnough = errors.New("console: enough rows")

// lines writes results as lines of JSON.
type lines struct {
	rows, left int // that may still be written
	mu         sync.Mutex
	w          http.ResponseWriter
	written    bool // since the last flush
	line       []byte
}

// why says what of the results is missing, if they are not whole. most is how many rows were asked for.
func (l *lines) why(most int) string {
	switch {
	case l.rows == 0:
		return fmt.Sprintf("There are more than %s rows. Only the first ones are read.", grouped(most))
	case l.rows == most:
		return fmt.Sprintf("The first row has more than %d MB, which is too much to show.", maxAnswer>>20)
	}
	return fmt.Sprintf("The rows have more than %d MB. Only the first ones are read.", maxAnswer>>20)
}

// grouped writes a number below a million as the page does: 10,000.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// flushUntil flushes what is written until ctx ends.
func (l *lines) flushUntil(ctx context.Context) {
	control := http.NewResponseController(l.w)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.mu.Lock()
			if l.written {
				_ = control.Flush() // a browser that has gone ends the request
				l.written = false
			}
			l.mu.Unlock()
		}
	}
}

func (l *lines) write(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left -= len(line)
	l.written = true
	_, err := l.w.Write(append(line, '\n'))
	return err
}

func (l *lines) add(line state.SQLLine) error {
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	return l.write(text)
}

func (l *lines) Columns(list []state.SQLColumn) error { return l.add(state.SQLLine{Columns: list}) }
func (l *lines) Done(tag string) error                { return l.add(state.SQLLine{Done: tag}) }
func (l *lines) Notice(e *state.SQLError) error       { return l.add(state.SQLLine{Notice: e}) }

// Row implements Results.
func (l *lines) Row(values [][]byte) error {
	size := 0
	for _, v := range values {
		size += len(v)
	}
	if l.rows == 0 || size > l.left {
		return errEnough
	}
	l.rows--
	l.line = append(l.line[:0], '[')
	for i, v := range values {
		if i > 0 {
			l.line = append(l.line, ',')
		}
		if v == nil {
			l.line = append(l.line, "null"...)
			continue
		}
		text, err := json.Marshal(string(v))
		if err != nil {
			return fmt.Errorf("console: %w", err)
		}
		l.line = append(l.line, text...)
	}
	return l.write(append(l.line, ']'))
}
