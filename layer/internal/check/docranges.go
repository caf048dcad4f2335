package check

import (
	"strconv"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
)

// docRangeName is the name in checker.sums of a range of the list of documents: of the last one, as documents come in
// order.
type docRangeName struct {
	number int64
	name   string
}

func (n *docRangeName) of(number int64) string {
	if n.name == "" || n.number != number {
		n.number, n.name = number, "range "+strconv.FormatInt(number, 10)
	}
	return n.name
}

// docRangeCheck checks the counters of ranges of the list of documents.
type docRangeCheck struct{ *checker }

// count counts a live document for the range that it is in.
func (x docRangeCheck) count(id string) {
	if len(x.cfg.DocRanges) > 0 {
		x.checker.count(x.inRange.of(x.cfg.DocRangeNumber(x.cfg.DocRangeOf(id))), 1)
	}
}

// compare compares the counters with the sums. Of ranges that are not settled, only the sum with the one that they were
// cut off is compared. The documents before the first range have no counter.
func (x docRangeCheck) compare(counts *db.DocCounts) {
	for _, number := range counts.Unknown {
		x.fault(keyspace.DocCounts, "", "there is a counter for range %d of the documents, but no such range", number)
	}
	low, sum := -1, int64(0)
	for i := -1; i < len(x.cfg.DocRanges); i++ {
		sum += x.sums[x.inRange.of(x.cfg.DocRangeNumber(i))]
		if !counts.Exact(i + 1) {
			continue
		}
		if n := counts.Before(i+1) - counts.Before(low); low >= 0 && n != sum {
			x.fault(keyspace.DocCounts, "", "the counter of the documents from %q on is %d, but there are %d",
				x.cfg.DocRanges[low].First, n, sum)
		}
		low, sum = i+1, 0
	}
}
