package alldocs

// In a partitioned database a document's id is PARTITION:ID. The documents of a partition share a changes shard (P2),
// are adjacent in the list of documents and in indexes, and have counters of their own.

// Partition restricts the range to the documents of one partition.
func (o *AllDocsOptions) Partition(name string) {
	// ';' follows ':'. The ids of the partition sort between the two.
	low, high := name+":", name+";"
	start, end := &o.Start, &o.End
	if o.Descending {
		start, end = end, start
	}
	if *start == nil || **start < low {
		*start = &low
	}
	if *end == nil || **end >= high {
		*end = &high
	}
}
