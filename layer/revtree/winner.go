package revtree

import "slices"

// Compare orders branches: deleted ones first, then by revision. The greatest one is the winner (R2).
func (b Branch) Compare(c Branch) int {
	if b.Deleted != c.Deleted {
		if b.Deleted {
			return -1
		}
		return 1
	}
	return b.Rev.Compare(c.Rev)
}

// Sort sorts branches in winner order.
func Sort(branches []Branch) { slices.SortFunc(branches, Branch.Compare) }
