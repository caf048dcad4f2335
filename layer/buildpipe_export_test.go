package layer

import (
	"context"

	"github.com/divandb/divan/layer/internal/build"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/script"
)

// MappedAhead holds parts of a build that are read and mapped ahead of their use.
type MappedAhead struct {
	b     *build.Build
	parts []build.Gathered
	read  chan build.Gathered
	p     build.Pipeline
}

// ReadParts reads n parts of some documents each.
func ReadParts(ctx context.Context, b *build.Build, shard db.ShardID, n, docs int) (*MappedAhead, error) {
	m := &MappedAhead{b: b}
	from := *b.Progress[shard]
	for range n {
		part, sources, err := b.Gather(ctx, shard, from, docs)
		if err != nil {
			return nil, err
		}
		m.parts, from = append(m.parts, build.Gathered{Batch: part, Sources: sources}), part.UpTo
	}
	return m, nil
}

// Map maps the parts until ctx ends.
func (m *MappedAhead) Map(ctx context.Context) error {
	m.read = make(chan build.Gathered, len(m.parts))
	for _, part := range m.parts {
		m.read <- part
	}
	close(m.read)
	mapped := make(chan *build.Batch, build.AheadParts)
	m.p = build.Pipeline{Mapped: mapped, Waiting: &build.WaitingParts{Less: make(chan struct{}, 1)}}
	ctx = script.Charge(ctx, m.b.Index.Db.Name(), script.Background)
	return m.b.MapParts(ctx, m.read, mapped, m.p.Waiting)
}

// Mapped returns how many parts have been mapped or are being mapped.
func (m *MappedAhead) Mapped() int { return len(m.parts) - len(m.read) }

// Take takes a mapped part.
func (m *MappedAhead) Take() { m.p.Received(<-m.p.Mapped) }
