// Package config turns flags, environment variables and node.yaml into one checked Config.
//
// Precedence, highest first: flag, environment (DIVAN_...), node.yaml, built-in default. All faults in all sources are
// reported together, each with its line (docs/clauses.md, "Program"). The table of all settings (rows) makes the
// defaults, the flags, most checks, the comments of node.yaml, and docs/settings.md.
package config

import "time"

// Config holds every setting. The yaml tags are the names in node.yaml. The environment variable of a setting is DIVAN_
// and its path in capitals with underscores: storage.engine is DIVAN_STORAGE_ENGINE. The zero value is not usable:
// start from Default or Load.
type Config struct {
	// Name is the node's name in the cluster. Empty means divan@HOST:PORT of the HTTP listener.
	Name string `yaml:"name"`
	// Data is the directory of the embedded store, created if it does not exist. A relative path is relative to the
	// working directory.
	Data    string  `yaml:"data"`
	HTTP    HTTP    `yaml:"http"`
	SQL     SQL     `yaml:"sql"`
	Cluster Cluster `yaml:"cluster"`
	Storage Storage `yaml:"storage"`
	// Admins maps a user name to a password hash (auth.ParseHash). If it is empty, every client is an admin, and the
	// node may listen only on loopback.
	Admins     map[string]string `yaml:"admins"`
	Auth       Auth              `yaml:"auth"`
	Changes    Changes           `yaml:"changes"`
	Views      Views             `yaml:"views"`
	Compaction Compaction        `yaml:"compaction"`
	Replicator Replicator        `yaml:"replicator"`
	Limits     Limits            `yaml:"limits"`
	Log        Log               `yaml:"log"`
	Tracing    Tracing           `yaml:"tracing"`

	// AdminPassword is the plain password of the single admin given by -admin or DIVAN_ADMIN, by name. It cannot be set
	// in node.yaml, which holds only hashes.
	AdminPassword map[string]string `yaml:"-"`
	// File is the node.yaml that was read, or "" if none was.
	File string `yaml:"-"`
	// SecretFiles are the files that variables name, such as DIVAN_ADMIN_FILE.
	SecretFiles []string `yaml:"-"`
	// Ignored are variables that begin as settings do but are none.
	Ignored []string `yaml:"-"`
}

// HTTP configures the HTTP API.
type HTTP struct {
	Listen string `yaml:"listen"`
	TLS    TLS    `yaml:"tls"`
	CORS   CORS   `yaml:"cors"`
	// Proxies are addresses or networks (CIDR) of reverse proxies whose X-Forwarded-For is trusted.
	Proxies []string `yaml:"proxies"`
	// MaxConnections is the maximum number of connections. When it is reached, idle connections are closed to admit new
	// ones.
	MaxConnections int `yaml:"max_connections"`
	// HeaderTimeout is how long a client may take to send the headers of a request. IdleTimeout is how long it may then
	// keep the connection open for the next request.
	HeaderTimeout time.Duration `yaml:"header_timeout"`
	IdleTimeout   time.Duration `yaml:"idle_timeout"`
	// BodyTimeout is how long a client may pause while it sends a body. Over this time it must send at least MinRate
	// bytes per second on average.
	BodyTimeout time.Duration `yaml:"body_timeout"`
	MinRate     Size          `yaml:"min_rate"`
	// AnswerTimeout is how long a client may take to accept 32 KiB of a response.
	AnswerTimeout time.Duration `yaml:"answer_timeout"`
	// Drain is how long a node that was asked to stop still serves requests while /readyz answers 503.
	Drain time.Duration `yaml:"drain"`
	// MetricsToken lets a scraper read /metrics without an account.
	MetricsToken string `yaml:"metrics_token"`
	// Utils is a directory with files for /_utils/, or "".
	Utils string `yaml:"utils"`
	// Bodies is the memory for the bodies of all running requests and what is made of them.
	Bodies Size `yaml:"bodies"`
}

