package house

// engineRules are the rules of engines and what they are made of.
var engineRules = []rule{
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
}
