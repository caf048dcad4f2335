package api

import (
	"net/http"
)

// purge answers POST /{db}/_purge. Each document is purged for itself; an error is shown in its place, and the worst one is the status.
func (q *request) purge() error {
	body, err := q.revsBody("Invalid list of revisions")
	if err != nil {
		return err
	}
	if err := q.purgeLimits(&body); err != nil {
		return err
	}
	status := http.StatusCreated
	b := []byte(`{"purge_seq":null,"purged":{`)
	err = body.windows(func(docs []docRevs) error {
		for _, d := range docs {
			b = appendMember(b, d.id)
			purged, err := q.db.Purge(q.ctx(), d.id, d.revs)
			if err != nil {
				f := faultOf(err)
				status = max(status, f.status)
				b = append(f.append(append(b, '{')), '}')
				continue
			}
			b = appendRevs(b, purged)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return q.sendJSON(status, append(b, "}}"...))
}

// purgeLimits are CouchDB's, with the settings' names.
func (q *request) purgeLimits(b *revsBody) error {
	if b.docs > q.srv.o.Settings.Int("purge", "max_document_id_number", 100) {
		return badRequest("Exceeded maximum number of documents.")
	}
	if b.revs > q.srv.o.Settings.Int("purge", "max_revisions_number", 1000) {
		return badRequest("Exceeded maximum number of revisions.")
	}
	return nil
}

// purgedInfos answers GET /{db}/_purged_infos: the purges that the database remembers, the oldest first.
func (q *request) purgedInfos() error {
	s := q.stream(http.StatusOK)
	defer s.drop()
	s.buf = append(s.buf, `{"purged_infos":[`...)
	first := true
	for info, err := range q.db.Purges(q.ctx()) {
		if err != nil {
			return err
		}
		if !first {
			s.buf = append(s.buf, ',')
		}
		first = false
		s.buf = appendStringMember(append(s.buf, '{'), "id", info.ID)
		s.buf = append(appendRevs(appendMember(s.buf, "revs"), info.Revs), '}')
		if err := s.row(); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, "]}\n"...)
	return s.end()
}

// getPurgesLimit and putPurgesLimit are /{db}/_purged_infos_limit: how many of them compaction leaves.
func (q *request) getPurgesLimit() error { return q.sendLimit(q.db.PurgesLimit) }

func (q *request) putPurgesLimit() error {
	return q.setLimit(badRequest("`purged_infos_limit` must be positive integer"), q.db.SetPurgesLimit)
}
