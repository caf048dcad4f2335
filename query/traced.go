package query

import "context"

// Trace follows one statement, for Options.Trace. The methods are called by one goroutine at a time.
type Trace interface {
	// Within returns a context for a part of the statement's work.
	Within(ctx context.Context) context.Context
	// Ended is called once, with the number of rows sent.
	Ended(rows int64, failed bool)
}

// traced is the trace of a session's current statement. Only the session's goroutine uses it.
type traced struct {
	begin func(database, text, query string) Trace // nil: nothing is traced
	of    Trace                                    // nil between statements

	text   string
	rows   int64 // of the session, before the statement
	failed bool
}

// follow begins the trace of a statement, unless it has begun in an earlier message, and ends that of another one. An
// empty text only ends it. query is the message that it is a part of, and rows are the rows that the session has sent
// so far.
func (t *traced) follow(database, text, query string, rows int64) {
	if t.begin == nil || t.of != nil && t.text == text {
		return
	}
	if t.of != nil {
		t.of.Ended(rows-t.rows, t.failed)
		*t = traced{begin: t.begin}
	}
	if text != "" {
		t.of, t.text, t.rows = t.begin(database, text, query), text, rows
	}
}

// within returns the context of a message as that of the current statement's trace.
func (t *traced) within(ctx context.Context) context.Context {
	if t.of == nil {
		return ctx
	}
	return t.of.Within(ctx)
}
