package house

// nodeRules are the rules of actors, cluster, node and scripts.
var nodeRules = []rule{
	{
		room: "actors/internal/runtime", may: []string{"layer/kv"},
		why: "how an actor runs, fails and is shown does not depend on what it does; of the store it knows that " +
			"watches end",
	},
	{
		room: "actors/internal/ports", may: []string{"layer", "layer/kv"},
		why: "it is what actors need of the layer, not what they do with it",
	},
	{
		room: "actors/internal/feeds", may: []string{"actors/internal/ports", "actors/internal/runtime", "layer",
			"layer/kv"},
		why: "listeners are woken, whether they are requests or keep indexes warm",
	},
	{
		room: "actors/internal/jobs", may: []string{"actors/internal/ports", "actors/internal/runtime", "layer",
			"layer/kv"},
		why: "jobs are taken the same way whatever they are about",
	},
	{
		room: "actors/internal/indexing", may: []string{"actors/internal/jobs", "actors/internal/ports",
			"actors/internal/runtime", "layer", "layer/kv"},
		why: "indexes are built of jobs; who wakes it when a database changes is given to it",
	},
	{
		room: "actors/internal/replicating", may: []string{"actors/internal/jobs", "actors/internal/runtime", "layer"},
		why: "it takes jobs and runs a function; the protocol of replication is node/replicate's, which talks to " +
			"other servers",
	},
	{
		room: "actors/internal/upkeep", may: []string{"actors/internal/jobs", "actors/internal/runtime", "layer"},
		why: "each kind of upkeep takes its own jobs, and knows no other kind",
	},
	{
		room: "actors", may: []string{"actors/internal/...", "layer", "layer/kv"}, testsMay: []string{"layer/script"},
		why: "actors decide who does work and where, over the layer; members and addresses come through a Placer " +
			"that node wires, " +
			"but know no engines, HTTP or SQL",
	},
	{
		room: "cluster", may: []string{"cluster/..."},
		why: "members and placement know no databases, and cluster and actors do not know each other",
	},
	{
		room: "node/globalchanges", may: []string{"layer"}, testsMay: []string{"layer/kv", "layer/kv/embedded"},
		why: "entries are documents of a database like any other",
	},
	{
		room: "node/survey", may: []string{"actors", "layer"},
		why: "it reads indexes and remembers them; who shows them, and what is wrong with them, is node's",
	},
	{
		room: "node/couchopts", may: []string{"node/auth"},
		why: "it says which of CouchDB's options there are, and asks auth what its own may be; who heeds them does " +
			"not matter",
	},
	{
		room: "node/config", may: []string{"node/auth", "node/couchopts"},
		why: "settings are read before there is anything to set; it asks auth whether a hash or a key is one",
	},
	{
		room: "node/auth", may: []string{"layer"}, testsMay: []string{"layer/script"},
		why: "authentication depends on the configuration, and on user documents through an interface",
	},
	{
		room: "node/metrics", may: []string{"layer", "layer/script", "actors"},
		why: "metrics are read from the rooms that they measure",
	},
	{
		room: "node/tracing", may: []string{"layer/kv"},
		why: "spans are sent the same way whatever they are of; of the store it knows that transactions begin and end",
	},
	{
		room: "node/console/state",
		why:  "what the console shows is described once, for nodes and for the page, and needs nothing",
	},
	{
		room: "node/console/events", may: []string{"node/console/state"},
		why: "events are kept and grouped the same way whatever reports them",
	},
	{
		room: "node/console/history", may: []string{"node/console/state"},
		why: "measurements are kept the same way whatever they measure",
	},
	{
		room: "node/console/page", testsMay: []string{"node/console/state", "scripts/browser"},
		why: "the page is files for a browser, which asks the console by itself",
	},
	{
		room: "node/console", may: []string{"node/console/..."},
		why: "what it asks of the parts of a node comes through functions that node gives it",
	},
	{
		room: "node/docids",
		why:  "an id is chosen without a document, however that is written",
	},
	{
		room: "node/sqlreads", may: []string{"layer", "layer/revtree", "actors", "cluster", "query/exec",
			"query/exec/badvalues", "node/auth", "node/console/state", "node/docids"},
		testsMay: []string{"layer/script"},
		why:      "it shows the layer to query; what the SQL means, and the wire, are query's",
	},
	{
		room: "node/replicate/spec", may: []string{"layer", "layer/jsontext", "layer/selector"},
		why: "what a replication is asked to do is known without doing it; names and selectors are the layer's",
	},
	{
		room: "node/replicate/couch", may: []string{"layer/jsontext", "node/replicate/spec"},
		why: "a client of the protocol talks to any server, and must not be able to reach the store",
	},
	{
		room: "node/replicate/transfer", may: []string{"layer/jsontext", "node/replicate/couch",
			"node/replicate/spec"},
		why: "a run knows its ends as interfaces, so that tests can let them fail",
	},
	{
		room: "node/replicate", may: []string{"layer", "layer/jsontext", "layer/kv", "node/replicate/..."},
		why: "it keeps the state of replications in the store; actors decide which node runs them, the API shows " +
			"them, and both come through node",
	},
	{
		room: "node/replicator", may: []string{"layer", "node/api", "node/replicate/..."},
		why: "replications know neither the API nor its settings; here the two meet",
	},
	{
		room: "node/api/internal/encode", may: []string{"layer", "layer/jsontext"},
		why: "JSON is written the same way by every endpoint; what is in it does not matter, but for revisions",
	},
	{
		room: "node/api/internal/fault",
		may:  []string{"layer", "layer/jsontext", "layer/kv", "layer/script"},
		why:  "errors of the rooms below get their status here, and errors of HTTP itself are created here",
	},
	{
		room: "node/api/internal/decode", may: []string{"layer/jsontext", "node/api/internal/fault"},
		why: "a text is JSON or an error of the client; what it is for does not matter",
	},
	{
		room: "node/api/internal/conns", may: []string{"node/api/internal/fault"},
		why: "connections are bounded before their requests are known",
	},
	{
		room: "node/api/internal/intake", may: []string{"node/api/internal/conns", "node/api/internal/decode",
			"node/api/internal/fault"},
		why: "a body has a size, a pace and an owner; what is in it is its endpoint's business",
	},
	{
		room: "node/api/internal/zlib", why: "compression knows bytes",
	},
	{
		room: "node/api/internal/call", may: []string{"layer", "node/api/internal/decode", "node/api/internal/fault",
			"node/api/internal/intake"},
		why: "a call is the same for every endpoint, so it knows none of them",
	},
	{
		room: "node/api/internal/settings",
		may: []string{"layer", "layer/jsontext", "node/api/internal/call", "node/api/internal/encode",
			"node/api/internal/fault", "node/auth", "node/couchopts"},
		why: "settings do not know who heeds them; auth says which origins are safe",
	},
	{
		room: "node/api/internal/render", may: []string{"layer", "layer/jsontext", "layer/script", "layer/selector",
			"node/api/internal/call", "node/api/internal/decode", "node/api/internal/encode"},
		why: "documents look the same alone, in rows and in feeds, and requests the same to all functions",
	},
	{
		room: "node/api/internal/docs",
		may: []string{"layer", "layer/jsontext", "layer/revtree", "node/api/internal/call",
			"node/api/internal/decode", "node/api/internal/encode", "node/api/internal/fault",
			"node/api/internal/intake", "node/api/internal/render", "node/api/internal/settings", "node/auth",
			"node/api/internal/zlib", "node/docids"},
		why: "endpoints of documents are calls of the layer, and know no other endpoints",
	},
	{
		room: "node/api/internal/rows",
		may: []string{"layer", "layer/jsontext", "node/api/internal/call", "node/api/internal/decode",
			"node/api/internal/encode", "node/api/internal/fault", "node/api/internal/render",
			"node/api/internal/settings"},
		why: "lists and views are calls of the layer, and know no other endpoints",
	},
	{
		room: "node/api/internal/find",
		may: []string{"layer", "layer/jsontext", "node/api/internal/call", "node/api/internal/decode",
			"node/api/internal/encode", "node/api/internal/fault", "node/api/internal/rows",
			"node/api/internal/settings", "query/mango"},
		why: "query/mango decides how a query is answered; its endpoints read what a plan names, and update indexes " +
			"as views do",
	},
	{
		room: "node/api/internal/feeds",
		may: []string{"layer", "layer/jsontext", "layer/script", "node/api/internal/call",
			"node/api/internal/decode", "node/api/internal/encode", "node/api/internal/fault",
			"node/api/internal/render", "node/api/internal/settings", "layer/selector"},
		testsMay: []string{"node/api/internal/intake"},
		why:      "feeds are calls of the layer that wait, and know no other endpoints",
	},
	{
		room: "node/api/internal/functions",
		may: []string{"layer", "layer/jsontext", "layer/script", "node/api/internal/call",
			"node/api/internal/decode", "node/api/internal/docs", "node/api/internal/fault",
			"node/api/internal/render", "node/api/internal/rows"},
		why: "functions read and write documents, and read rows, as the endpoints for these do",
	},
	{
		room: "node/api/internal/databases", may: []string{"layer", "layer/jsontext", "node/api/internal/call",
			"node/api/internal/decode", "node/api/internal/encode", "node/api/internal/fault",
			"node/api/internal/render", "node/api/internal/rows", "node/api/internal/settings", "node/auth"},
		why: "endpoints of databases are calls of the layer; lists of databases take the parameters of other lists",
	},
	{
		room: "node/api/internal/replications", may: []string{"layer", "node/api/internal/call",
			"node/api/internal/fault", "node/api/internal/rows", "node/auth"},
		why: "replications run elsewhere, behind an interface that is declared here; lists of their documents " +
			"take the parameters of other lists",
	},
	{
		room: "node/api/internal/server",
		may: []string{"layer", "layer/jsontext", "node/api/internal/call", "node/api/internal/decode",
			"node/api/internal/encode", "node/api/internal/fault"},
		why: "information about the node comes through interfaces that are declared here",
	},
	{
		room: "node/api", may: []string{"layer", "layer/kv", "layer/script", "node/api/internal/...", "node/auth",
			"node/couchopts", "node/docids"},
		testsMay: []string{"layer/kv/outage"},
		why:      "the router brings requests to their endpoints; engines, actors and the cluster are wired by node",
	},
	{
		room: "node/status", may: []string{"node/console/state"},
		why: "it prints what the console of a node answers, on any machine",
	},
	{
		room: "node/demo",
		why:  "it uses nodes from outside, as processes and over HTTP",
	},
	{
		room: "node/relocate", may: []string{"layer"},
		why: "it moves files between stores and the HTTP API; what is in them is the layer's business",
	},
	{
		room: "node/machine", may: []string{"node/config"},
		why: "what a machine has does not depend on what the node does with it",
	},
	{
		room: "node/systemd",
		why:  "how a service manager is told of the node does not depend on what the node does",
	},
	{
		room: "node/cmd/divan", may: []string{"node", "node/config", "node/auth", "node/demo", "node/relocate",
			"node/machine", "node/systemd", "node/status"},
		why: "main handles the process; the program is node.Node",
	},
	{
		room: "node/e2e", may: []string{"scripts/browser", "scripts/fixtures"}, testsMay: []string{"query/pgtest"},
		why: "end-to-end tests use the built binary from outside, as a user does",
	},
	{
		room: "node", may: []string{"node/...", "actors/...", "cluster/...", "query/...", "layer/..."},
		why: "node assembles everything, so nothing but its commands may import it",
	},
	{
		room: "scripts/benchmark", may: []string{"scripts/...", "layer", "layer/tuple", "layer/keyspace", "layer/kv",
			"layer/kv/embedded", "layer/kv/remote", "query/pgtest"},
		why: "it measures the built binary from outside, beside PostgreSQL too, engines against what they stand on, " +
			"and what the layer asks of an engine",
	},
	{
		room: "scripts", may: []string{"scripts/..."},
		why: "scripts work on the tree and on the built binary from outside",
	},
}
