package call

import "time"

// Did is what a request has done, as far as statistics show it.
type Did struct {
	BulkDocs int       // documents of a _bulk_docs request
	Query    *QueryDid // nil unless it was a _find request that was answered
}

// QueryDid is what a _find request has done.
type QueryDid struct {
	Took                        time.Duration
	Keys, Docs, Quorum, Results int64
	// The warnings that it was answered with: no index fits, use_index was ignored, too many documents were examined.
	Unindexed, Invalid, Scanned bool
}
