package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/internal/check"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// findDamaged finds a database by name. A database whose name is in a damaged block is called "#" and its number.
func findDamaged(ctx context.Context, s *db.Store, r kv.Reader, name string) (*db.Core, error) {
	if number, ok := strings.CutPrefix(name, "#"); ok {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, db.ErrNoDatabase()
		}
		c := db.NewCore(s.Root, name, n, kv.Versionstamp{})
		rows := r.GetRange(db.PrefixRange(c.Keys.Prefix), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
		defer rows.Close()
		if !rows.Next() && rows.Err() == nil {
			return nil, db.ErrNoDatabase()
		}
		return c, nil
	}
	c, err := s.Lookup(r, name)
	if fault.KindOf(err) == fault.NotFound {
		damaged, err := namesDamaged(ctx, s)
		if err != nil || !damaged {
			return nil, errors.Join(err, db.ErrNoDatabase())
		}
	} else if !isUnreadable(err) {
		return c, err
	}
	nameless, scanErr := nameless(ctx, s, r)
	if scanErr != nil {
		return nil, scanErr
	}
	if len(nameless) == 0 {
		return nil, fault.Errf(fault.Unavailable, "store_damaged",
			"the readable part of the store has no database %s; "+
				"if there was one, it is lost", name)
	}
	return nil, fault.Errf(fault.Unavailable, "store_damaged",
		"the entry with the name %s is damaged. The names of these databases cannot be read: %s. Export each by "+
			"its number to find out which one it is.", name, strings.Join(nameless, ", "))
}

// namesDamaged reports whether database names may be missing, because reads skip damaged ranges.
func namesDamaged(ctx context.Context, s *db.Store) (damaged bool, err error) {
	names := db.PrefixRange(s.Section(keyspace.Databases))
	_, _, _, err = s.FindHoles(ctx, names, nil, func(f kv.Fault) error {
		damaged = damaged || f.LeftOut && (len(f.Keys.End) == 0 || db.Overlap(f.Keys, names))
		return nil
	})
	return damaged, err
}

// nameless returns the databases with unreadable names, as "#" and their numbers.
func nameless(ctx context.Context, s *db.Store, r kv.Reader) (names []string, err error) {
	h, _, _, err := s.FindHoles(ctx, kv.KeyRange{}, nil, nil)
	if err != nil {
		return nil, err
	}
	scan := func(keys kv.KeyRange, visit func(kv.KeyValue) error, lost func(kv.KeyRange) error) error {
		return h.Scan(r, keys, visit, lost)
	}
	cores, err := check.Cores(s, scan, func(*check.Damage) error { return nil })
	if err != nil {
		return nil, err
	}
	prefix := s.Section(keyspace.Data)
	left := db.PrefixRange(prefix)
	for {
		number, found, err := firstNumber(h, r, left, len(prefix))
		if err != nil || !found {
			return names, err
		}
		if !slices.ContainsFunc(cores, func(c *db.Core) bool { return c.Number == number }) {
			names = append(names, fmt.Sprintf("#%d", number))
		}
		if left.Begin, err = tuple.Strinc(tuple.AppendInt(append([]byte(nil), prefix...), number)); err != nil {
			return nil, err
		}
	}
}

// firstNumber returns the number of the first database with a readable key in the range.
func firstNumber(h db.Holes, r kv.Reader, keys kv.KeyRange, prefixLen int) (number int64, found bool, err error) {
	err = h.Scan(r, keys, func(row kv.KeyValue) error {
		n, _, err := tuple.TakeInt(row.Key[prefixLen:])
		if err != nil {
			return nil //nolint:nilerr // undecodable key
		}
		number, found = n, true
		return check.ErrEnough
	}, func(kv.KeyRange) error { return nil })
	if found {
		err = nil
	}
	return number, found, err
}
