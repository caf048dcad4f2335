package config

import (
	"time"

	"github.com/divandb/divan/node/auth"
)

// storeRows are the settings of the store and of users.
var storeRows = []row{
	{path: "storage"},
	{path: "storage.engine", def: "embedded", allowed: oneOf{EngineEmbedded, EngineFDB, EngineRemote},
		text: "embedded | fdb | remote"},
	{path: "storage.listen", def: `""`, engine: EngineEmbedded,
		text: "embedded only: HOST:PORT on which other nodes may use this store"},
	{path: "storage.address", def: `""`, engine: EngineRemote,
		text: "remote only: storage.listen of the node that has the store"},
	{path: "storage.secret", def: `""`, text: "required for both of these; the same on every node"},
	{path: "storage.accept_secrets", def: "[]", text: "also accepted while the secret is being changed"},
	{path: "storage.cluster_file", def: `""`, engine: EngineFDB,
		text: "fdb only: path of fdb.cluster, empty for the client's default"},
	{path: "storage.directory", def: "divan",
		text: "fdb only: Divan's path in the cluster's directory layer, such as teams/divan"},
	{path: "storage.tag", def: `""`, engine: EngineFDB,
		text: "fdb only: tag of Divan's transactions, for throttling and monitoring; at most 16 bytes"},
	{path: "storage.retries", def: "0", engine: EngineFDB, allowed: between{low: 0, high: 1_000_000},
		text: "fdb only: how often a transaction is tried; 0: until its request ends"},
	{path: "storage.idempotency", def: "false", engine: EngineFDB,
		text: "fdb only: the client's automatic idempotency, an experimental feature; Divan does not need it"},
	{path: "storage.trace_dir", def: `""`, engine: EngineFDB,
		text: "fdb only: directory for the client's trace logs; empty: none"},
	{path: "storage.client_libraries", def: `""`, engine: EngineFDB,
		text: "fdb only: directory with client libraries of other versions, for cluster upgrades"},
	{path: "storage.tls", text: "PEM files, for listen, address and fdb. Beyond loopback, listen requires cert and " +
		"key, and address requires ca"},
	{path: "storage.tls.cert", def: `""`, text: "presented to the other side"},
	{path: "storage.tls.key", def: `""`, text: "of cert"},
	{path: "storage.tls.password", def: `""`, engine: EngineFDB, text: "fdb only: of the key"},
	{path: "storage.tls.ca", def: `""`, text: "trusted issuer of the other side's certificate: the store's for " +
		"address, the nodes' for listen (empty: they need none)"},
	{path: "storage.tls.verify", def: `""`, engine: EngineFDB,
		text: "fdb only: which certificates are accepted, such as Check.Valid=1,S.CN=db"},
	{path: "storage.timeout", def: "5s", allowed: times{low: leastTimeout},
		text: "fdb and remote: a request fails after at most twice this if the store does not answer"},
	{path: "storage.cache", def: "64MiB", allowed: sizes{between{low: 1 << 20, high: 1 << 40}},
		text: "embedded only: memory for caching the store, including write buffers"},
	{path: "storage.ballast", def: "64MiB", allowed: sizes{between{low: 0, high: 1 << 40}},
		text: "embedded only: a file that is deleted when the disk is full, which leaves space to delete documents " +
			"and compact; at most 1/32 of the disk; 0: none"},
	{path: "storage.compression", def: CompressFast, allowed: oneOf{CompressFast, CompressDense},
		text: "embedded only: fast | dense; dense needs a fifth less disk space, and more time for documents that " +
			"are not cached. Existing data is rewritten gradually"},
	{path: "storage.backups", def: `""`,
		text: "embedded and remote: where POST /_backup creates its directories; empty: data/backups"},

	{path: "admins", def: "{}", text: "name: hash",
		before: []string{
			"With no admin configured, every client is an admin, so the node only listens on loopback.",
			"`divan hash-password` prints a hash for HTTP and SQL; CouchDB's hashes (-pbkdf2...) are accepted too.",
		},
		example: []string{"  anna: SCRAM-SHA-256$600000:..."}},

	{path: "auth"},
	{path: "auth.secret", def: `""`, text: "signs session cookies; empty: a random one, kept in the store"},
	{path: "auth.timeout", def: "10m", allowed: times{low: time.Second}, text: "lifetime of an unused session"},
	{path: "auth.persistent_cookies", def: "true", text: "sessions outlive the browser"},
	{path: "auth.same_site", def: `""`, allowed: oneOf{"", "lax", "strict", "none"},
		text: "the cookie's SameSite: lax, strict or none"},
	{path: "auth.require_user", def: "false", text: "refuse anonymous requests"},
	{path: "auth.iterations", def: "600000", allowed: between{low: minIterations, high: maxIterations},
		text: "PBKDF2 iterations for new passwords"},
	{path: "auth.sql_iterations", def: "100000", allowed: between{low: minIterations, high: maxIterations},
		text: "iterations of SCRAM verifiers for SQL, and of admins' passwords. Clients such as node-postgres and " +
			"pgjdbc refuse more than 100000; docs/sql.md explains the cost of fewer"},
	{path: "auth.handlers", def: "[cookie, default]", text: "the ways to log in over HTTP, in this order: cookie, " +
		"default (name and password), jwt, proxy"},
	{path: "auth.cookie_domain", def: `""`, text: "the cookie's Domain; empty: the host that the browser asked"},
	{path: "auth.password_regexp", def: `""`,
		text: `what new passwords of users must match, as CouchDB writes it: [{".{10,}", "At least 10 characters."}]`},
	{path: "auth.jwt", text: "bearer tokens, for the handler jwt"},
	{path: "auth.jwt.required_claims", def: "exp",
		text: `claims that a token must have and that are checked: exp, nbf, iat, kid, typ, {iss, "ISSUER"}`},
	{path: "auth.jwt.roles_claim_path", def: `""`,
		text: "members on the way to the roles, with dots between; empty: the claim _couchdb.roles"},
	{path: "auth.jwt.keys", def: "{}",
		text: "hmac:ID: base64 of a secret; rsa:ID and ec:ID: a public key in PEM; ID _default: for tokens without " +
			"kid"},
	{path: "auth.proxy", text: "users whom a reverse proxy has authenticated, for the handler proxy"},
	{path: "auth.proxy.signed", def: "false",
		text: "require the header X-Auth-CouchDB-Token, the HMAC of the name under auth.secret; false: whoever " +
			"reaches the node can be any user"},
	{path: "auth.lockout", text: "of a pair of address and name after wrong passwords, over HTTP and SQL"},
	{path: "auth.lockout.mode", def: auth.LockoutEnforce,
		allowed: oneOf{auth.LockoutEnforce, auth.LockoutWarn, auth.LockoutOff},
		text:    `enforce | warn (only log) | "off"`},
	{path: "auth.lockout.threshold", def: "5", allowed: between{low: 1, high: 1_000_000},
		text: "wrong passwords that lock a pair out"},
	{path: "auth.lockout.lifetime", def: "5m", allowed: times{low: time.Millisecond},
		text: "how long wrong passwords count, from the first one on"},
	{path: "auth.lockout.max_objects", def: "10000", allowed: between{low: 1, high: 10_000_000},
		text: "pairs of address and name to remember"},
}
