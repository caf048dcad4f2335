package house

import "slices"

// Rooms are all folders at the top.
var Rooms = []string{"actors", "cluster", "layer", "node", "query", "scripts"}

// rule says which of the project's packages a room may import. All others are banned, for the reason given. A rule also
// holds for folders below that have no rule of their own (see roomOf). The order is that of the arrows in
// ARCHITECTURE.md, from the bottom up.
type rule struct {
	room     string
	may      []string
	testsMay []string // in addition, in _test.go files
	why      string   // reason for the ban on all other imports
}

// everyTestMay lists what the tests of any room may import: an engine to run on, faults, and the conformance suite.
var everyTestMay = []string{
	"layer/kv/embedded", "layer/kv/fdb", "layer/kv/fdb/fdbtest", "layer/kv/remote", "layer/kv/faultkv",
	"layer/kv/kvtest",
}

// rules are the rules of all rooms, from the bottom up.
var rules = slices.Concat(engineRules, layerRules, queryRules, nodeRules)
