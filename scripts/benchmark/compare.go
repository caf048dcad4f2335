package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"
)

// compared are nodes of the measured binaries: one, or with -against the older one first. All run concurrently and are
// measured in turns, so that other work on the machine affects all of them alike.
type compared struct {
	nodes []*node
	dirs  []string
	t     *table
}

// compare runs f with a node of each binary.
func (e *environment) compare(ctx context.Context, name string, t *table, f func(c *compared) error) (err error) {
	c := &compared{t: t}
	defer func() {
		for _, n := range c.nodes {
			err = errors.Join(err, n.stop())
		}
	}()
	for _, binary := range e.binaries() {
		dir := e.newDir(name)
		n, err := start(ctx, binary, dir)
		if err != nil {
			return err
		}
		c.nodes, c.dirs = append(c.nodes, n), append(c.dirs, dir)
	}
	return f(c)
}

// binaries returns the binaries to measure.
func (e *environment) binaries() []string {
	if e.against == "" {
		return []string{e.binary}
	}
	return []string{e.against, e.binary}
}

// all runs f with each node, one after the other.
func (c *compared) all(f func(n *node) error) error {
	for _, n := range c.nodes {
		if err := f(n); err != nil {
			return err
		}
	}
	return nil
}

// measured is the result of one round of a measurement: the rate, and the node's CPU cost.
type measured struct{ rate, cpu float64 }

// rounds measures each node several times, in turns, and prints the medians: the number per second, and per second of
// the node's CPU time, which depends less on other work on the machine.
func (c *compared) rounds(what, unit string, rounds int, measure func(n *node, round int) (done int, err error)) error {
	found := make([][]measured, len(c.nodes))
	for round := range rounds {
		for i, n := range c.nodes {
			began, cpu := time.Now(), n.cpu()
			done, err := measure(n, round)
			if err != nil {
				return err
			}
			took, used := time.Since(began), max(n.cpu()-cpu, time.Millisecond)
			found[i] = append(found[i], measured{rate(done, took), rate(done, used)})
		}
	}
	rates, perCPU := make([]float64, len(found)), make([]float64, len(found))
	for i, rounds := range found {
		rates[i] = medianOf(rounds, func(m measured) float64 { return m.rate })
		perCPU[i] = medianOf(rounds, func(m measured) float64 { return m.cpu })
	}
	c.t.row(what, "%s", told(rates, unit+"/s")+"; per CPU second of the node "+told(perCPU, ""))
	return nil
}

func medianOf(rounds []measured, of func(measured) float64) float64 {
	values := make([]float64, len(rounds))
	for i, m := range rounds {
		values[i] = of(m)
	}
	return median(values)
}

// told formats a value for each binary. With two binaries it adds the ratio of the newer to the older one.
func told(values []float64, unit string) string {
	text := figure(values[len(values)-1])
	if unit != "" {
		text += " " + unit
	}
	if len(values) == 2 {
		text += fmt.Sprintf(" (before %s: %.2f times)", figure(values[0]), values[1]/values[0])
	}
	return text
}

func figure(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// bytes reads a response to its end and counts its bytes, with as little CPU as possible.
func (n *node) bytes(ctx context.Context, path string) (read int64, err error) {
	err = n.call(ctx, "GET", path, nil, func(r io.Reader) error {
		read, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 256<<10))
		return err
	})
	return read, err
}

// runAgainst runs a table that measures one binary with each of two, in turns, and prints the values side by side.
func (e *environment) runAgainst(ctx context.Context, b benchmark, t *table) error {
	const rounds = 3
	var tables [2][]*table
	for range rounds {
		for i, binary := range e.binaries() {
			one := environment{binary: binary, documents: e.documents,
				dir: filepath.Join(e.dir, fmt.Sprintf("%s-%d", b.name, e.starts))}
			e.starts++
			made := &table{}
			if err := b.run(ctx, &one, made); err != nil {
				return err
			}
			tables[i] = append(tables[i], made)
		}
	}
	last := tables[1][rounds-1]
	for i, row := range last.rows {
		values := make([]float64, 2)
		for which, made := range tables {
			var found []float64
			for _, one := range made {
				if i < len(one.rows) {
					found = append(found, firstNumber(one.rows[i][1]))
				}
			}
			values[which] = median(slices.Clone(found))
		}
		t.row(row[0], "%s   [%s]", told(values, ""), row[1])
	}
	return nil
}

// firstNumber returns the first number in a text, or 0 if there is none.
func firstNumber(text string) (v float64) {
	for i := range text {
		if text[i] >= '0' && text[i] <= '9' {
			_, _ = fmt.Sscanf(text[i:], "%g", &v) // 0 if it is none
			return v
		}
	}
	return 0
}
