package index

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
)

// ReadBodies starts reading the bodies of those entries' documents that are mapped.
func (ix *Index) ReadBodies(r kv.Reader, keys db.Space, entries []feed.Entry) ([]rev.BodyRead, error) {
	bodies := make([]rev.BodyRead, len(entries))
	wanted := make([]rev.WantedBody, 0, len(entries))
	for i := range entries {
		if e := &entries[i]; ix.Maps(e) {
			bodies[i] = rev.BodyRead{R: r, Keys: keys, Id: e.Id, Rev: e.Rev}
			wanted = append(wanted, rev.WantedBody{Key: keys.Body(nil, e.Id, e.Rev, 0), Of: i})
		}
	}
	if len(wanted) >= db.ScanFrom && ix.bodies.WorthOf(r) {
		err := ix.bodies.Read(r, wanted, func(i int, first []byte) (bool, error) {
			bodies[i].First = rev.HaveRead(first)
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, w := range wanted {
		if body := &bodies[w.Of]; body.First == nil {
			body.First = r.Get(w.Key)
		}
	}
	return bodies, nil
}

// Maps reports whether the map functions are called with the entry's document.
func (ix *Index) Maps(e *feed.Entry) bool {
	return !e.Deleted && (!db.IsDesign(e.Id) || ix.design.MapsDesigns() && !ix.design.Partitioned)
}
