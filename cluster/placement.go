package cluster

import "github.com/cespare/xxhash/v2"

// place picks the member that an actor lives on: rendezvous hashing, so that every node with the same view gives the
// same answer without talking, and a member that leaves or joins moves only the actors it had or gets. Scores hash the
// member's name, not its id, so that a restarted member gets back what it had. Two nodes with different views may
// disagree for a while; nothing but speed rests on it.
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

// mix spreads the xor of two hashes over all bits (the finaliser of splitmix64): without it the order of two members
// would depend on the highest bit they differ in alone.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
