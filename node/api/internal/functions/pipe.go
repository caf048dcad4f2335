package functions

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/rows"
)

// pipe connects a query, which runs in the goroutine of the request, with a list function, which runs in another one
// and writes the response. It is the query's rows.Taker and the function's script.Listing.
type pipe struct {
	function func(head []byte) error // runs the function
	begun    bool                    // it runs, or has run

	// Of the query: rows that are not passed on yet.
	batch [][]byte
	size  int // bytes

	batches  chan [][]byte
	failed   error // of the query; set before batches is closed
	ended    chan struct{}
	outcome  error // of the function, like panicked set before ended is closed
	panicked any

	// Of the function.
	q        *call.Request
	stream   *call.Stream
	response *response // nil until Begin
	rows     [][]byte
	wrong    error // the response object was none
}

func newPipe(q *call.Request) *pipe {
	return &pipe{q: q, batches: make(chan [][]byte), ended: make(chan struct{}), stream: q.Stream(http.StatusOK)}
}

const (
	// batchSize is how many bytes of rows the query may be ahead of the function, twice.
	batchSize = 64 << 10
	// unsent is how many bytes the function may have written before they are sent with its next row.
	unsent = 32 << 10
)

// errEnded ends a query whose list function has ended.
var errEnded = errors.New("the list function has ended")

// run runs the query, and the function beside it once the query has its head. It returns when both have ended. If the
// query fails before, the function does not run.
func (p *pipe) run(query func(rows.Taker) error, function func(head []byte) error) error {
	p.function = function
	err := query(taker{p})
	if !p.begun {
		return err
	}
	if err == nil && len(p.batch) > 0 {
		err = p.pass()
	}
	if !errors.Is(err, errEnded) {
		p.failed = err
	}
	close(p.batches)
	<-p.ended
	if p.panicked != nil {
		panic(p.panicked)
	}
	if p.outcome != nil && !p.stream.Sent && p.response != nil {
		p.response.unsetHeaders(p.q)
	}
	return p.outcome
}

// taker is the query's side.
type taker struct{ *pipe }

// Head starts the function.
func (t taker) Head(text []byte) error {
	t.begun = true
	p, head := t.pipe, slices.Clone(text)
	go func() {
		defer close(p.ended)
		defer func() {
			if v := recover(); v != nil {
				p.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
			}
		}()
		if p.outcome = p.function(head); p.outcome == nil {
			p.outcome = p.finish()
		}
	}()
	return nil
}

// Row passes a row on, at once if the function waits for it.
func (t taker) Row(text []byte) error {
	t.batch = append(t.batch, slices.Clone(text))
	t.size += len(text)
	if t.size >= batchSize {
		return t.pass()
	}
	select {
	case t.batches <- t.batch:
		t.batch, t.size = nil, 0
	default:
	}
	return nil
}

// pass waits until the function takes the rows.
func (p *pipe) pass() error {
	select {
	case p.batches <- p.batch:
		p.batch, p.size = nil, 0
		return nil
	case <-p.ended:
		return errEnded
	}
}

// Begin implements script.Listing. It counts until something was sent.
func (p *pipe) Begin(head []byte) {
	if !p.stream.Sent {
		p.response, p.wrong = parseResponse(gjson.ParseBytes(slices.Clone(head)))
	}
}

// Write implements script.Listing.
func (p *pipe) Write(text []byte) { p.stream.Buf = append(p.stream.Buf, text...) }

// Flush implements script.Listing. As in CouchDB, the response begins with its first text.
func (p *pipe) Flush() error {
	if p.wrong != nil {
		return p.wrong
	}
	if len(p.stream.Buf) == 0 {
		return nil
	}
	p.begin()
	return p.stream.Flush()
}

func (p *pipe) begin() {
	if p.stream.Sent {
		return
	}
	p.response.setHeaders(p.q)
	call.Plain(p.q, true)
	p.stream.SetStatus(p.response.code)
}

// Ready implements script.Listing.
func (p *pipe) Ready() bool { return len(p.rows) > 0 && len(p.stream.Buf) < unsent }

// Row implements script.Listing.
func (p *pipe) Row() ([]byte, error) {
	if len(p.stream.Buf) >= unsent {
		if err := p.Flush(); err != nil {
			return nil, err
		}
	}
	if len(p.rows) == 0 {
		select {
		case p.rows = <-p.batches:
		default:
			if err := p.sendOld(); err != nil {
				return nil, err
			}
			p.rows = <-p.batches
		}
	}
	if len(p.rows) == 0 {
		return nil, p.failed
	}
	row := p.rows[0]
	p.rows = p.rows[1:]
	return row, nil
}

// sendOld sends what was written before a wait, unless something was sent just now.
func (p *pipe) sendOld() error {
	if p.wrong != nil || len(p.stream.Buf) == 0 {
		return p.wrong
	}
	p.begin()
	return p.stream.Row()
}

// finish ends the response.
func (p *pipe) finish() error {
	if p.wrong != nil {
		return p.wrong
	}
	p.begin()
	if p.response.code == http.StatusNoContent || p.response.code == http.StatusNotModified {
		p.stream.Buf = p.stream.Buf[:0]
	}
	return p.stream.End()
}
