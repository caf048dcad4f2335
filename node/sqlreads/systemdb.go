package sqlreads

import (
	"context"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

// This file has the relations of schema divan that are about one database after the other.

func cut(column string) exec.SystemColumn {
	name, rest, _ := strings.Cut(column, " ")
	typ, comment, _ := strings.Cut(rest, " ")
	return exec.SystemColumn{Name: name, Type: typ, Comment: comment}
}

func (s *Source) shards(ctx context.Context, db named, yield func(...any) bool) error {
	maps, err := db.ShardMaps(ctx, layer.Seq{})
	if err != nil {
		return err
	}
	lags := map[layer.ShardID]any{}
	if len(maps) > 0 {
		current, err := ShardsOf(ctx, db.Database, &maps[len(maps)-1])
		if err != nil {
			return err
		}
		for _, shard := range current {
			lags[shard.ID] = shard.Lag
		}
	}
	for _, m := range maps {
		for _, shard := range m.Shards {
			var node any // of the shard's actor; a replaced shard has none
			if !m.Tombstone && s.ShardOwner != nil {
				node = s.ShardOwner(db.Database, shard)
			}
			if !yield(string(shard), m.Since.String(), m.Scheme, !m.Tombstone, lags[shard], node, db.name) {
				return nil
			}
		}
	}
	return nil
}

func (s *Source) indexes(ctx context.Context, db named, yield func(...any) bool) error {
	indexes, err := Indexes(ctx, db.Database)
	if err != nil {
		return err
	}
	for _, ix := range indexes {
		for _, v := range ix.State.Views {
			if !yield(strings.TrimPrefix(ix.Design.ID, designPrefix), v.Name, v.Rows, v.Bytes, v.Errors,
				ix.State.Seq.String(), ix.State.LastSeq.String(), ix.State.Current(), ix.State.Asked, ix.Lag,
				ix.Design.Signature, db.name) {
				return nil
			}
		}
	}
	return nil
}

// badValues gives the counts of values that could not be cast.
func (s *Source) badValues(_ context.Context, db named, yield func(...any) bool) error {
	for _, c := range s.BadValues.Of(db.name) {
		if !yield(c.Cast, c.Count, c.Example, db.name) {
			return nil
		}
	}
	return nil
}

func (s *Source) indexErrors(ctx context.Context, db named, yield func(...any) bool) error {
	designs, err := db.Designs(ctx)
	if err != nil {
		return err
	}
	for _, d := range designs {
		for e, err := range db.Index(d).Errors(ctx) {
			if err != nil {
				return err
			}
			if !yield(strings.TrimPrefix(d.ID, designPrefix), e.View, e.DocID, e.Error, e.Seq.String(), db.name) {
				return nil
			}
		}
	}
	return nil
}
