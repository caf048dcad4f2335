package relocate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// maxSilence is how long a node may neither send nor accept anything, nor answer another request, before a request to
// it fails. There is no bound on the whole of a request: an import or a verification may take hours.
const maxSilence = 30 * time.Second

// alive watches over a request whose answer may take long. While nothing is sent or received, it asks the node in other
// requests whether it still answers.
type alive struct {
	c      *Client
	last   atomic.Int64 // the last sign of life, in nanoseconds of Unix time
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
}

// errSilent ends a request to a node that has been silent.
type errSilent time.Duration

func (e errSilent) Error() string {
	return fmt.Sprintf("nothing has answered there for %s", time.Duration(e))
}

// watch returns the context for a request, which ends when the node has been silent, and what to tell about it. The
// caller must call end at the end, or close the answer.
func (c *Client) watch(ctx context.Context) (context.Context, *alive) {
	ctx, cancel := context.WithCancelCause(ctx)
	watching, stop := context.WithCancel(ctx)
	a := &alive{c: c, cancel: cancel, stop: stop}
	a.sign()
	go a.run(watching)
	return ctx, a
}

// sign records a sign of life.
func (a *alive) sign() { a.last.Store(time.Now().UnixNano()) }

func (a *alive) silentFor() time.Duration { return time.Since(time.Unix(0, a.last.Load())) }

func (a *alive) run(ctx context.Context) {
	tick := time.NewTicker(a.c.silence / 6)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if a.silentFor() >= a.c.silence/3 && a.ask(ctx) {
			a.sign()
		}
		if a.silentFor() >= a.c.silence {
			a.cancel(errSilent(a.c.silence))
			return
		}
	}
}

// ask reports whether the node, or a CouchDB, answers at all: any status is a sign of life.
func (a *alive) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, a.c.silence/3)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(a.c.plain(), "/")+"/livez", nil)
	if err != nil {
		return false
	}
	answer, err := a.c.http.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return true
}

// end releases everything.
func (a *alive) end() {
	a.stop()
	a.cancel(nil)
}

// watchedBody is the body of a request or an answer, which are signs of life. Closing that of an answer ends the watch.
type watchedBody struct {
	io.ReadCloser
	ctx    context.Context
	a      *alive
	answer bool
}

func (b *watchedBody) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	if n > 0 {
		b.a.sign()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = silent(b.ctx, err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	if b.answer {
		b.a.end()
	}
	return b.ReadCloser.Close()
}

// silent returns the reason for which alive has ended a request, or else err.
func silent(ctx context.Context, err error) error {
	var s errSilent
	if errors.As(context.Cause(ctx), &s) {
		return s
	}
	return err
}
