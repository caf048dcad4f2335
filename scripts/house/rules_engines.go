package house

// engineRules are the rules of engines and their parts.
var engineRules = []rule{
	{
		room: "layer/kv",
		why: "the engine contract depends only on the standard library: anyone who implements or uses it must be " +
			"able to read it by itself",
	},
	{
		room: "layer/kv/embedded", may: []string{"layer/kv", "layer/kv/embedded/..."},
		testsMay: []string{"layer/tuple"},
		why: "an engine knows the contract and nothing else: it stores bytes, and does not know other engines " +
			"or documents",
	},
	{
		room: "layer/kv/embedded/internal/failure", may: []string{"layer/kv"},
		why: "errors must be classifiable by all packages",
	},
	{
		room: "layer/kv/embedded/internal/keys", may: []string{"layer/kv"},
		testsMay: []string{"layer/kv/embedded/internal/keys/keystest"},
		why:      "reads, writes, conflicts and damage use the same key ranges",
	},
	{
		room: "layer/kv/embedded/internal/keys/keystest", may: []string{"layer/kv"},
		why: "made-up ranges are for tests of everything that works on ranges",
	},
	{
		room: "layer/kv/embedded/internal/store", may: []string{"layer/kv", "layer/kv/embedded/internal/failure"},
		why: "the parts of the engine share the database, but do not know each other",
	},
	{
		room: "layer/kv/embedded/internal/conflict", may: []string{"layer/kv", "layer/kv/embedded/internal/keys"},
		testsMay: []string{"layer/kv/embedded/internal/keys/keystest"},
		why:      "conflicts depend only on keys and versions, so that a model can check them",
	},
	{
		room: "layer/kv/embedded/internal/writes", may: []string{"layer/kv", "layer/kv/embedded/internal/keys"},
		why: "a transaction's own writes are known without reading anything",
	},
	{
		room: "layer/kv/embedded/internal/rowcache",
		why:  "rows are cached without knowing who reads or writes them",
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
		why: "watches learn of changed keys, whoever changed them",
	},
	{
		room: "layer/kv/embedded/internal/disk/storelock", may: []string{"layer/kv/embedded/internal/failure"},
		why: "the process that has a store is known before any part of it is opened",
	},
	{
		room: "layer/kv/embedded/internal/disk/horizon", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/store"},
		why: "files are compared with what was written before anything is opened",
	},
	{
		room: "layer/kv/embedded/internal/disk/room", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/store"},
		why: "disk space is measured and reserved without knowing what it is for",
	},
	{
		room: "layer/kv/embedded/internal/disk/sst", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/keys"},
		why: "tables are read as they are on disk, whether Pebble is running or not",
	},
	{
		room: "layer/kv/embedded/internal/disk/guard", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/store",
			"layer/kv/embedded/internal/disk/horizon", "layer/kv/embedded/internal/disk/room",
			"layer/kv/embedded/internal/disk/storelock"},
		why: "essential files are guarded below everything that writes them",
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
		why: "the substitute for lost files is only for reading: it does not know what writes",
	},
	{
		room: "layer/kv/embedded/internal/disk/compact", may: []string{"layer/kv",
			"layer/kv/embedded/internal/failure", "layer/kv/embedded/internal/keys",
			"layer/kv/embedded/internal/store", "layer/kv/embedded/internal/versions",
			"layer/kv/embedded/internal/disk/damage", "layer/kv/embedded/internal/disk/guard",
			"layer/kv/embedded/internal/disk/room"},
		why: "compaction depends on what is no longer read, on damage and on disk space, not on commits",
	},
	{
		room: "layer/kv/embedded/internal/commit", may: []string{"layer/kv", "layer/kv/embedded/internal/failure",
			"layer/kv/embedded/internal/keys", "layer/kv/embedded/internal/store",
			"layer/kv/embedded/internal/conflict", "layer/kv/embedded/internal/writes",
			"layer/kv/embedded/internal/rowcache", "layer/kv/embedded/internal/versions",
			"layer/kv/embedded/internal/watch", "layer/kv/embedded/internal/disk/compact",
			"layer/kv/embedded/internal/disk/damage", "layer/kv/embedded/internal/disk/guard",
			"layer/kv/embedded/internal/disk/room"},
		why: "commits are ordered and written without knowing transactions as callers see them",
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
		why: "the conformance suite sees an engine only through the contract, or it would not be the same for " +
			"every engine",
	},
	{
		room: "layer/kv/outage", may: []string{"layer/kv"},
		why: "it guards any engine, so it must know none",
	},
	{
		room: "layer/kv/faultkv", may: []string{"layer/kv"},
		why: "it wraps any engine, so it must know none",
	},
}
