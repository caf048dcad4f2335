package indexing

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// usedIndex is an index that this node was asked for, or resumes.
type usedIndex struct {
	db      ports.Database
	design  *layer.Design
	until   time.Time // when to forget it
	resumed bool      // this node was not asked for it; it is forgotten when its database belongs on another node
}

// IndexInfo is the state of an index.
type IndexInfo struct {
	Database string `json:"database"`
	Design   string `json:"design"` // id of its document
	// Signature identifies the index; other nodes are not told.
	Signature string   `json:"-"`
	Views     []string `json:"views"`
	Rows      int64    `json:"rows"`
	Bytes     int64    `json:"bytes"`
	Errors    int64    `json:"errors"`            // documents skipped
	Skipped   string   `json:"skipped,omitempty"` // one of them, with the reason
	Building  bool     `json:"building"`          // a job that builds it waits or runs
	Seq       string   `json:"seq"`
	LastSeq   string   `json:"last_seq"` // of the database
	Current   bool     `json:"current"`
	// Leads reports whether this node leads a build of the index. Other nodes may have parts of it.
	Leads bool `json:"-"`
	// Behind is how long the index has lacked changes: see layer.IndexState.
	Behind time.Duration `json:"-"`
}

// UsedIndex is an index that this node builds or was recently asked for.
type UsedIndex struct {
	Database string
	Design   *layer.Design
	Building bool // by this node, or a part of it
	leads    bool
	db       ports.Database
}

// Used yields the indexes that this node builds or was recently asked for; those asked for last come first. It reads
// the store only for those that are built without having been asked for. Of the ones that cannot be read it yields the
// error, and goes on unless ctx has ended.
func (x *Indexing) Used(ctx context.Context) iter.Seq2[UsedIndex, error] {
	return func(yield func(UsedIndex, error) bool) {
		designs := map[ports.Database][]*layer.Design{}
		for _, ix := range x.used() {
			if ix.design == nil {
				of, read := designs[ix.db]
				if !read {
					var err error
					if of, err = ix.db.Designs(ctx); err != nil && (!yield(UsedIndex{}, err) || ctx.Err() != nil) {
						return
					}
					designs[ix.db] = of
				}
				at := slices.IndexFunc(of, func(d *layer.Design) bool { return d.Signature == ix.signature })
				if at < 0 {
					continue
				}
				ix.design = of[at]
			}
			if !yield(UsedIndex{ix.db.Name(), ix.design, ix.building, ix.leads, ix.db}, nil) {
				return
			}
		}
	}
}

// Read reads the state of an index.
func (ix UsedIndex) Read(ctx context.Context) (IndexInfo, error) {
	state, err := ix.db.IndexOf(ix.Design).State(ctx)
	if err != nil {
		return IndexInfo{}, err
	}
	info := InfoOf(ix.Database, ix.Design, &state)
	info.Leads = ix.leads
	return info, nil
}

// InfoOf describes an index of a database by its state.
func InfoOf(database string, design *layer.Design, state *layer.IndexState) IndexInfo {
	info := IndexInfo{Database: database, Design: design.ID, Signature: design.Signature, Views: []string{},
		Building: state.Asked, Seq: state.Seq.String(), LastSeq: state.LastSeq.String(), Current: state.Current(),
		Behind: state.Behind}
	for _, v := range state.Views {
		info.Views = append(info.Views, v.Name)
		info.Rows += v.Rows
		info.Bytes += v.Bytes
		info.Errors += v.Errors
		if e := v.Skipped; e != nil && info.Skipped == "" {
			info.Skipped = fmt.Sprintf("%s skips document %q: %s", v.Name, e.DocID, e.Error)
		}
	}
	return info
}

// Infos returns the state of the first most of the used indexes, by database and design document. Those that cannot be
// read are left out; unless they have been deleted, the error is that of one of them.
func Infos(ctx context.Context, used iter.Seq2[UsedIndex, error], most int) ([]IndexInfo, error) {
	list := []IndexInfo{}
	var failed error
	for ix, err := range used {
		var info IndexInfo
		if err == nil {
			info, err = ix.Read(ctx)
		}
		switch {
		case err == nil:
			list = append(list, info)
		case ctx.Err() != nil:
			return nil, err
		case layer.KindOf(err) != layer.NotFound:
			failed = err
		}
		if most--; most <= 0 {
			break // before the next one is looked for
		}
	}
	slices.SortFunc(list, func(a, b IndexInfo) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Design, b.Design))
	})
	return list, failed
}

// shownIndex is an index that Indexes may show.
type shownIndex struct {
	usedIndex // without a design if the index is only being built
	signature string
	building  bool
	leads     bool
}

// used returns the recently used indexes, and those that are built without having been asked for: after a restart, or
// for another node. Those asked for last come first. It does no I/O, because there may be many more than are shown.
func (x *Indexing) used() (list []shownIndex) {
	building := map[indexKey]bool{} // with all shards of a shared build; whether this node leads it
	for _, t := range x.builds.list() {
		key := indexKey{db: t.key.db, signature: t.key.signature}
		building[key] = building[key] || t.key.shard == ""
	}
	for _, ix := range x.builds.used(x.tree.Now()) {
		key := indexKey{db: ix.db, signature: ix.design.Signature}
		leads, built := building[key]
		list = append(list, shownIndex{ix, ix.design.Signature, built, leads})
		delete(building, key)
	}
	until := x.tree.Now().Add(x.WarmFor)
	for key, leads := range building {
		list = append(list, shownIndex{usedIndex{db: key.db, until: until}, key.signature, true, leads})
	}
	slices.SortFunc(list, func(a, b shownIndex) int {
		return cmp.Or(b.until.Compare(a.until), cmp.Compare(a.db.Name(), b.db.Name()),
			cmp.Compare(a.signature, b.signature))
	})
	return list
}

// use records that an index was asked for, or is resumed. first is true if it was not in use before.
func (b *builds) use(key indexKey, ix usedIndex) (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := b.work(key.db).used
	before, known := used[key]
	if !known || ix.until.After(before.until) {
		used[key] = ix
	}
	return !known
}

// unuse forgets the use of a database's indexes, except those with these signatures.
func (b *builds) unuse(db ports.Database, except map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.mu.of[db]
	if w == nil {
		return
	}
	for k := range w.used {
		if !except[k.signature] {
			delete(w.used, k)
			b.forget(k)
		}
	}
	b.drop(db)
}

// used returns the recently used indexes of all databases. It forgets the others.
func (b *builds) used(now time.Time) []usedIndex {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []usedIndex
	for db := range b.mu.of {
		list = b.lately(db, now, list)
	}
	return list
}

// lately appends the recently used indexes of a database, and forgets its others. The caller holds mu.
func (b *builds) lately(db ports.Database, now time.Time, list []usedIndex) []usedIndex {
	w := b.mu.of[db]
	if w == nil {
		return list
	}
	for k, ix := range w.used {
		if now.After(ix.until) || ix.resumed && !b.owns(db.Name()) {
			delete(w.used, k)
			b.forget(k)
			continue
		}
		list = append(list, ix)
	}
	b.drop(db)
	return list
}
