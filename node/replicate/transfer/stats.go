package transfer

// Stats are the statistics of a replication, with CouchDB's names.
type Stats struct {
	RevisionsChecked int64 `json:"revisions_checked"`
	MissingFound     int64 `json:"missing_revisions_found"`
	DocsRead         int64 `json:"docs_read"`
	DocsWritten      int64 `json:"docs_written"`
	DocWriteFailures int64 `json:"doc_write_failures"`
	BulkGetDocs      int64 `json:"bulk_get_docs"`
	BulkGetAttempts  int64 `json:"bulk_get_attempts"`
}

// each sets each count of s to what f makes of those of s and o.
func each(s, o *Stats, f func(a, b int64) int64) {
	of := func(s *Stats) []*int64 {
		return []*int64{&s.RevisionsChecked, &s.MissingFound, &s.DocsRead, &s.DocsWritten, &s.DocWriteFailures,
			&s.BulkGetDocs, &s.BulkGetAttempts}
	}
	other := of(o)
	for i, n := range of(s) {
		*n = f(*n, *other[i])
	}
}

func (s Stats) plus(o Stats) Stats {
	each(&s, &o, func(a, b int64) int64 { return a + b })
	return s
}

func (s Stats) max(o Stats) Stats {
	each(&s, &o, func(a, b int64) int64 { return max(a, b) })
	return s
}
