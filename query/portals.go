package query

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/sqlstate"
)

// maxPortals is how many portals, cursors among them, a session may have.
const maxPortals = 1000

// portals are those of a session, by name.
type portals struct {
	byName map[string]*portal
	// opened counts the portals that the session has ever opened, beganAt those before the transaction.
	opened, beganAt int64
}

// room fails where there may be no more. what is what the client calls them.
func (ps *portals) room(what string) error {
	if len(ps.byName) >= maxPortals {
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "a session may have at most %d open %s", maxPortals, what)
	}
	return nil
}

// open gives a portal its name.
func (ps *portals) open(name string, p *portal) {
	ps.opened++
	p.name, p.opened, p.at, p.text = name, ps.opened, time.Now(), cmp.Or(p.text, p.query)
	ps.byName[name] = p
}

// close closes a portal, where there is one.
func (ps *portals) close(name string) {
	if p := ps.byName[name]; p != nil {
		p.Close()
		delete(ps.byName, name)
	}
}

// closeThose closes the portals of which which is true.
func (ps *portals) closeThose(which func(*portal) bool) {
	for name, p := range ps.byName {
		if which(p) {
			p.Close()
			delete(ps.byName, name)
		}
	}
}

// commit ends a transaction: its portals end with it, but for cursors WITH HOLD.
func (ps *portals) commit() {
	ps.closeThose(notHeld)
	ps.beganAt = ps.opened
}

// rollBack ends a transaction of which nothing stays.
func (ps *portals) rollBack() {
	ps.closeThose(func(p *portal) bool { return !p.hold || p.opened > ps.beganAt })
}

// notHeld is true of portals that end with their transaction, as all but cursors WITH HOLD do.
func notHeld(p *portal) bool { return !p.hold }

// pause is for when the client has all answers: those that run let others work.
func (ps *portals) pause() {
	for _, p := range ps.byName {
		if r, running := p.rows.(*planRows); running {
			r.st.Pause()
		}
	}
}

// openCursors are the rows of pg_cursors: the portals, but the one of the simple protocol.
func (ps *portals) openCursors() []catalog.Cursor {
	var out []catalog.Cursor
	for _, name := range slices.Sorted(maps.Keys(ps.byName)) {
		p := ps.byName[name]
		out = append(out, catalog.Cursor{Name: name, Text: p.text, At: p.at.UnixMicro(), Hold: p.hold,
			Binary: p.declared && len(p.formats) > 0 && p.formats[0] == 1})
	}
	return out
}
