package sqlreads

import (
	"context"
	"iter"
	"strings"

	"github.com/divandb/divan/layer"
)

// This file has the relations of schema divan that are about the session's database.

func cut(column string) (name, typ string) {
	name, typ, _ = strings.Cut(column, " ")
	return name, typ
}

func (s *Source) shards(ctx context.Context, scope Scope) iter.Seq2[[]any, error] {
	return within(ctx, scope, func(db *layer.Database, yield func([]any, error) bool) error {
		maps, err := db.ShardMaps(ctx, layer.Seq{})
		if err != nil {
			return err
		}
		_, current, err := Lags(ctx, db)
		if err != nil {
			return err
		}
		lags := map[layer.ShardID]any{}
		for _, shard := range current {
			lags[shard.ID] = shard.Lag
		}
		for _, m := range maps {
			for _, shard := range m.Shards {
				var node any // of the shard's actor; a replaced shard has none
				if !m.Tombstone && s.ShardOwner != nil {
					node = s.ShardOwner(db, shard)
				}
				if !yield([]any{string(shard), m.Since.String(), m.Scheme, !m.Tombstone, lags[shard], node}, nil) {
					return errEnough
				}
			}
		}
		return nil
	})
}

func (s *Source) indexes(ctx context.Context, scope Scope) iter.Seq2[[]any, error] {
	return within(ctx, scope, func(db *layer.Database, yield func([]any, error) bool) error {
		indexes, _, err := Lags(ctx, db)
		if err != nil {
			return err
		}
		for _, ix := range indexes {
			for _, v := range ix.State.Views {
				row := []any{strings.TrimPrefix(ix.Design.ID, designPrefix), v.Name, v.Rows, v.Bytes, v.Errors,
					ix.State.Seq.String(),
					ix.State.LastSeq.String(), ix.State.Current(), ix.State.Building, ix.Lag, ix.Design.Signature}
				if !yield(row, nil) {
					return errEnough
				}
			}
		}
		return nil
	})
}

// badValues returns the counts of values that could not be cast.
func (s *Source) badValues(ctx context.Context, scope Scope) iter.Seq2[[]any, error] {
	return within(ctx, scope, func(_ *layer.Database, yield func([]any, error) bool) error {
		for _, c := range s.BadValues.Of(scope.Database) {
			if !yield([]any{c.Cast, c.Count, c.Example}, nil) {
				return errEnough
			}
		}
		return nil
	})
}

func (s *Source) indexErrors(ctx context.Context, scope Scope) iter.Seq2[[]any, error] {
	return within(ctx, scope, func(db *layer.Database, yield func([]any, error) bool) error {
		designs, err := db.Designs(ctx)
		if err != nil {
			return err
		}
		for _, d := range designs {
			for e, err := range db.Index(d).Errors(ctx) {
				if err != nil {
					return err
				}
				if !yield([]any{strings.TrimPrefix(d.ID, designPrefix), e.View, e.DocID, e.Error, e.Seq.String()},
					nil) {
					return errEnough
				}
			}
		}
		return nil
	})
}
