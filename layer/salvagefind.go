package layer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// findDamaged finds a database by name, also where the block with its name is damaged: it then goes by "#" and its
// number.
func (s *dbStore) findDamaged(ctx context.Context, r kv.Reader, name string) (*core, error) {
	if number, ok := strings.CutPrefix(name, "#"); ok {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, errNoDatabase()
		}
		c := newCore(s.root, name, n, kv.Versionstamp{})
		rows := r.GetRange(prefixRange(c.keys.prefix), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
		defer rows.Close()
		if !rows.Next() && rows.Err() == nil {
			return nil, errNoDatabase()
		}
		return c, nil
	}
	c, err := s.lookup(r, name)
	if KindOf(err) == NotFound {
		damaged, err := s.namesDamaged(ctx)
		if err != nil || !damaged {
			return nil, errors.Join(err, errNoDatabase())
		}
	} else if !isUnreadable(err) {
		return c, err
	}
	nameless, scanErr := s.nameless(ctx, r)
	if scanErr != nil {
		return nil, scanErr
	}
	if len(nameless) == 0 {
		return nil, errf(Unavailable, "store_damaged", "there is no database %s in what can be read of the store; "+
			"if there was one, it is in what is lost", name)
	}
	return nil, errf(Unavailable, "store_damaged",
		"the entry with the name %s is damaged. These databases have no name that can be read: %s. Export each by "+
			"its number, and see which it is.", name, strings.Join(nameless, ", "))
}

// namesDamaged reports whether names of databases may be missing, because reads pass over what is damaged.
func (s *dbStore) namesDamaged(ctx context.Context) (damaged bool, err error) {
	names := prefixRange(s.section(keyspace.Databases))
	_, _, _, err = s.findHoles(ctx, names, nil, func(f kv.Fault) error {
		damaged = damaged || f.LeftOut && (len(f.Keys.End) == 0 || overlap(f.Keys, names))
		return nil
	})
	return damaged, err
}

// nameless are the databases whose names cannot be read, as "#" and their numbers.
func (s *dbStore) nameless(ctx context.Context, r kv.Reader) (names []string, err error) {
	h, _, _, err := s.findHoles(ctx, kv.KeyRange{}, nil, nil)
	if err != nil {
		return nil, err
	}
	scan := func(keys kv.KeyRange, visit func(kv.KeyValue) error, lost func(kv.KeyRange) error) error {
		return h.scan(r, keys, visit, lost)
	}
	cores, err := s.cores(scan, func(*Damage) error { return nil })
	if err != nil {
		return nil, err
	}
	prefix := s.section(keyspace.Data)
	left := prefixRange(prefix)
	for {
		number, found, err := h.firstNumber(r, left, len(prefix))
		if err != nil || !found {
			return names, err
		}
		if !slices.ContainsFunc(cores, func(c *core) bool { return c.number == number }) {
			names = append(names, fmt.Sprintf("#%d", number))
		}
		if left.Begin, err = tuple.Strinc(tuple.AppendInt(append([]byte(nil), prefix...), number)); err != nil {
			return nil, err
		}
	}
}

// firstNumber is the number of the first database with a key in the range that can be read.
func (h holes) firstNumber(r kv.Reader, keys kv.KeyRange, prefixLen int) (number int64, found bool, err error) {
	err = h.scan(r, keys, func(row kv.KeyValue) error {
		n, _, err := tuple.TakeInt(row.Key[prefixLen:])
		if err != nil {
			return nil //nolint:nilerr // a key that makes no sense
		}
		number, found = n, true
		return errEnough
	}, func(kv.KeyRange) error { return nil })
	if found {
		err = nil
	}
	return number, found, err
}
