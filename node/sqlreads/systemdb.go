package sqlreads

import (
	"context"
	"iter"
	"strings"

	"github.com/divandb/divan/layer"
)

// The relations of schema divan that are about the session's database.

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
		for _, m := range maps {
			for _, shard := range m.Shards {
				if !yield([]any{string(shard), m.Since.String(), m.Scheme, !m.Tombstone}, nil) {
					return errEnough
				}
			}
		}
		return nil
	})
}

func (s *Source) indexes(ctx context.Context, scope Scope) iter.Seq2[[]any, error] {
	return within(ctx, scope, func(db *layer.Database, yield func([]any, error) bool) error {
		designs, err := db.Designs(ctx)
		if err != nil {
			return err
		}
		for _, d := range designs {
			if len(d.Views) == 0 {
				continue
			}
			state, err := db.Index(d).State(ctx)
			if err != nil {
				return err
			}
			for _, v := range state.Views {
				row := []any{strings.TrimPrefix(d.ID, designPrefix), v.Name, v.Rows, v.Bytes, v.Errors, state.Seq.String(), state.LastSeq.String(),
					state.Current(), state.Building, d.Signature}
				if !yield(row, nil) {
					return errEnough
				}
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
				if !yield([]any{strings.TrimPrefix(d.ID, designPrefix), e.View, e.DocID, e.Error, e.Seq.String()}, nil) {
					return errEnough
				}
			}
		}
		return nil
	})
}
