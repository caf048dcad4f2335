package kvtest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/divandb/divan/layer/kv"
)

// moment is the state right after a commit.
type moment struct {
	stamp kv.Versionstamp
	state state
}

// verify returns the first violation of strict serialisability in the history.
func (h *history) verify(ctx context.Context, e kv.Engine, initial state) error {
	stored, stamps, err := readBack(ctx, e)
	if err != nil {
		return err
	}
	var commits []*record
	for _, r := range h.mu.records {
		stamp, there := stamps[r.id]
		switch {
		case r.outcome == committed && (!there || stamp != r.stamp):
			return fmt.Errorf("%s committed at %x and the store has %x", r.id, r.stamp, stamp)
		case r.outcome == unknown && there:
			// The commit may have happened at any time since the transaction began: its end is unknown.
			r.outcome, r.stamp, r.end = committed, stamp, math.MaxInt64
		case r.outcome != committed && there:
			return fmt.Errorf("%s did not commit, and the store has it at %x", r.id, stamp)
		}
		if r.outcome == committed {
			commits = append(commits, r)
		}
	}
	slices.SortFunc(commits, func(a, b *record) int { return bytes.Compare(a.stamp[:], b.stamp[:]) })
	moments := []moment{{state: initial}}
	for i, r := range commits {
		if i > 0 && commits[i-1].stamp == r.stamp {
			return fmt.Errorf("%s and %s have the stamp %x", commits[i-1].id, r.id, r.stamp)
		}
		next := cloneState(moments[i].state)
		for _, s := range r.steps {
			s.mutation.apply(next)
		}
		moments = append(moments, moment{r.stamp, next})
	}
	for _, r := range h.mu.records {
		if err := r.verify(moments); err != nil {
			return err
		}
	}
	if got, want := stored.rows(everything, kv.RangeOptions{}),
		moments[len(moments)-1].state.rows(everything, kv.RangeOptions{}); got != want {
		return fmt.Errorf("at the end the store has %q, the order of commits gives %q", got, want)
	}
	return realTime(h.mu.records)
}

// readBack returns the store's content and, separately, which transactions committed with which versionstamp.
func readBack(ctx context.Context, e kv.Engine) (state, map[string]kv.Versionstamp, error) {
	type content struct {
		state  state
		stamps map[string]kv.Versionstamp
	}
	c, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (content, error) {
		c := content{state{}, map[string]kv.Versionstamp{}}
		it := tx.GetRange(everything, kv.RangeOptions{Mode: kv.ModeWantAll})
		defer it.Close()
		for it.Next() {
			row := it.KeyValue()
			if bytes.HasPrefix(row.Key, key("id/")) {
				c.stamps[string(row.Key)] = kv.Versionstamp(row.Value)
			} else {
				c.state[string(row.Key)] = string(row.Value)
			}
		}
		return c, it.Err()
	})
	return c.state, c.stamps, err
}

// verify replays the transaction on the state at its read version, and if it committed, also on the state right
// before its commit.
func (r *record) verify(moments []moment) error {
	if r.readVersion >= 0 {
		// The last state with a version up to the read version.
		after := sort.Search(len(moments), func(i int) bool {
			return i > 0 && moments[i].stamp.Version() > r.readVersion
		})
		if err := r.replay(moments[after-1].state, true); err != nil {
			return fmt.Errorf("%s, reading at version %d: %w", r.id, r.readVersion, err)
		}
	}
	if r.outcome != committed {
		return nil
	}
	if r.readVersion >= r.stamp.Version() {
		return fmt.Errorf("%s read at version %d and committed at %d", r.id, r.readVersion, r.stamp.Version())
	}
	at := sort.Search(len(moments), func(i int) bool {
		return i > 0 && bytes.Compare(moments[i].stamp[:], r.stamp[:]) >= 0
	})
	if err := r.replay(moments[at-1].state, false); err != nil {
		return fmt.Errorf("%s, as it committed at %x: %w", r.id, r.stamp, err)
	}
	return nil
}

// replay runs the transaction's steps on a state and compares its reads. Reads without conflicts match at the read
// version only.
func (r *record) replay(from state, snapshots bool) error {
	s := cloneState(from)
	for _, step := range r.steps {
		if step.read == nil {
			step.mutation.apply(s)
			continue
		}
		if step.snapshot && !snapshots || !step.answered {
			continue
		}
		if want := step.read(s); step.got != want {
			return fmt.Errorf("%s gave %q, must be %q", step.name, step.got, want)
		}
	}
	return nil
}

// realTime checks that a transaction that began after another had ended comes after it in the order.
func realTime(records []*record) error {
	byEnd := slices.Clone(records)
	slices.SortFunc(byEnd, func(a, b *record) int { return int(min(max(a.end-b.end, -1), 1)) })
	byStart := slices.Clone(records)
	slices.SortFunc(byStart, func(a, b *record) int { return int(a.start - b.start) })
	var last *record // the highest stamp of those that have ended
	i := 0
	for _, r := range byStart {
		for ; i < len(byEnd) && byEnd[i].end < r.start; i++ {
			if o := byEnd[i]; o.outcome == committed && (last == nil || bytes.Compare(o.stamp[:], last.stamp[:]) > 0) {
				last = o
			}
		}
		if last == nil {
			continue
		}
		if r.outcome == committed && bytes.Compare(r.stamp[:], last.stamp[:]) <= 0 {
			return fmt.Errorf("%s began after %s had committed at %x and committed at %x", r.id, last.id, last.stamp,
				r.stamp)
		}
		if r.readVersion >= 0 && r.readVersion < last.stamp.Version() {
			return fmt.Errorf("%s began after %s had committed at %x and read at version %d", r.id, last.id, last.stamp,
				r.readVersion)
		}
	}
	return nil
}
