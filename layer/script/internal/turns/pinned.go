package turns

// Pin marks the turn of calls that cannot be restarted, because they have already sent something. They are paused in
// favour of others like any call, but never stopped. The caller bounds their number, and sees to it that nobody waits
// for what they hold. Called before Begin.
func (t *Turn) Pin() { t.pinned = true }

// Outside runs do, which may block, without the turn, and waits for the turn again. What runs afterwards counts as a
// new call. After an error the caller does not have the turn, and must call End.
func (t *Turn) Outside(do func() error) error {
	s := t.turns
	s.mu.Lock()
	n := Now()
	s.charge(t, n)
	t.halt()
	t.forget()
	s.dispatch(n)
	s.mu.Unlock()
	if err := do(); err != nil {
		return err
	}
	s.mu.Lock()
	n = Now()
	t.waited = 0
	s.enqueue(t, true, n)
	s.dispatch(n)
	s.mu.Unlock()
	if err := t.wait(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.fresh()
	t.start()
	return nil
}

// lastStoppable returns the account's most recently paused call that may be stopped, or nil.
func (a *account) lastStoppable() *Turn {
	for i := len(a.resumed) - 1; i >= 0; i-- {
		if !a.resumed[i].pinned {
			return a.resumed[i]
		}
	}
	return nil
}
