package config

import "time"

// serverRows are the settings of listeners and of the cluster.
var serverRows = []row{
	{path: "name", def: `""`, text: "the node's name in the cluster; empty: divan@HOST:PORT of the HTTP listener",
		flag: flagName{"name", "`NAME` of this node"}},
	{path: "data", def: "./data", text: "directory of the embedded store; created if missing",
		flag: flagName{"data", "keep the data in `DIR`"}},

	{path: "http", text: "the CouchDB API"},
	{path: "http.listen", def: "127.0.0.1:5984", text: "HOST:PORT; port 0 picks a free one",
		flag: flagName{"http", "serve HTTP on `ADDR` (port 0 picks a free one)"}},
	{path: "http.tls"},
	{path: "http.tls.cert", def: `""`, text: "PEM file; with cert and key this listener speaks HTTPS only"},
	{path: "http.tls.key", def: `""`, text: "PEM file"},
	{path: "http.cors", text: "for web pages of other origins, such as PouchDB in a browser"},
	{path: "http.cors.enabled", def: "false", text: "answer to the pages of origins"},
	{path: "http.cors.origins", def: "[]", text: `["https://app.example.com"], or ["*"]`},
	{path: "http.cors.credentials", def: "false",
		text: `let those pages send cookies and passwords; with "*", all pages`},
	{path: "http.cors.methods", def: "[]", text: "empty: those that CouchDB allows"},
	{path: "http.cors.headers", def: "[]", text: "empty: those that CouchDB allows"},
	{path: "http.cors.max_age", def: "10m", allowed: times{low: time.Millisecond},
		text: "how long a browser may cache the answer"},
	{path: "http.proxies", def: "[]", text: `reverse proxies whose X-Forwarded-For is trusted, such as ["10.0.0.2", ` +
		`"192.168.0.0/16"]; the clients of other proxies count as one address for auth.lockout and for waiting logins`},
	{path: "http.max_connections", def: "8192", allowed: between{low: 16, high: 1_000_000},
		text: "beyond it idle connections are closed for new ones; if all are busy, new ones get 503"},
	{path: "http.header_timeout", def: "10s", allowed: times{low: time.Second},
		text: "how long a client may take to send the headers of a request"},
	{path: "http.idle_timeout", def: "5m", allowed: times{low: time.Second},
		text: "how long a connection may be idle between requests"},
	{path: "http.body_timeout", def: "30s", allowed: times{low: time.Second},
		text: "a client that pauses this long while it sends a body gets 408"},
	{path: "http.min_rate", def: "512", allowed: sizes{between{low: 1, high: 1 << 20}},
		text: "so does a client that sends fewer bytes of a body per second over body_timeout"},
	{path: "http.answer_timeout", def: "2m", allowed: times{low: time.Second},
		text: "a client that does not accept 32 KiB of a response in this time is cut off"},
	{path: "http.drain", def: "0s", allowed: times{high: maxDrain},
		text: "after SIGTERM, requests are still served this long while /readyz and /_up answer 503, so that load " +
			"balancers send new ones elsewhere"},
	{path: "http.metrics_token", def: `""`,
		text: `for scrapers: GET /metrics with "Authorization: Bearer TOKEN"; it opens nothing else; at least 16 ` +
			"characters; empty: metrics are for admins and users with role _metrics"},
	{path: "http.utils", def: `""`,
		text: "a directory whose files are served at /_utils/, such as dist/release of the npm package fauxton, " +
			"CouchDB's web interface; anyone may read them; empty: /_utils leads to the console"},
	{path: "http.bodies", def: "512MiB", allowed: sizes{between{low: 16 << 20, high: 1 << 40}},
		text: "memory for the bodies of all requests; beyond it requests wait for 20 s, then get 503; at least twice " +
			"limits.request; eight times lets the largest requests stay within it"},

	{path: "sql", text: "the Postgres protocol"},
	{path: "sql.listen", def: "127.0.0.1:5433", text: "HOST:PORT",
		flag: flagName{"sql", "serve the Postgres protocol on `ADDR`"}},
	{path: "sql.tls"},
	{path: "sql.tls.cert", def: `""`,
		text: "PEM file; with cert and key clients may ask for TLS (sslmode=require)"},
	{path: "sql.tls.key", def: `""`, text: "PEM file"},
	{path: "sql.max_connections", def: "200", allowed: between{low: 1, high: 100_000},
		text: "sessions; further ones are refused with 53300"},
	{path: "sql.memory", def: "512MiB", allowed: sizes{between{low: 1 << 20, high: 1 << 40}},
		text: "of statements, cursors, prepared statements and messages, all sessions; beyond it 53200"},
	{path: "sql.session_memory", def: "256MiB",
		allowed: sizes{between{low: 1 << 20, high: 1 << 40, most: "sql.memory"}}, text: "the same for one session"},
	{path: "sql.statement_memory", def: "128MiB",
		allowed: sizes{between{low: 1 << 20, high: 1 << 40, most: "sql.session_memory"}},
		text:    "the same for one statement, which sorts and joins larger sets of rows in files"},
	{path: "sql.temp_files", def: "4GiB", allowed: sizes{between{low: 0, high: 1 << 44}},
		text: "temporary files of all statements together, in data/sql-temp; beyond it 53400; 0: none, and 53200 " +
			"instead"},

	{path: "cluster"},
	{path: "cluster.gossip", def: "127.0.0.1:7946", text: "HOST:PORT; TCP and UDP",
		flag: flagName{"gossip", "gossip with other nodes on `ADDR`"}},
	{path: "cluster.remoting", def: `""`,
		text: "address for the actors of other nodes; empty: gossip's host and the next free port"},
	{path: "cluster.advertise", def: `""`,
		text: "the IP address that other nodes use for this one; empty: gossip's host"},
	{path: "cluster.join", def: "[]",
		text: `gossip addresses of members to contact at the start, such as ["10.0.0.2:7946"]`,
		flag: flagName{"join", "join the members at `ADDR,ADDR`"}},
	{path: "cluster.secret", def: `""`,
		text: "encrypts gossip and remoting; the same on every node; required beyond loopback"},
	{path: "cluster.accept_secrets", def: "[]",
		text: "also accepted from other nodes while the secret is being changed (docs/operations.md, " +
			`"Change a secret")`},
}
