package house

import "slices"

// Rooms are the folders at the top, and there are no others.
var Rooms = []string{"actors", "cluster", "layer", "node", "query", "scripts"}

// rule says what one room may import of our own packages; everything else is banned, for the reason given. A rule holds
// for the folders below as well, unless they have their own. The order is that of the arrows in ARCHITECTURE.md, the
// bottom first.
type rule struct {
	room     string
	may      []string
	testsMay []string // in addition, in _test.go files
	why      string   // of the ban on all else
}

// everyTestMay is what tests of any room may use: an engine to run on, faults, and the conformance suite.
var everyTestMay = []string{
	"layer/kv/embedded", "layer/kv/fdb", "layer/kv/fdb/fdbtest", "layer/kv/remote", "layer/kv/faultkv",
	"layer/kv/kvtest",
}

// rules are those of all rooms, the bottom first.
var rules = slices.Concat(engineRules, layerRules, queryRules, nodeRules)