// SQL configures the Postgres side. If TLS files are set, clients may ask for TLS. Plain connections remain possible,
// as in Postgres.
type SQL struct {
	Listen string `yaml:"listen"`
	TLS    TLS    `yaml:"tls"`
	// MaxConnections is the maximum number of sessions. Further ones are refused with 53300, as by Postgres'
	// max_connections.
	MaxConnections int `yaml:"max_connections"`
	// Memory bounds the memory of the statements, cursors, prepared statements and messages of all sessions,
	// SessionMemory that of one session, and StatementMemory that of one statement. A statement that needs more writes
	// rows to temporary files, or fails with 53200.
	Memory          Size `yaml:"memory"`
	SessionMemory   Size `yaml:"session_memory"`
	StatementMemory Size `yaml:"statement_memory"`
	// TempFiles bounds the temporary files of all statements together, below the data directory. A statement that needs
	// more fails with 53400. 0 means none.
	TempFiles Size `yaml:"temp_files"`
}

// TLS names two PEM files. If both are empty, there is no TLS.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// CORS lets web pages of other origins use the HTTP API, as CouchDB's [cors] section does.
type CORS struct {
	Enabled bool `yaml:"enabled"`
	// Origins are scheme://host[:port], or a single "*".
	Origins     []string `yaml:"origins"`
	Credentials bool     `yaml:"credentials"`
	// Methods and Headers default to CouchDB's lists.
	Methods []string      `yaml:"methods"`
	Headers []string      `yaml:"headers"`
	MaxAge  time.Duration `yaml:"max_age"`
}

// Cluster configures gossip and actor remoting.
type Cluster struct {
	Gossip string `yaml:"gossip"`
	// Remoting is the address at which the actors of other nodes reach this one. If it is empty, it is gossip's host
	// with the next port, or with a free port if that one is taken.
	Remoting string `yaml:"remoting"`
	// Advertise is the IP address that other nodes use for this one. Empty means the host of gossip.
	Advertise string `yaml:"advertise"`
	// Join lists gossip addresses of members to contact at the start.
	Join []string `yaml:"join"`
	// Secret encrypts gossip and remoting. It is required if either can be reached from other machines.
	Secret string `yaml:"secret"`
	// AcceptSecrets are accepted from other nodes in addition to Secret, while Secret is being changed.
	AcceptSecrets []string `yaml:"accept_secrets"`
}

// Values of storage.engine.
const (
	EngineEmbedded = "embedded"
	EngineFDB      = "fdb"
	EngineRemote   = "remote"
)

// Values of storage.compression.
const (
	CompressFast  = "fast"
	CompressDense = "dense"
)

// Storage chooses and configures the engine.
type Storage struct {
	Engine string `yaml:"engine"`
	// Listen is the address at which the embedded store serves other nodes. Empty means not at all.
	Listen string `yaml:"listen"`
	// Address is the Listen of the node that has the store, for the remote engine.
	Address string `yaml:"address"`
	// Secret authenticates both sides of Listen and Address.
	Secret string `yaml:"secret"`
	// AcceptSecrets are accepted in addition to Secret, while Secret is being changed.
	AcceptSecrets []string `yaml:"accept_secrets"`
	// ClusterFile is the path of fdb.cluster. Empty means the client's default.
	ClusterFile string `yaml:"cluster_file"`
	// Directory is Divan's path in FoundationDB's directory layer, with slashes between directories.
	Directory string `yaml:"directory"`
	// Tag marks Divan's transactions in FoundationDB, so that its operator can see and throttle them. Empty means no
	// tag.
	Tag string `yaml:"tag"`
	// Retries is how often a transaction on FoundationDB is tried. 0 means until its request ends.
	Retries int `yaml:"retries"`
	// Idempotency turns on FoundationDB's automatic idempotency.
	Idempotency bool `yaml:"idempotency"`
	// TraceDir is where FoundationDB's client writes its trace logs. Empty means nowhere.
	TraceDir string `yaml:"trace_dir"`
	// ClientLibraries is a directory with FoundationDB client libraries of other versions. Empty means none.
	ClientLibraries string `yaml:"client_libraries"`
	// TLS is for Listen, for Address, and for a FoundationDB cluster that uses TLS.
	TLS struct {
		Cert     string `yaml:"cert"`
		Key      string `yaml:"key"`
		Password string `yaml:"password"`
		CA       string `yaml:"ca"`
		Verify   string `yaml:"verify"`
	} `yaml:"tls"`
	// Timeout is how long a store on another node, or FoundationDB, may be silent before it is considered gone. A
	// request waits at most twice this.
	Timeout time.Duration `yaml:"timeout"`
	// Cache is how much of the embedded store is cached in memory.
	Cache Size `yaml:"cache"`
	// Ballast is the disk space that the embedded store reserves for the case that the disk is full. 0 means none.
	Ballast Size `yaml:"ballast"`
	// Compression is how the embedded store is compressed: fast or dense.
	Compression string `yaml:"compression"`
	// Backups is the directory below which POST /_backup writes backups. Empty means "backups" below Data.
	Backups string `yaml:"backups"`
}

