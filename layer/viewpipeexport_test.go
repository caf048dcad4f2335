package layer

import (
	"context"

	"github.com/divandb/divan/layer/script"
)

// MappedAhead are parts of a build that are read, and mapped ahead of who takes them.
type MappedAhead struct {
	b     *Build
	parts []gathered
	read  chan gathered
	p     pipeline
}

// ReadParts reads n parts of some documents each.
func ReadParts(ctx context.Context, b *Build, shard ShardID, n, docs int) (*MappedAhead, error) {
	m := &MappedAhead{b: b}
	from := *b.progress[shard]
	for range n {
		part, sources, err := b.gather(ctx, shard, from, docs)
		if err != nil {
			return nil, err
		}
		m.parts, from = append(m.parts, gathered{part, sources}), part.upTo
	}
	return m, nil
}

// Map maps the parts until ctx ends.
func (m *MappedAhead) Map(ctx context.Context) error {
	m.read = make(chan gathered, len(m.parts))
	for _, part := range m.parts {
		m.read <- part
	}
	close(m.read)
	mapped := make(chan *batch, aheadParts)
	m.p = pipeline{mapped: mapped, waiting: &waitingParts{less: make(chan struct{}, 1)}}
	ctx = script.Charge(ctx, m.b.Index.db.name, script.Background)
	return m.b.mapParts(ctx, m.read, mapped, m.p.waiting)
}

// Mapped is how many parts have been mapped, or are.
func (m *MappedAhead) Mapped() int { return len(m.parts) - len(m.read) }

// Take takes a mapped part.
func (m *MappedAhead) Take() { m.p.took(<-m.p.mapped) }
