package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
)

// table collects results.
type table struct{ rows [][2]string }

func (t *table) row(what, format string, args ...any) {
	t.rows = append(t.rows, [2]string{what, fmt.Sprintf(format, args...)})
}

func (t *table) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	for _, r := range t.rows {
		fmt.Fprintf(out, "%s\t%s\t\n", r[0], r[1])
	}
	_ = out.Flush() // standard output
}

// each calls f for 0 to n-1 on several connections and returns all errors.
func each(connections, n int, f func(i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, connections)
	for c := range connections {
		wg.Go(func() {
			for i := c; i < n && errs[c] == nil; i += connections {
				errs[c] = f(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