// Auth configures passwords and sessions.
type Auth struct {
	// Secret signs session cookies. Empty means a random secret that all nodes of the store share.
	Secret string `yaml:"secret"`
	// Timeout is how long a session cookie is valid. It is renewed while it is used.
	Timeout time.Duration `yaml:"timeout"`
	// PersistentCookies gives the cookie a Max-Age, so that it outlives the browser.
	PersistentCookies bool `yaml:"persistent_cookies"`
	// SameSite is the cookie's attribute: empty, lax, strict or none.
	SameSite string `yaml:"same_site"`
	// RequireUser refuses anonymous requests, except for logging in and /_up.
	RequireUser bool `yaml:"require_user"`
	// Iterations is the number of PBKDF2 iterations for new passwords in the _users database.
	Iterations int `yaml:"iterations"`
	// SQLIterations is the number of iterations of the SCRAM verifier, which authenticates users and admins over SQL.
	SQLIterations int `yaml:"sql_iterations"`
	// Handlers are the ways to authenticate a request over HTTP, in this order: cookie, default (basic), jwt, proxy.
	Handlers []string `yaml:"handlers"`
	// CookieDomain is the cookie's Domain; empty means the host that the browser asked.
	CookieDomain string `yaml:"cookie_domain"`
	// PasswordRegexp are the rules for new passwords, as CouchDB writes them.
	PasswordRegexp string  `yaml:"password_regexp"`
	JWT            JWT     `yaml:"jwt"`
	Proxy          Proxy   `yaml:"proxy"`
	Lockout        Lockout `yaml:"lockout"`
}

// JWT configures bearer tokens, for the handler jwt.
type JWT struct {
	// RequiredClaims are the claims that are required and checked, as CouchDB writes them.
	RequiredClaims string `yaml:"required_claims"`
	// RolesClaimPath is the path of members to the roles in a token. Empty means the claim _couchdb.roles.
	RolesClaimPath string `yaml:"roles_claim_path"`
	// Keys are the keys by type and id, such as hmac:_default.
	Keys map[string]string `yaml:"keys"`
}

// Proxy configures users whom a reverse proxy has authenticated, for the handler proxy.
type Proxy struct {
	// Signed asks for a token that only who knows the secret can make.
	Signed bool `yaml:"signed"`
}

// Lockout refuses logins under a name from an address after several wrong passwords, as CouchDB's
// [chttpd_auth_lockout].
type Lockout struct {
	// Mode is enforce, warn (only log) or off.
	Mode string `yaml:"mode"`
	// Threshold is the number of wrong passwords that locks the name out.
	Threshold int `yaml:"threshold"`
	// Lifetime is how long wrong passwords count, from the first one on.
	Lifetime time.Duration `yaml:"lifetime"`
	// MaxObjects is how many pairs of address and name are remembered.
	MaxObjects int `yaml:"max_objects"`
}

// Changes configures the changes feed.
type Changes struct {
	// MaxShards bounds the shards of a database. DefaultShards is how many a new database gets.
	MaxShards     int `yaml:"max_shards"`
	DefaultShards int `yaml:"default_shards"`
}

