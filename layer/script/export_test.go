package script

import (
	"time"

	"github.com/divandb/divan/layer/script/internal/direct"
)

// Indirect returns m with every function run by the engine.
func (m *Maps) Indirect() *Maps {
	n := *m
	n.direct = direct.Parse(make([]string, len(m.p.Functions)))
	return &n
}

// Direct reports whether a function is run without the engine.
func (m *Maps) Direct(function int) bool { return m.direct.Has(function) }

// LimitAfter returns the time limit of the first function after it was stopped at a number of documents.
func (m *Maps) LimitAfter(documents int) time.Duration {
	for range documents {
		m.patience.stopped(0)
	}
	return m.limit(0)
}
