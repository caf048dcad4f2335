package house

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

var rules = []rule{
	{
		room: "layer/kv",
		why: "the engine contract stands on the standard library alone: whoever implements or uses it must be able " +
			"to read it by itself",
	},
	{
		room: "layer/kv/embedded", may: []string{"layer/kv", "layer/kv/embedded/..."},
		testsMay: []string{"layer/tuple"},
		why: "an engine knows the contract and nothing else: it stores bytes, and does not know other engines " +
			"or documents",
	},
	{
		room: "layer/kv/embedded/internal/failure", may: []string{"layer/kv"},
		why: "errors are told apart by whoever meets them",
	},
	{
		room: "layer/kv/embedded/internal/keys", may: []string{"layer/kv"},
		testsMay: []string{"layer/kv/embedded/internal/keys/keystest"},
		why:      "ranges of keys are the same for reads, writes, conflicts and damage",
	},
	{
		room: "layer/kv/embedded/internal/keys/keystest", may: []string{"layer/kv"},
		why: "made-up ranges are for tests of whatever works on ranges",
	},
	{
		room: "layer/kv/embedded/internal/store", may: []string{"layer/kv", "layer/kv/embedded/internal/failure"},
		why: "the parts of the engine share the database, and not each other",
	},
	{
		room: "layer/kv/embedded/internal/conflict", may: []string{"layer/kv", "layer/kv/embedded/internal/keys"},
		testsMay: []string{"layer/kv/embedded/internal/keys/keystest"},
		why:      "conflicts are found in keys and versions alone, so that a model can check them",
	},
	{
		room: "layer/kv/embedded/internal/writes", may: []string{"layer/kv", "layer/kv/embedded/internal/keys"},
		why: "what a transaction has written is known before anything is read",
	},
	{
		room: "layer/kv/embedded/internal/rowcache",
		why:  "rows are remembered without knowing who reads or writes them",
	},
	{
		room: "layer/kv/embedded/internal/versions", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/keys",
			"layer/kv/embedded/internal/rowcache", "layer/kv/embedded/internal/store",
			"layer/kv/embedded/internal/writes"},
		why: "a version is read without knowing how it was made",
	},
	{
		room: "layer/kv/embedded/internal/watch", may: []string{"layer/kv", "layer/kv/embedded/internal/failure",
			"layer/kv/embedded/internal/keys", "layer/kv/embedded/internal/versions"},
		why: "watches are told of keys that changed, whoever changed them",
	},
	{
		room: "layer/kv/embedded/internal/disk/storelock", may: []string{"layer/kv/embedded/internal/failure"},
		why: "who has a store is known before anything of it is opened",
	},
	{
		room: "layer/kv/embedded/internal/disk/horizon", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/store"},
		why: "files are compared with what was written before anything is opened",
	},
	{
		room: "layer/kv/embedded/internal/disk/room", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/store"},
		why: "room is measured and given out without knowing what it is for",
	},
	{
		room: "layer/kv/embedded/internal/disk/sst", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/keys"},
		why: "tables are read as they lie on the disk, whoever asks, with Pebble running or not",
	},
	{
		room: "layer/kv/embedded/internal/disk/guard", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/store",
			"layer/kv/embedded/internal/disk/horizon", "layer/kv/embedded/internal/disk/room",
			"layer/kv/embedded/internal/disk/storelock"},
		why: "files that a store cannot do without are guarded below all that writes them",
	},
	{
		room: "layer/kv/embedded/internal/disk/damage", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/keys",
			"layer/kv/embedded/internal/store", "layer/kv/embedded/internal/disk/room",
			"layer/kv/embedded/internal/disk/sst"},
		why: "damage is known below those that read, compact and verify",
	},
	{
		room: "layer/kv/embedded/internal/disk/salvage", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/store",
			"layer/kv/embedded/internal/disk/damage", "layer/kv/embedded/internal/disk/horizon"},
		why: "what is shown in the place of lost files is for reading alone: it knows nothing that writes",
	},
	{
		room: "layer/kv/embedded/internal/disk/compact", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/keys",
			"layer/kv/embedded/internal/store", "layer/kv/embedded/internal/versions",
			"layer/kv/embedded/internal/disk/damage", "layer/kv/embedded/internal/disk/guard",
			"layer/kv/embedded/internal/disk/room"},
		why: "what is compacted depends on what nobody reads any more, on damage and on room, and not on commits",
	},
	{
		room: "layer/kv/embedded/internal/commit", may: []string{"layer/kv", "layer/kv/embedded/internal/failure",
			"layer/kv/embedded/internal/keys", "layer/kv/embedded/internal/store",
			"layer/kv/embedded/internal/conflict", "layer/kv/embedded/internal/writes",
			"layer/kv/embedded/internal/rowcache", "layer/kv/embedded/internal/versions",
			"layer/kv/embedded/internal/watch", "layer/kv/embedded/internal/disk/compact",
			"layer/kv/embedded/internal/disk/damage", "layer/kv/embedded/internal/disk/guard",
			"layer/kv/embedded/internal/disk/room"},
		why: "commits are put in order and written without knowing what transactions are for callers",
	},
	{
		room: "layer/kv/embedded/internal/txn", may: []string{"layer/kv", "layer/kv/embedded/internal/failure",
			"layer/kv/embedded/internal/keys", "layer/kv/embedded/internal/store",
			"layer/kv/embedded/internal/writes", "layer/kv/embedded/internal/versions",
			"layer/kv/embedded/internal/watch", "layer/kv/embedded/internal/commit",
			"layer/kv/embedded/internal/disk/room"},
		why: "transactions read versions and hand their writes to commit; files are the business of others",
	},
	{
		room: "layer/kv/fdb", may: []string{"layer/kv"}, testsMay: []string{"layer/tuple"},
		why: "an engine knows the contract and nothing else: it stores bytes, and does not know other engines " +
			"or documents",
	},
	{
		room: "layer/kv/remote", may: []string{"layer/kv"}, testsMay: []string{"layer/tuple"},
		why: "an engine knows the contract and nothing else: it stores bytes, and does not know other engines " +
			"or documents",
	},
	{
		room: "layer/kv/kvtest", may: []string{"layer/kv"},
		why: "the conformance suite sees an engine through the contract only, or it would not be the same for " +
			"every engine",
	},
	{
		room: "layer/kv/faultkv", may: []string{"layer/kv"},
		why: "it wraps any engine, so it must know none",
	},
	{
		room: "layer/tuple",
		why:  "the tuple encoding is a specification of its own, compared byte for byte with FoundationDB's",
	},
	{
		room: "layer/keyspace", may: []string{"layer/tuple"},
		why: "it assigns prefixes and format versions; what is stored under them is the layer's business",
	},
	{
		room: "layer/collate", may: []string{"layer/jsontext"},
		why: "the order of JSON keys depends on nothing that is stored",
	},
	{
		room: "layer/revtree",
		why:  "pure: branches, winner, stemming and merge do no I/O, so that a model can check them",
	},
	{
		room: "layer/reduce", may: []string{"layer/collate"}, testsMay: []string{"layer/script"},
		why: "the built-in reductions work on JSON values; where partial ones are kept is the layer's business",
	},
	{
		room: "layer/script", may: []string{"layer/script/internal/..."}, testsMay: []string{"layer/collate"},
		why: "the sandbox runs functions over JSON; it must not be able to reach a store",
	},
	{
		room: "layer/script/internal/jstext", may: []string{"layer/jsontext"},
		why: "texts are read and written as JavaScript does without running any",
	},
	{
		room: "layer/script/internal/direct", may: []string{"layer/jsontext", "layer/script/internal/jstext"},
		why: "functions are evaluated over a document's text without an engine, and without knowing that there is one",
	},
	{
		room: "layer/script/internal/turns",
		why:  "processors are shared among calls, whatever these do",
	},
	{
		room: "layer/script/internal/engine", may: []string{"layer/jsontext", "layer/script/internal/jstext",
			"layer/script/internal/turns"},
		why: "an engine runs the functions of one program and pauses in turns; who has runtimes, and which, is " +
			"the sandbox's",
	},
	{
		room: "layer/jsontext",
		why:  "JSON texts are read and written by whoever has them, without decoding",
	},
	{
		room: "layer/internal/fault", may: []string{"layer/kv"},
		why: "errors have kinds for the edges; what went wrong is told by who found it",
	},
	{
		room: "layer/internal/upkeep",
		why:  "every kind of upkeep runs and is counted the same way, whatever it does",
	},
	{
		room: "layer/internal/cache", may: []string{"layer/internal/fault"},
		why: "what is remembered within a bound can be anything",
	},
	{
		room: "layer/internal/db", may: []string{"layer/internal/cache", "layer/internal/fault", "layer/jsontext",
			"layer/keyspace", "layer/kv", "layer/tuple", "layer/revtree"},
		why: "databases, transactions, keys and sequences are what every room stands on, and know none of them",
	},
	{
		room: "layer/internal/rev", may: []string{"layer/internal/db", "layer/internal/fault", "layer/jsontext",
			"layer/keyspace", "layer/kv", "layer/tuple", "layer/revtree"},
		why: "branches and bodies are read the same way by whoever reads, writes, lists or indexes documents",
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
			"layer/reduce", "layer/script"},
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
		room: "layer/internal/alldocs", may: []string{"layer/internal/db", "layer/internal/fault",
			"layer/internal/rev", "layer/internal/write", "layer/keyspace", "layer/kv", "layer/tuple"},
		why: "the list of documents is the keys of live ones, and their bodies",
	},
	{
		room: "layer/internal/index", may: []string{"layer/internal/alldocs", "layer/internal/db",
			"layer/internal/design", "layer/internal/fault", "layer/internal/feed", "layer/internal/rev",
			"layer/keyspace", "layer/kv", "layer/tuple", "layer/collate", "layer/revtree"},
		why: "rows, and the sequence that they are of, are the same for builds and queries, and know neither",
	},
	{
		room: "layer/internal/aggregate", may: []string{"layer/internal/db", "layer/internal/index",
			"layer/internal/rev", "layer/keyspace", "layer/kv", "layer/tuple", "layer/collate", "layer/reduce"},
		why: "partial aggregates are made of rows, whoever writes or asks for these",
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
		why: "questions to a view are answered from its rows and what has changed since",
	},
	{
		room: "layer/internal/compact", may: []string{"layer/internal/attach", "layer/internal/build",
			"layer/internal/db", "layer/internal/design", "layer/internal/fault", "layer/internal/feed",
			"layer/internal/index", "layer/internal/jobs", "layer/internal/upkeep", "layer/keyspace", "layer/kv",
			"layer/tuple"},
		why: "compaction removes what every other room is through with, so it knows them and none knows it",
	},
	{
		room: "layer/internal/check", may: []string{"layer/internal/aggregate", "layer/internal/attach",
			"layer/internal/build", "layer/internal/compact", "layer/internal/db", "layer/internal/design",
			"layer/internal/fault", "layer/internal/feed", "layer/internal/index", "layer/internal/rev",
			"layer/internal/write", "layer/jsontext", "layer/keyspace", "layer/kv", "layer/tuple", "layer/reduce",
			"layer/script"},
		why: "a check compares what all rooms have stored, so that none may need it",
	},
	{
		room: "layer/internal/export", may: []string{"layer/internal/alldocs", "layer/internal/attach",
			"layer/internal/build", "layer/internal/check", "layer/internal/db", "layer/internal/fault",
			"layer/internal/feed", "layer/internal/rev", "layer/internal/write", "layer/keyspace", "layer/kv",
			"layer/tuple"},
		why: "an export reads a database as its users do, and an import writes one anew",
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
	{
		room: "query/pgwire", may: []string{"query/sqlstate"},
		why: "the wire protocol knows messages, not what the SQL in them means",
	},
	{
		room: "query/work", may: []string{"query/sqlstate"},
		why: "what a statement may use of memory and processors is counted below everything that uses them",
	},
	{
		room: "query/advisory", may: []string{"query/sqlstate"},
		why: "locks on numbers know their owners and nothing of sessions",
	},
	{
		room: "query/sqlstate",
		why:  "error codes are words that every part of query shares",
	},
	{
		room: "query/regex", testsMay: []string{"query/pgtest"},
		why: "regular expressions are patterns and texts, wherever they come from",
	},
	{
		room: "query/jsonpath", may: []string{"query/regex", "query/sqlstate"},
		why: "a path is parsed without knowing what values it is for",
	},
	{
		room: "query/jsonpath/run", may: []string{"layer/jsontext", "query/datetime", "query/jsonpath", "query/regex",
			"query/sqlstate",
			"query/types"},
		why: "a path is evaluated over values; what calls it, and what bounds it, comes in through functions",
	},
	{
		room: "query/datetime", may: []string{"query/sqlstate"},
		why: "the calendar, and the texts of times, are the same whatever values hold them",
	},
	{
		room: "query/types", may: []string{"layer/collate", "layer/jsontext", "query/datetime", "query/jsonpath",
			"query/sqlstate"},
		why: "values are compared, cast and written in text and binary; where they come from does not matter",
	},
	{
		room: "query/exec", may: []string{"layer/collate", "layer/jsontext", "query/exec/...", "query/sql/keyword",
			"query/sqlstate",
			"query/types", "query/work"},
		why: "plans run over reads that query declares itself; it orders as the store does and knows " +
			"nothing else of it",
	},
	{
		room: "query/exec/window", may: []string{"query/exec", "query/sqlstate", "query/types", "query/work"},
		why: "a window is a step of a plan like any other, which the others do not know",
	},
	{
		room: "query/sql/ast",
		why:  "the tree is what parsing and binding share, and knows neither",
	},
	{
		room: "query/pgtest",
		why:  "tests of any part of query compare with a PostgreSQL, which knows nothing of them",
	},
	{
		room: "query/sql/lex", may: []string{"query/sql/keyword", "query/sqlstate", "query/work"},
		why: "a text is cut into tokens without knowing what they make",
	},
	{
		room: "query/sql/parse", may: []string{"query/sql/ast", "query/sql/keyword", "query/sql/lex",
			"query/sqlstate", "query/work"},
		testsMay: []string{"query/pgtest"},
		why:      "a text is parsed without knowing what its names mean",
	},
	{
		room: "query/sql/keyword",
		why:  "the key words are one table, for whoever reads or writes names",
	},
	{
		room: "query/funcs", may: []string{"query/datetime", "query/exec/...", "query/funcs/...", "query/jsonpath/...",
			"query/regex", "query/sql/keyword", "query/sqlstate", "query/types", "query/work"},
		why: "functions compute values of values; what calls them, and where from, does not matter",
	},
	{
		room: "query/funcs/aggregates",
		may: []string{"layer/jsontext", "query/exec", "query/funcs", "query/sqlstate", "query/types",
			"query/work"},
		why: "aggregates add up values, whatever rows they are of",
	},
	{
		room: "query/funcs/jsons", may: []string{"layer/jsontext", "query/exec", "query/funcs", "query/funcs/texts",
			"query/jsonpath/...",
			"query/regex",
			"query/sqlstate", "query/types", "query/work"},
		why: "JSON is taken apart and put together without knowing documents",
	},
	{
		room: "query/funcs/texts", may: []string{"layer/jsontext", "query/exec", "query/funcs", "query/regex",
			"query/sql/keyword",
			"query/sqlstate",
			"query/types", "query/work"},
		why: "texts and patterns know no other family",
	},
	{
		room: "query/funcs/templates", may: []string{"query/datetime", "query/exec", "query/funcs", "query/funcs/texts",
			"query/sqlstate",
			"query/types", "query/work"},
		why: "templates write numbers and times without computing them",
	},
	{
		room: "query/funcs/times", may: []string{"query/datetime", "query/exec", "query/funcs", "query/funcs/templates",
			"query/sqlstate",
			"query/types", "query/work"},
		why: "times are computed with and printed, and are nothing else",
	},
	{
		room: "query/bind/refuse", may: []string{"query/sql/ast", "query/sql/parse",
			"query/sqlstate"}, testsMay: []string{"query/work"},
		why: "what cannot be run is known by the tree alone",
	},
	{
		room: "query/bind/collation", may: []string{"query/exec", "query/sqlstate", "query/types"},
		why: "collations are told by expressions, whatever these were written as",
	},
	{
		room: "query/bind/refs", may: []string{"query/bind/collation", "query/exec/...", "query/sql/ast",
			"query/sqlstate", "query/types"},
		why: "they stand for values and know nothing of the query",
	},
	{
		room: "query/bind/naming", may: []string{"query/bind/refuse", "query/exec", "query/sql/ast", "query/sqlstate",
			"query/types"},
		why: "names are the same for whoever binds, plans or lists them",
	},
	{
		room: "query/bind/grouping", may: []string{"query/sql/ast", "query/sqlstate"},
		why: "sets are worked out over numbers of keys",
	},
	{
		room: "query/bind/typing", may: []string{"query/bind/collation", "query/datetime", "query/exec",
			"query/funcs/...", "query/sql/ast",
			"query/sqlstate", "query/types"},
		why: "types follow from operands and candidates, without names and scopes",
	},
	{
		room: "query/bind", may: []string{"query/bind/...", "query/datetime", "query/exec/...", "query/funcs/...",
			"query/sql/ast", "query/sql/parse", "query/sqlstate", "query/types", "query/work"},
		why: "a statement gets its meaning from the tree and a schema, without the wire and without running anything",
	},
	{
		room: "query/plan", may: []string{"layer/jsontext", "query/bind/...", "query/exec/...", "query/funcs/...",
			"query/sql/ast",
			"query/sqlstate", "query/types", "query/work"},
		why: "a plan is made of what is bound and of values, and is run elsewhere",
	},
	{
		room: "query/catalog", may: []string{"query/bind/...", "query/exec/...", "query/funcs/...",
			"query/sql/keyword", "query/sqlstate", "query/types"},
		testsMay: []string{"query/exec/exectest", "query/pgtest"},
		why:      "the catalogue is rows about databases and views, seen through the same declared reads",
	},
	{
		room: "query/selector", may: []string{"layer/collate"},
		why: "Mango compares JSON in CouchDB's order and needs nothing else",
	},
	{
		room: "query", may: []string{"query/...", "layer/collate"},
		why: "query sees the store through interfaces of its own, so that it can be tested without one; node adapts",
	},
	{
		room: "actors/internal/runtime", may: []string{"layer/kv"},
		why: "how an actor runs, fails and is shown does not depend on what it does; of the store it knows that " +
			"watches end",
	},
	{
		room: "actors/internal/ports", may: []string{"layer", "layer/kv"},
		why: "it is what actors ask of the layer, and what they do with the answers is theirs",
	},
	{
		room: "actors/internal/feeds", may: []string{"actors/internal/ports", "actors/internal/runtime", "layer",
			"layer/kv"},
		why: "who waits for changes is woken, whether that is a request or what keeps indexes warm",
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
		room: "actors/internal/upkeep", may: []string{"actors/internal/jobs", "actors/internal/runtime", "layer"},
		why: "each kind of upkeep is a taker of jobs, and knows no other",
	},
	{
		room: "actors", may: []string{"actors/internal/...", "layer", "layer/kv"}, testsMay: []string{"layer/script"},
		why: "actors decide who does work and where, over the layer; members and addresses come through a Placer " +
			"that node wires, " +
			"and engines, HTTP and SQL are none of their business",
	},
	{
		room: "cluster", may: []string{"cluster/..."},
		why: "members and placement know no databases, and cluster and actors do not know each other",
	},
	{
		room: "node/config", may: []string{"node/auth"},
		why: "settings are read before there is anything to set; it asks auth only whether a hash is one",
	},
	{
		room: "node/auth", may: []string{"layer"},
		why: "who somebody is depends on the configuration and on user documents that come through an interface",
	},
	{
		room: "node/metrics", may: []string{"layer", "layer/kv", "layer/script", "actors"},
		why: "metrics are read off the rooms they measure",
	},
	{
		room: "node/dashboard", may: []string{"node/auth", "node/metrics"},
		why: "the page shows what the HTTP API says; it has no way of its own into the store",
	},
	{
		room: "node/sqlreads", may: []string{"layer", "actors", "cluster", "query/exec", "node/auth"},
		testsMay: []string{"layer/script"},
		why:      "it shows the layer to query; what the SQL means, and the wire, are query's",
	},
	{
		room: "node/api/internal/encode", may: []string{"layer", "layer/jsontext"},
		why: "JSON is written the same way by every endpoint; what is in it does not matter, but for revisions",
	},
	{
		room: "node/api/internal/fault",
		may:  []string{"layer", "layer/jsontext", "layer/kv", "layer/script", "node/api/internal/encode"},
		why:  "errors of the rooms below get their status here, and those of HTTP itself are made here",
	},
	{
		room: "node/api/internal/decode", may: []string{"layer/jsontext", "node/api/internal/fault"},
		why: "a text is JSON or an error of the client; what it is for does not matter",
	},
	{
		room: "node/api/internal/conns", may: []string{"node/api/internal/fault"},
		why: "connections are bounded before anybody knows what is asked on them",
	},
	{
		room: "node/api/internal/intake", may: []string{"node/api/internal/conns", "node/api/internal/decode",
			"node/api/internal/fault"},
		why: "a body has a size, a pace and an owner; what is in it is its endpoint's business",
	},
	{
		room: "node/api/internal/call", may: []string{"layer", "node/api/internal/decode", "node/api/internal/fault",
			"node/api/internal/intake"},
		why: "a call is the same for every endpoint, so it knows none of them",
	},
	{
		room: "node/api/internal/settings",
		may: []string{"layer/jsontext", "node/api/internal/call", "node/api/internal/encode",
			"node/api/internal/fault", "node/auth"},
		why: "settings do not know who heeds them; auth says which origins are safe",
	},
	{
		room: "node/api/internal/render", may: []string{"layer", "node/api/internal/call", "node/api/internal/encode",
			"query/selector"},
		why: "documents look the same alone, in rows and in feeds",
	},
	{
		room: "node/api/internal/docs",
		may: []string{"layer", "layer/jsontext", "layer/revtree", "node/api/internal/call",
			"node/api/internal/decode", "node/api/internal/encode", "node/api/internal/fault",
			"node/api/internal/intake", "node/api/internal/render", "node/api/internal/settings", "node/auth"},
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
		room: "node/api/internal/feeds",
		may: []string{"layer", "layer/jsontext", "layer/script", "node/api/internal/call",
			"node/api/internal/decode", "node/api/internal/encode", "node/api/internal/fault",
			"node/api/internal/render", "node/api/internal/settings", "query/selector"},
		testsMay: []string{"node/api/internal/intake"},
		why:      "feeds are calls of the layer that wait, and know no other endpoints",
	},
	{
		room: "node/api/internal/databases", may: []string{"layer", "layer/jsontext", "node/api/internal/call",
			"node/api/internal/decode", "node/api/internal/encode", "node/api/internal/fault",
			"node/api/internal/rows", "node/api/internal/settings", "node/auth"},
		why: "endpoints of databases are calls of the layer; lists of databases take the parameters of other lists",
	},
	{
		room: "node/api/internal/server",
		may: []string{"layer", "layer/jsontext", "node/api/internal/call", "node/api/internal/decode",
			"node/api/internal/encode", "node/api/internal/fault"},
		why: "what the node tells of itself comes through interfaces that are declared here",
	},
	{
		room: "node/api", may: []string{"layer", "layer/kv", "layer/script", "node/api/internal/...", "node/auth"},
		why: "the router brings requests to their endpoints; engines, actors and the cluster are wired by node",
	},
	{
		room: "node/relocate", may: []string{"layer"},
		why: "it moves files between stores and the HTTP API; what is in them is the layer's business",
	},
	{
		room: "node/cmd/divan", may: []string{"node", "node/config", "node/auth", "node/relocate"},
		why: "main handles the process; the program is node.Node",
	},
	{
		room: "node/e2e", may: []string{"scripts/fixtures"}, testsMay: []string{"query/pgtest"},
		why: "end-to-end tests use the built binary from outside, as a user does",
	},
	{
		room: "node", may: []string{"node/...", "actors/...", "cluster/...", "query/...", "layer/..."},
		why: "node assembles everything, so nothing but its commands may import it",
	},
	{
		room: "scripts/benchmark", may: []string{"scripts/...", "layer", "layer/tuple", "layer/keyspace", "layer/kv",
			"layer/kv/embedded", "layer/kv/remote"},
		why: "it measures the built binary from outside, engines against what they stand on, and what the layer " +
			"asks of an engine",
	},
	{
		room: "scripts", may: []string{"scripts/..."},
		why: "scripts work on the tree and on the built binary from outside",
	},
}