// Views configures indexers and the JavaScript that they run.
type Views struct {
	// Batch is how many documents an indexer processes at first. It adapts.
	Batch int `yaml:"batch"`
	// Workers is how many indexes this node builds at once.
	Workers int `yaml:"workers"`
	// MapTimeout and MapMemory bound one call of a JavaScript function for one document.
	MapTimeout time.Duration `yaml:"map_timeout"`
	MapMemory  Size          `yaml:"map_memory"`
	// ReduceTimeout bounds the JavaScript reductions of one query.
	ReduceTimeout time.Duration `yaml:"reduce_timeout"`
	// CleanupAfter is how long after a change of a design document unused indexes are removed. 0 leaves that to
	// _view_cleanup.
	CleanupAfter time.Duration `yaml:"cleanup_after"`
}

// Compaction configures the removal of superseded revisions, and of attachments that no revision has any more.
type Compaction struct {
	// Auto compacts databases automatically. Otherwise only _compact does.
	Auto bool `yaml:"auto"`
	// Age is how long a superseded revision stays readable at least.
	Age time.Duration `yaml:"age"`
	// Bodies and Bytes are the number and the size of superseded revisions that start the compaction of a database.
	// Smaller amounts are removed once they are as old as Latest.
	Bodies int           `yaml:"bodies"`
	Bytes  Size          `yaml:"bytes"`
	Latest time.Duration `yaml:"latest"`
	// Share is how much of the time this node may spend on compaction, in percent of one thread.
	Share int `yaml:"share"`
}

// Replicator configures the replications that the server runs. The names are CouchDB's; clients can change the values
// with _config at run time.
type Replicator struct {
	// MaxJobs is how many replications run on this node at once. Others wait for their turn: every Interval, up to
	// MaxChurn continuous ones give theirs up.
	MaxJobs  int           `yaml:"max_jobs"`
	Interval time.Duration `yaml:"interval"`
	MaxChurn int           `yaml:"max_churn"`
	// The others are defaults of a replication.
	WorkerProcesses    int           `yaml:"worker_processes"`
	WorkerBatchSize    int           `yaml:"worker_batch_size"`
	HTTPConnections    int           `yaml:"http_connections"`
	ConnectionTimeout  time.Duration `yaml:"connection_timeout"`
	RetriesPerRequest  int           `yaml:"retries_per_request"`
	CheckpointInterval time.Duration `yaml:"checkpoint_interval"`
	// VerifyCertificates refuses servers whose certificates are not valid. TrustedCertificates is a PEM file; empty
	// means the system's. CertFile and KeyFile are shown to servers that ask for a certificate.
	VerifyCertificates  bool   `yaml:"verify_ssl_certificates"`
	TrustedCertificates string `yaml:"ssl_trusted_certificates_file"`
	CertFile            string `yaml:"cert_file"`
	KeyFile             string `yaml:"key_file"`
	Password            string `yaml:"password"`
}

// Limits are the maximum sizes of requests (413 beyond them).
type Limits struct {
	Document   Size `yaml:"document"`
	Attachment Size `yaml:"attachment"`
	// Multipart bounds a document that is sent with its attachments, all together.
	Multipart Size `yaml:"multipart"`
	// Request bounds any other body, such as that of _bulk_docs.
	Request Size `yaml:"request"`
	// Bulk is how many documents one _bulk_docs may contain, and one _bulk_get may ask for.
	Bulk int `yaml:"bulk"`
}

// Log configures the log on standard error.
type Log struct {
	// Level is debug, info, warn or error.
	Level string `yaml:"level"`
	// Format is auto, text or json. auto means text on a terminal, else json.
	Format string `yaml:"format"`
}

// Tracing configures spans of requests and statements, in the format of OpenTelemetry.
type Tracing struct {
	// Endpoint is the URL of a collector that takes OTLP over HTTP. Empty means no tracing.
	Endpoint string `yaml:"endpoint"`
	// Sample is one in how many requests and statements is traced, unless its client says whether it is.
	Sample int `yaml:"sample"`
	// Headers are sent to the collector, for example with a token.
	Headers map[string]string `yaml:"headers"`
}
