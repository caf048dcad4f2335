package relocate

import (
	"bufio"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Count returns a number with its noun: "1 database", "2 databases".
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Progress reports progress to a person. Its zero value reports nothing.
type Progress struct {
	// Out is where to report; nil reports nothing.
	Out io.Writer
	// Every is the interval between reports; 0 reports nothing.
	Every time.Duration

	moved atomic.Int64
}

// Say prints a line.
func (p *Progress) Say(format string, args ...any) {
	if p.Out != nil {
		fmt.Fprintf(p.Out, format+"\n", args...)
	}
}

// Run reports how much was moved until the returned function is called, which waits for the last report.
func (p *Progress) Run(what string) (stop func()) {
	if p.Out == nil || p.Every == 0 {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(p.Every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				p.Say("%s: %s", what, size(p.moved.Load()))
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// Writer returns a buffered writer that counts what goes to w. The caller must flush it.
func (p *Progress) Writer(w io.Writer) *bufio.Writer {
	return bufio.NewWriterSize(counted{w, &p.moved}, 1<<16)
}

type counted struct {
	io.Writer
	n *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n.Add(int64(n))
	return n, err
}

// Reader counts what is read from r, starting again at each Seek.
func (p *Progress) Reader(r io.ReadSeeker) io.ReadSeeker { return &countedReader{r, &p.moved} }

type countedReader struct {
	io.ReadSeeker
	n *atomic.Int64
}

func (c *countedReader) Read(b []byte) (int, error) {
	n, err := c.ReadSeeker.Read(b)
	c.n.Add(int64(n))
	return n, err
}

func (c *countedReader) Seek(offset int64, whence int) (int64, error) {
	at, err := c.ReadSeeker.Seek(offset, whence)
	c.n.Store(at)
	return at, err
}

// size formats a number of bytes.
func size(n int64) string {
	switch {
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.2f GB", float64(n)/1e9)
}
