package events

import (
	"slices"
	"time"

	"github.com/divandb/divan/node/console/state"
)

// agreement lets the reports of nodes on one member agree. Each node has heard it last at another time and has seen it
// go at another time: the member is silent since the last of the former, and gone since the first of the latter.
type agreement struct {
	silent []*state.Event // reports on the silence of now
	gone   time.Time      // zero if it is not gone
}

// agree makes a list of events, oldest first, tell of each member by one clock. It changes the list, and returns it
// without suspicions of members that others had given up already.
func agree(merged []state.Event) []state.Event {
	late := map[string]bool{} // by id
	of := map[string]*agreement{}
	at := func(member string) *agreement {
		if of[member] == nil {
			of[member] = &agreement{}
		}
		return of[member]
	}
	for i := range merged {
		switch e := &merged[i]; e.Kind {
		case state.MemberSilent, state.MemberDead:
			a := at(e.Member)
			late[e.ID] = e.Kind == state.MemberSilent && a.knows(e)
			a.silent = append(a.silent, e)
			if e.Kind == state.MemberDead && a.gone.IsZero() {
				a.gone = e.At
			}
		case state.MemberAnswers, state.MemberRestart:
			a := at(e.Member)
			a.silent = append(a.silent, e)
			a.end()
		case state.MemberLeft:
			a := at(e.Member)
			a.end()
			a.gone = e.At
		case state.MemberReturned:
			a := at(e.Member)
			gone := a.gone
			if silent := a.end(); !silent.IsZero() {
				gone = silent
			}
			if !gone.IsZero() {
				setSince(e, gone)
			}
		case state.MemberJoined:
			at(e.Member).end()
		}
	}
	for _, a := range of {
		a.end()
	}
	return slices.DeleteFunc(merged, func(e state.Event) bool { return late[e.ID] })
}

// knows reports whether a suspicion comes after others have seen the member go, of whom the one that tells it had not
// heard yet. It is one of another silence if that node has heard the member since.
func (a *agreement) knows(suspicion *state.Event) bool {
	return !a.gone.IsZero() && suspicion.At.Sub(a.gone) <= sameWithin &&
		(suspicion.Since == nil || !suspicion.Since.After(a.gone))
}

// end ends a silence or an absence: its reports are all there are. It returns when the member was last heard, or zero
// if no report says it. A node that says that it heard the member after others had seen it go speaks of another
// silence, or was paused meanwhile. One that never heard the member, since it was started when it was dead, does not
// say it.
func (a *agreement) end() (last time.Time) {
	counts := func(e *state.Event) bool { return e.Since == nil || a.gone.IsZero() || !e.Since.After(a.gone) }
	for _, e := range a.silent {
		if counts(e) && e.Since != nil {
			last = later(last, *e.Since)
		}
	}
	for _, e := range a.silent {
		if counts(e) && !last.IsZero() && !e.At.Before(last) { // otherwise it was silent to one node alone
			setSince(e, last)
		}
	}
	*a = agreement{}
	return last
}

// setSince sets since when what an event tells lasts.
func setSince(e *state.Event, since time.Time) {
	e.Since, e.Seconds = &since, e.At.Sub(since).Seconds()
	e.Text = cut(text(e), maxText)
}
