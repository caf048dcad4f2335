package layer

import (
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// dropPurges removes the oldest purges beyond the limit from the history, at most so many of them, but none that an
// index has not taken in yet.
func (t *txn) dropPurges(most int) (n int, more bool, err error) {
	t.MakesRoom()
	counts, err := countersOf(t, t.keys, counterPurges, counterPurgesDropped)
	if err != nil {
		return 0, false, err
	}
	over := counts[0] - counts[1] - int64(t.cfg.purgesLimit)
	if over <= 0 {
		return 0, false, nil
	}
	seen, err := t.purgesSeen()
	if err != nil {
		return 0, false, err
	}
	limit := int(min(over, int64(most)))
	rows := t.GetRange(seen, kv.RangeOptions{Limit: limit, Mode: kv.ModeExact})
	defer rows.Close()
	for rows.Next() {
		t.Clear(append([]byte(nil), rows.KeyValue().Key...))
		n++
	}
	t.count(counterPurgesDropped, int64(n))
	t.forgotten += int64(n)
	return n, n == most, rows.Err()
}

// purgesSeen is the part of the history that every index has taken in: up to the one that is furthest behind, and
// nothing while one is being built.
func (t *txn) purgesSeen() (kv.KeyRange, error) {
	seen := prefixRange(t.keys.sub(nil, keyspace.Purges))
	none := kv.KeyRange{Begin: seen.Begin, End: seen.Begin}
	k := newIndexKeys(t.keys.sub(nil, keyspace.Views), &Design{})
	building := getRange(t, tuple.AppendInt(k.info[:len(k.info):len(k.info)], int64(keyspace.ViewStatus)),
		kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
	defer building.Close()
	built := getRange(t, tuple.AppendInt(k.info[:len(k.info):len(k.info)], int64(keyspace.ViewUpdateSeq)),
		kv.RangeOptions{Mode: kv.ModeWantAll})
	defer built.Close()
	if building.Next() {
		return none, nil
	}
	for built.Next() {
		at, err := readIndexSeq(built.KeyValue().Value)
		if err != nil {
			return none, err
		}
		if at.seq.IsZero() {
			return none, nil
		}
		if r := purgeRange(t.keys, t.cfg.incarnation, Seq{}, at.seq); string(r.End) < string(seen.End) {
			seen.End = r.End
		}
	}
	if err := building.Err(); err != nil {
		return none, err
	}
	return seen, built.Err()
}
