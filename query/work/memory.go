// Package work limits the memory and processor time of SQL statements. Memory is counted by a hierarchy of monitors, as
// in CockroachDB: a statement reserves memory from its session and a session from the node, so that a statement fails
// with an error before the process runs out of memory.
package work

import (
	"sync"

	"github.com/divandb/divan/query/sqlstate"
)

// The default limits.
const (
	DefaultNode      = 512 << 20
	DefaultSession   = 256 << 20
	DefaultStatement = 128 << 20
)

// Limits limits memory in bytes: for all sessions together, for a session, and for a statement. Zero means the default.
type Limits struct{ Node, Session, Statement int64 }

// WithDefaults replaces zeros by the defaults.
func (l Limits) WithDefaults() Limits {
	if l.Node <= 0 {
		l.Node = DefaultNode
	}
	if l.Session <= 0 {
		l.Session = DefaultSession
	}
	if l.Statement <= 0 {
		l.Statement = DefaultStatement
	}
	return l
}

// Memory counts the bytes that a node or a session holds. A session's memory counts for its node too. It is safe for
// concurrent use.
type Memory struct {
	limit   int64
	whose   string // "all SQL sessions" or "the session"
	setting string // its setting in node.yaml
	parent  *Memory
	mu      struct {
		sync.Mutex
		used, peak int64
	}
}

// NewNode returns the memory monitor of a node.
func NewNode(limit int64) *Memory {
	return &Memory{limit: limit, whose: "all SQL sessions of the node together need", setting: "sql.memory"}
}

// NewSession returns the memory monitor of a session of the node. The caller must close it.
func (m *Memory) NewSession(limit int64) *Memory {
	return &Memory{limit: limit, whose: "the session needs", setting: "sql.session_memory", parent: m}
}

// Grow reserves n bytes. If it cannot, it reserves nothing and returns an error with code 53200.
func (m *Memory) Grow(n int64) error {
	if n <= 0 {
		return nil
	}
	m.mu.Lock()
	if n > m.limit-m.mu.used {
		m.mu.Unlock()
		return outOfMemory(m.whose, m.limit, m.setting)
	}
	m.mu.used += n
	m.mu.peak = max(m.mu.peak, m.mu.used)
	m.mu.Unlock()
	if m.parent == nil {
		return nil
	}
	err := m.parent.Grow(n)
	if err != nil {
		m.give(n)
	}
	return err
}

// Shrink releases n bytes.
func (m *Memory) Shrink(n int64) {
	if n <= 0 {
		return
	}
	m.give(n)
	if m.parent != nil {
		m.parent.Shrink(n)
	}
}

func (m *Memory) give(n int64) {
	m.mu.Lock()
	m.mu.used -= n
	m.mu.Unlock()
}

// Used returns the bytes held now and the most that were ever held.
func (m *Memory) Used() (now, peak int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.used, m.mu.peak
}

// Limit returns the limit in bytes.
func (m *Memory) Limit() int64 { return m.limit }

// Close releases everything that is still held.
func (m *Memory) Close() {
	now, _ := m.Used()
	m.Shrink(now)
}

func outOfMemory(whose string, limit int64, setting string) error {
	e := sqlstate.New(sqlstate.OutOfMemory, "out of memory: %s more than %d MB", whose, max(limit>>20, 1))
	if setting == "sql.statement_memory" {
		return e.WithHint("Narrow it with WHERE or LIMIT, order by a column that the read is ordered by, or " +
			"use a view. " +
			"The limit is sql.statement_memory in node.yaml.")
	}
	return e.WithHint("End other statements, cursors and prepared statements, or raise %s in node.yaml.", setting)
}
