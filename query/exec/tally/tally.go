// Package tally counts what the nodes of a plan do, for EXPLAIN ANALYZE. Package explain prints it; package work limits
// memory.
package tally

// Runs counts how often a node has been opened. The node itself counts the rows of its current run.
type Runs struct{ n, past int64 }

// Begin begins a run, for which rows becomes 0.
func (r *Runs) Begin(rows *int64) {
	r.n++
	r.past += *rows
	*rows = 0
}

// Total returns the rows of all runs, with those of the current one, and the number of runs; -1 if there was none.
func (r *Runs) Total(rows int64) (all, runs int64) {
	if r.n == 0 {
		return rows, -1
	}
	return r.past + rows, r.n
}

// Space is what a node needs for the rows that it keeps: the most memory at one time, bytes that were written to
// temporary files, and in how many parts the rows were processed, 0 if that is not known.
type Space struct{ Memory, Disk, Batches int64 }

// Hold records the memory that is held now.
func (s *Space) Hold(n int64) { s.Memory = max(s.Memory, n) }
