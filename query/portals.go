package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/cursor"
	"github.com/divandb/divan/query/sqlstate"
)

// maxPortals is the most portals, including cursors, that a session may have.
const maxPortals = 1000

// portals holds the portals of a session by name.
type portals struct {
	byName map[string]*portal
	// opened counts the portals that the session has ever opened, beganAt those opened before the transaction.
	opened, beganAt int64
}

// room returns an error if no more are allowed. what is the client's word for them.
func (ps *portals) room(what string) error {
	if len(ps.byName) >= maxPortals {
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "a session may have at most %d open %s", maxPortals, what)
	}
	return nil
}

// open adds a portal under a name.
func (ps *portals) open(name string, p *portal) {
	ps.opened++
	p.name, p.opened, p.at, p.text = name, ps.opened, time.Now(), cmp.Or(p.text, p.query)
	ps.byName[name] = p
}

// close closes a portal, if it exists.
func (ps *portals) close(name string) {
	if p := ps.byName[name]; p != nil {
		p.Close()
		delete(ps.byName, name)
	}
}

// closeThose closes the portals for which which is true.
func (ps *portals) closeThose(which func(*portal) bool) {
	for name, p := range ps.byName {
		if which(p) {
			p.Close()
			delete(ps.byName, name)
		}
	}
}

// hold reads the rest of the rows of the transaction's cursors WITH HOLD, before it is committed.
func (ps *portals) hold(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(ps.byName)) {
		p := ps.byName[name]
		s, scrolls := p.rows.(*cursor.Rows)
		if !p.hold || p.failed || !scrolls {
			continue
		}
		call := p.within(ctx)
		err := s.Hold(call)
		p.release()
		if err != nil {
			if call.Err() != nil {
				err = context.Cause(call)
			}
			p.failed = true
			return withoutPosition(err)
		}
	}
	return nil
}

// commit ends a transaction: it closes all portals except cursors WITH HOLD.
func (ps *portals) commit() {
	ps.closeThose(notHeld)
	ps.beganAt = ps.opened
}

// rollBack ends a transaction: it closes all portals that were opened in it.
func (ps *portals) rollBack() {
	ps.closeThose(func(p *portal) bool { return !p.hold || p.opened > ps.beganAt })
}

// notHeld reports whether a portal ends with its transaction, as all except cursors WITH HOLD do.
func notHeld(p *portal) bool { return !p.hold }

// pause is called when the client has all answers. Running portals give up the processor.
func (ps *portals) pause() {
	for _, p := range ps.byName {
		if st := cursor.State(p.rows); st != nil {
			st.Pause()
		}
	}
}

// openCursors returns the rows of pg_cursors: the portals without that of the simple protocol.
func (ps *portals) openCursors() []catalog.Cursor {
	var out []catalog.Cursor
	for _, name := range slices.Sorted(maps.Keys(ps.byName)) {
		p := ps.byName[name]
		out = append(out, catalog.Cursor{Name: name, Text: p.text, At: p.at.UnixMicro(), Hold: p.hold,
			Scroll: p.back != cursor.Never, Binary: p.binary})
	}
	return out
}
