package query

import (
	"context"
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/settings"
)

// habit remembers of a statement whether its snapshot should be taken before it is planned. nil remembers nothing.
type habit struct{ times int8 }

func (h *habit) early() bool { return h != nil && h.times > 0 }

// observe records whether it would have been right to take the snapshot first.
func (h *habit) observe(right bool) {
	// While writes keep its indexes behind, a statement tries it again after some executions.
	const pause = -8
	switch {
	case h == nil:
	case !right:
		h.times = pause
	case h.times <= 0:
		h.times++
	}
}

// early plans a statement over a snapshot taken before that, if its last execution needed one because of views that it
// does not name. Otherwise it would be planned twice, with all that planning reads: to find out that it needs a
// snapshot, and over the snapshot. early returns nil if an index is behind: then it has to be brought up to date first.
func (r *reads) early(ctx context.Context, bound *bind.Bound, st *exec.State, needs needs) (p *pinned, root exec.Plan,
	err error) {
	if !needs.habit.early() || needs.repeatable || needs.moment || bound.Db == nil || !bound.UsesStore() ||
		r.vars.Value(settings.AsOf) != "" {
		return nil, nil, nil
	}
	if p, err = r.snapshotOf(ctx, bound.Db, nil, inexact); p == nil || err != nil {
		return nil, nil, err
	}
	at := *bound
	at.Db = p.Snapshot
	root, err = plan.New(&at, st)
	if err == nil && !st.Reads.Behind && !st.Reads.Follow && onlyOptional(st.Reads.Views) {
		if st.Reads.Count < several {
			needs.habit.observe(false) // no view answers it any more
		}
		return p, root, nil
	}
	p.release()
	needs.habit.observe(false)
	return nil, nil, err
}

// onlyOptional reports whether a statement names none of the views.
func onlyOptional(views []exec.ViewUse) bool {
	return !slices.ContainsFunc(views, func(v exec.ViewUse) bool { return !v.Optional })
}
