package house

// layerRules are the rules of the layer.
var layerRules = []rule{
	{
		room: "layer/tuple",
		why:  "the tuple encoding is a specification of its own, compared byte for byte with FoundationDB's",
	},
	{
		room: "layer/keyspace",
		why:  "it assigns prefixes and format versions; what is stored under them is the layer's business",
	},
	{
		room: "layer/collate", may: []string{"layer/jsontext"},
		why: "the order of JSON keys depends on nothing that is stored",
	},
	{
		room: "layer/selector", may: []string{"layer/collate", "layer/jsontext"},
		why: "Mango reads JSON and compares it in CouchDB's order, and needs nothing else",
	},
	{
		room: "layer/revtree",
		why:  "pure: branches, winner, stemming and merge do no I/O, so that a model can check them",
	},
	{
		room: "layer/reduce", may: []string{"layer/collate"},
		why: "the built-in reductions work on JSON values and their order; where partial ones are kept is the " +
			"layer's business",
	},
	{
		room: "layer/rowshape",
		why:  "a description of rows is shared by those who make and those who query them, and needs neither",
	},
	{
		room: "layer/script", may: []string{"layer/rowshape", "layer/script/internal/..."},
		testsMay: []string{"layer/collate"},
		why:      "the sandbox runs functions over JSON; it must not be able to reach a store",
	},
	{
		room: "layer/script/internal/jstext", may: []string{"layer/jsontext"},
		why: "texts are read and written as JavaScript does, without running JavaScript",
	},
	{
		room: "layer/script/internal/direct", may: []string{"layer/jsontext", "layer/rowshape",
			"layer/script/internal/jstext"},
		why: "functions are evaluated over a document's text without an engine, and without knowing that there is one",
	},
	{
		room: "layer/script/internal/turns",
		why:  "processors are shared among calls, whatever the calls do",
	},
	{
		room: "layer/script/internal/engine", may: []string{"layer/jsontext", "layer/script/internal/jstext",
			"layer/script/internal/turns"},
		why: "an engine runs the functions of one program and pauses in turns; who has runtimes, and which, is " +
			"the sandbox's",
	},
	{
		room: "layer/jsontext",
		why:  "any package may read and write JSON texts without decoding them",
	},
	{
		room: "layer/internal/fault", may: []string{"layer/kv"},
		why: "errors have kinds for the edges, and details from the package that detected them",
	},
	{
		room: "layer/internal/upkeep", may: []string{"layer/kv"},
		why: "every kind of upkeep runs and is counted the same way, whatever it does",
	},
	{
		room: "layer/internal/cache", may: []string{"layer/internal/fault"},
		why: "a bounded cache can hold anything",
	},
	{
		room: "layer/internal/db", may: []string{"layer/internal/cache", "layer/internal/fault", "layer/jsontext",
			"layer/keyspace", "layer/kv", "layer/tuple", "layer/revtree"},
		why: "databases, transactions, keys and sequences are what every room stands on, and know none of them",
	},
	{
		room: "layer/internal/rev", may: []string{"layer/internal/db", "layer/internal/fault", "layer/jsontext",
			"layer/keyspace", "layer/kv", "layer/tuple", "layer/revtree"},
		why: "reading, writing, listing and indexing documents all read branches and bodies the same way",
	},
	{
		room: "layer/internal/jobs", may: []string{"layer/internal/db", "layer/internal/fault", "layer/keyspace",
			"layer/kv", "layer/tuple"},
		why: "a job has a type, an id and bytes; what is to be done is its worker's business",
	},
	{
		room: "layer/internal/feed", may: []string{"layer/internal/db", "layer/internal/fault",
			"layer/internal/jobs", "layer/internal/rev", "layer/keyspace", "layer/kv", "layer/tuple"},
		why: "the feed is entries of documents by sequence; whoever reads it knows why",
	},
	{
		room: "layer/internal/design", may: []string{"layer/internal/cache", "layer/internal/db",
			"layer/internal/fault", "layer/jsontext", "layer/internal/rev", "layer/keyspace", "layer/kv",
			"layer/reduce", "layer/rowshape", "layer/script", "layer/selector"},
		why: "design documents are parsed and compiled below those that use their functions",
	},
	{
		room: "layer/internal/attach", may: []string{"layer/internal/db", "layer/internal/fault",
			"layer/internal/rev", "layer/keyspace", "layer/kv", "layer/tuple"},
		why: "the data of attachments lives and dies with the bodies that refer to it; who writes these " +
			"does not matter",
	},
	{
		room: "layer/internal/write", may: []string{"layer/internal/attach", "layer/internal/db",
			"layer/internal/design", "layer/internal/fault", "layer/internal/feed", "layer/internal/jobs",
			"layer/jsontext", "layer/internal/rev", "layer/keyspace", "layer/kv", "layer/tuple", "layer/revtree",
			"layer/script"},
		why: "documents are written without knowing indexes, which take part through an interface that is " +
			"declared here",
	},
	{
		room: "layer/internal/alldocs", may: []string{"layer/internal/cache", "layer/internal/db", "layer/internal/rev",
			"layer/internal/write", "layer/keyspace", "layer/kv", "layer/tuple"},
		why: "the list of documents is the keys of live ones, and their bodies",
	},
	{
		room: "layer/internal/partition", may: []string{"layer/internal/attach", "layer/internal/db",
			"layer/internal/fault", "layer/internal/rev", "layer/keyspace", "layer/kv", "layer/tuple"},
		why: "partitions are counted from the branches and bodies of their documents",
	},
	{
		room: "layer/internal/index", may: []string{"layer/internal/alldocs", "layer/internal/db",
			"layer/internal/design", "layer/internal/fault", "layer/internal/feed", "layer/internal/rev",
			"layer/keyspace", "layer/kv", "layer/tuple", "layer/collate", "layer/revtree"},
		why: "rows and their sequence are the same for builds and queries, and know neither",
	},
	{
		room: "layer/internal/aggregate", may: []string{"layer/internal/db", "layer/internal/index",
			"layer/internal/rev", "layer/keyspace", "layer/kv", "layer/tuple", "layer/collate", "layer/reduce"},
		why: "partial aggregates are made from rows, whoever writes or queries them",
	},
	{
		room: "layer/internal/build", may: []string{"layer/internal/aggregate", "layer/internal/db",
			"layer/internal/design", "layer/internal/fault", "layer/internal/feed", "layer/internal/index",
			"layer/internal/jobs", "layer/internal/rev", "layer/internal/write", "layer/keyspace", "layer/kv",
			"layer/tuple", "layer/collate", "layer/script"},
		why: "rows are made from documents, whoever asks for them",
	},
	{
		room: "layer/internal/query", may: []string{"layer/internal/aggregate", "layer/internal/build",
			"layer/internal/cache", "layer/internal/db", "layer/internal/design", "layer/internal/fault",
			"layer/internal/index", "layer/jsontext", "layer/internal/rev", "layer/keyspace", "layer/kv",
			"layer/tuple", "layer/collate", "layer/reduce", "layer/script"},
		why: "queries of a view are answered from its rows and later changes",
	},
	{
		room: "layer/internal/compact", may: []string{"layer/internal/attach", "layer/internal/build",
			"layer/internal/db", "layer/internal/design", "layer/internal/fault", "layer/internal/feed",
			"layer/internal/index", "layer/internal/jobs", "layer/internal/upkeep", "layer/keyspace", "layer/kv",
			"layer/tuple"},
		why: "compaction removes what no other room needs any more, so it knows them and none knows it",
	},
	{
		room: "layer/internal/check", may: []string{"layer/internal/aggregate", "layer/internal/attach",
			"layer/internal/build", "layer/internal/compact", "layer/internal/db", "layer/internal/design",
			"layer/internal/fault", "layer/internal/feed", "layer/internal/index", "layer/internal/partition",
			"layer/internal/rev", "layer/internal/write", "layer/jsontext", "layer/keyspace", "layer/kv",
			"layer/tuple", "layer/collate", "layer/reduce", "layer/script"},
		why: "a check compares what all rooms have stored, so none of them may depend on it",
	},
	{
		room: "layer/internal/export", may: []string{"layer/internal/alldocs", "layer/internal/attach",
			"layer/internal/build", "layer/internal/check", "layer/internal/db", "layer/internal/fault",
			"layer/internal/feed", "layer/internal/rev", "layer/internal/write", "layer/keyspace", "layer/kv",
			"layer/tuple"},
		why: "an export reads a database as its users do, and an import writes a new one",
	},
	{
		room: "layer",
		may: []string{"layer", "layer/internal/...", "layer/jsontext", "layer/kv", "layer/tuple", "layer/keyspace",
			"layer/collate",
			"layer/reduce", "layer/revtree", "layer/script"},
		why: "the layer runs below actors, SQL and HTTP, on any engine: it imports its own parts and the contract, " +
			"never an engine " +
			"and nothing above",
	},
}