// home is where a third party lives.
type home struct {
	rooms []string
	tests bool // tests of any room may use it too
	why   string
}

// thirdParties by module path, or a package path where one module has several homes.
var thirdParties = map[string]home{
	"github.com/apple/foundationdb": {rooms: []string{"layer/kv/fdb", "scripts/benchmark"},
		why: "it needs cgo and a client library; the benchmark compares with it bare"},
	"github.com/cockroachdb/pebble/v2": {rooms: []string{"layer/kv/embedded", "layer/kv/embedded/...",
		"scripts/benchmark"}, tests: true,
		why: "the embedded engine's files are its own business; the benchmark compares with it bare"},
	"github.com/google/btree": {rooms: []string{"layer/kv/embedded/internal/writes",
		"layer/kv/embedded/internal/watch"},
		why: "the ordered sets of a transaction's writes and of watched keys"},
	"github.com/axiomhq/hyperloglog": {rooms: []string{"layer/reduce"},
		why: "it counts distinct keys for _approx_count_distinct"},
	"modernc.org/libquickjs": {rooms: []string{"layer/script/internal/engine"},
		why: "the JavaScript engine stays behind the sandbox's interface, so that it can be replaced"},
	"modernc.org/libc":  {rooms: []string{"layer/script/internal/engine"}, why: "it comes with the JavaScript engine"},
	"golang.org/x/text": {rooms: []string{"layer/collate"}, why: "the order of strings is decided in one place"},
	"golang.org/x/text/encoding/charmap": {rooms: []string{"query/funcs"},
		why: "convert_from and convert_to alone know sets of characters but UTF-8"},
	"golang.org/x/text/unicode/norm": {rooms: []string{"layer/collate", "query/funcs/texts"},
		why: "normal forms are a part of the order of strings, and a function of SQL"},
	"github.com/tidwall/gjson": {rooms: []string{"layer/internal/...", "layer/reduce", "layer/script",
		"node/api/internal/...",
		"query/selector"},
		why: "JSON is looked at where it comes in, without decoding it"},
	"github.com/jackc/pgx/v5/pgproto3": {rooms: []string{"query/pgwire"}, tests: true,
		why: "the messages of the wire protocol"},
	"github.com/jackc/pgx/v5": {rooms: nil, tests: true, why: "a Postgres client, for tests"},
	"github.com/xdg-go/scram": {rooms: []string{"query/pgwire"}, tests: true,
		why: "SCRAM is a part of the wire protocol's login"},
	"github.com/xdg-go/stringprep": {rooms: []string{"node/auth"},
		why: "it prepares passwords before they are hashed"},
	"github.com/hashicorp/golang-lru/v2": {rooms: []string{"layer/internal/cache", "layer/internal/db", "node/auth",
		"query"},
		why: "open databases and functions, what log-ins have shown, and which queries were bound, are remembered " +
			"within a bound"},
	"github.com/xwb1989/sqlparser": {rooms: []string{"query/sql/parse"},
		why: "it is the grammar of the clauses of one SELECT, of which one file makes the skeleton"},
	"github.com/hashicorp/memberlist": {rooms: []string{"cluster"}, why: "gossip stays behind cluster's own types"},
	"github.com/cespare/xxhash/v2": {rooms: []string{"cluster", "layer/internal/db"},
		why: "placement hashes with it"},
	"github.com/asynkron/protoactor-go": {rooms: []string{"actors", "actors/internal/runtime", "cluster"},
		why: "actors and remoting need it, nobody else sees it"},
	"google.golang.org/grpc": {rooms: []string{"cluster"},
		why: "protoactor's transport"},
	"google.golang.org/protobuf": {rooms: []string{"cluster", "cluster/..."},
		why: "what protoactor sends to another member has to be a protobuf message"},
	"github.com/prometheus/client_golang": {rooms: []string{"node/metrics"},
		why: "other rooms count in plain Go; one room publishes"},
	"go.yaml.in/yaml/v3": {rooms: []string{"node/config"}, why: "settings are read in one place"},
	"golang.org/x/term":  {rooms: []string{"node/cmd/divan"}, why: "it asks for a password without showing it"},
	"golang.org/x/sys": {rooms: []string{"scripts/soaktest"},
		why: "a client in a network namespace of its own needs setns"},
	"golang.org/x/sync": {rooms: []string{"layer", "layer/...", "actors/...", "query", "node", "node/..."}, tests: true,
		why: "it is all but the standard library"},
	"go.uber.org/goleak": {tests: true, why: "it finds goroutines that tests leave behind"},
	"github.com/lib/pq":  {tests: true, why: "it is another client of the SQL gateway"},
	"pgregory.net/rapid": {tests: true, why: "it makes up test cases"},
}

// generator makes the collation table from ICU, by hand and with a build tag; it is no part of the program.
const generator = "layer/collate/rootgen"

// bannedStandard are packages of the standard library that only some rooms may use.
var bannedStandard = map[string]struct {
	but      []string
	testsMay bool
	reason   string
}{
	"C": {but: []string{"layer/kv/fdb", generator}, reason: "the binary builds without cgo, but for FoundationDB"},
	"unsafe": {but: []string{"layer/script/internal/engine", "layer/script/internal/turns", "query/types", generator},
		reason: "nothing here is worth a memory fault in somebody's only copy of their data"},
	"net/http": {but: []string{"node", "node/...", "scripts/..."}, testsMay: true,
		reason: "HTTP is spoken in node alone"},
	"database/sql": {testsMay: true, reason: "Divan is a server of SQL, not a client"},
	"log":          {but: []string{generator, "cluster"}, reason: "the log is for the operator: log/slog, with keys"},
	"math/rand":    {reason: "math/rand/v2 is the one that is seeded well"},
	"net/http/pprof": {but: []string{"node"},
		reason: "it registers itself on the default mux, for everybody who can connect"},
}
