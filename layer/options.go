package layer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// maxNodeOptions bounds the options of a store, in bytes: each transaction that changes one reads all.
const maxNodeOptions = 1 << 20

// OptionName names an option of the nodes: a section of CouchDB's configuration and a key in it.
type OptionName struct{ Section, Key string }

// NodeOptions are the options that clients have changed at run time, for all nodes on the store. The layer does not
// know what they mean.
type NodeOptions struct {
	// Version is that of the store. Options of a smaller version are older, or the same.
	Version int64
	Values  OptionValues
}

// OptionValues are values of options. A nil value means that the option was deleted although it is configured.
type OptionValues map[OptionName]*string

// NodeOptions reads the options that were changed.
func (s *Store) NodeOptions(ctx context.Context) (NodeOptions, error) {
	o, _, err := db.StoreTransact(ctx, s.Store, s.readOptions)
	return o, err
}

// ChangeNodeOptions lets change modify the options that were changed, and stores them. It returns the stored options.
// An error of change is returned unchanged, and nothing is stored. change may be called several times.
func (s *Store) ChangeNodeOptions(ctx context.Context, change func(o OptionValues) error) (NodeOptions, error) {
	after, committed, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (NodeOptions, error) {
		o, err := s.readOptions(tx)
		if err != nil {
			return NodeOptions{}, err
		}
		before := maps.Clone(o.Values)
		if err := change(o.Values); err != nil {
			return NodeOptions{}, err
		}
		return o, s.writeOptions(tx, before, o.Values)
	})
	after.Version = max(after.Version, committed.Version)
	return after, err
}

// FollowNodeOptions calls changed with the options, now and after each change by any node. It returns when ctx is done,
// or with the error of the store.
func (s *Store) FollowNodeOptions(ctx context.Context, changed func(o NodeOptions)) error {
	for {
		var w kv.Watch
		o, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (NodeOptions, error) {
			if w != nil {
				w.Cancel() // left by an attempt that is retried
			}
			w = tx.Watch(s.Section(keyspace.Options))
			return s.readOptions(tx)
		})
		if err != nil {
			if w != nil {
				w.Cancel()
			}
			return err
		}
		changed(o)
		select {
		case <-ctx.Done():
			w.Cancel()
			return ctx.Err()
		case <-w.Done():
		}
		err = w.Err()
		w.Cancel()
		if err != nil {
			return err
		}
	}
}

func (s *Store) readOptions(tx kv.Transaction) (NodeOptions, error) {
	o := NodeOptions{Values: OptionValues{}}
	prefix := s.Section(keyspace.Options)
	it := tx.GetRange(db.PrefixRange(prefix), kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		name, err := parseOptionName(row.Key[len(prefix):])
		if err != nil {
			return o, db.Corrupt("name of an option", err)
		}
		var value *string
		if err := json.Unmarshal(row.Value, &value); err != nil {
			return o, db.Corrupt("value of an option", err)
		}
		o.Values[name] = value
	}
	if err := it.Err(); err != nil {
		return o, err
	}
	var err error
	o.Version, err = tx.ReadVersion().Wait()
	return o, err
}

func parseOptionName(key []byte) (name OptionName, err error) {
	if name.Section, key, err = tuple.TakeString(key); err == nil {
		name.Key, _, err = tuple.TakeString(key)
	}
	return name, err
}

// SameOption reports whether two values of an OptionValues are the same. nil is that of a deleted option.
func SameOption(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// writeOptions writes the differences, and wakes those who follow the options.
func (s *Store) writeOptions(tx kv.Transaction, before, after OptionValues) error {
	key := func(name OptionName) []byte {
		return tuple.AppendString(tuple.AppendString(s.Section(keyspace.Options), name.Section), name.Key)
	}
	size, changed := 0, false
	for name, value := range after {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		size += len(name.Section) + len(name.Key) + len(text)
		old, stored := before[name]
		if stored && SameOption(old, value) {
			continue
		}
		tx.Set(key(name), text)
		changed = true
	}
	if size > maxNodeOptions {
		return &fault.Error{Kind: fault.TooLarge, Name: "too_large",
			Reason: "the options set at run time are more than 1 MiB in total"}
	}
	for name := range before {
		if _, kept := after[name]; !kept {
			tx.Clear(key(name))
			changed = true
		}
	}
	if changed {
		tx.Set(s.Section(keyspace.Options), []byte(rand.Text()))
	}
	return nil
}
