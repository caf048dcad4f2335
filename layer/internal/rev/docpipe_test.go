package rev

import "testing"

// Pipes share the memory of batches, so that very many clients that do not read hold little each.
func TestDocPipe_most(t *testing.T) {
	defer pipes.Store(pipes.Load())
	ahead, here := DocPipe[int]{ahead: true}, DocPipe[int]{}
	for _, c := range []struct{ running, rows, bytes int }{
		{0, pipeRows, pipeBytes},
		{1, pipeRows, pipeBytes},
		{pipesWhole, pipeRows, pipeBytes},
		{2 * pipesWhole, pipeRows / 2, pipeBytes / 2},
		{100_000, pipeRowsHere, pipeBytesLeast},
	} {
		pipes.Store(int64(c.running))
		if got := ahead.most(); got != c.rows {
			t.Errorf("%d pipes: batches of %d rows, want %d", c.running, got, c.rows)
		}
		if got := share(pipeBytes, pipeBytesLeast); got != c.bytes {
			t.Errorf("%d pipes: batches of %d bytes, want %d", c.running, got, c.bytes)
		}
		if got := here.most(); got != pipeRowsHere {
			t.Errorf("%d pipes: batches of %d rows on one goroutine", c.running, got)
		}
	}
}
