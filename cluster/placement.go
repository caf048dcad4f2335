package cluster

import (
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Place returns the name of the member that an actor of a kind and id is placed on, if the members are these, or "" if
// there are none.
func Place(members []Member, kind, id string) string {
	m, _ := place(members, kind, id)
	return m.Name
}

// place returns the member that an actor is placed on. It uses rendezvous hashing, so all nodes with the same view
// agree without communicating, and a member that leaves or joins only moves its own actors. It hashes the member's
// name, not its id, so that a restarted member gets its actors back. Two nodes with different views may disagree for a
// while, which only costs speed.
func place(members []Member, kind, id string) (Member, bool) {
	if len(members) == 0 {
		return Member{}, false
	}
	key := xxhash.Sum64String(kind + "\x00" + id)
	best, bestScore := 0, uint64(0)
	for i := range members {
		if s := mix(xxhash.Sum64String(members[i].Name) ^ key); s > bestScore || i == 0 {
			best, bestScore = i, s
		}
	}
	return members[best], true
}

// without returns the members whose names are not excepted.
func without(members []Member, except []string) []Member {
	return slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return slices.Contains(except, m.Name) })
}

// mix spreads the xor of two hashes over all bits (the finaliser of splitmix64). Without it the order of two members
// would depend only on the highest bit in which they differ.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
