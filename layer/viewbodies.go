package layer

import (
	"github.com/divandb/divan/layer/kv"
)

// readBodies issues the reads of the bodies of the entries that are mapped.
func (ix *Index) readBodies(r kv.Reader, keys space, entries []entry) ([]bodyRead, error) {
	bodies := make([]bodyRead, len(entries))
	wanted := make([]wantedBody, 0, len(entries))
	for i := range entries {
		if e := &entries[i]; ix.maps(e) {
			bodies[i] = bodyRead{r: r, keys: keys, id: e.id, rev: e.rev}
			wanted = append(wanted, wantedBody{keys.body(nil, e.id, e.rev, 0), i})
		}
	}
	if len(wanted) >= scanFrom && ix.bodies.worthOf(r) {
		var arena []byte
		err := ix.bodies.read(r, wanted, func(i int, first []byte) (bool, error) {
			from := len(arena)
			arena = append(arena, first...)
			bodies[i].first = haveRead(arena[from:len(arena):len(arena)])
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, w := range wanted {
		if body := &bodies[w.of]; body.first == nil {
			body.first = r.Get(w.key)
		}
	}
	return bodies, nil
}

// maps reports whether the entry's document is given to the map functions.
func (ix *Index) maps(e *entry) bool {
	return !e.deleted && (!isDesign(e.id) || ix.design.Options.IncludeDesign && !ix.design.Partitioned)
}
