package config_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/config"
)

// load runs Load in an empty directory with a node.yaml that contains text.
func load(t *testing.T, text string, env map[string]string, args ...string) (*config.Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if text != "" {
		if err := os.WriteFile("node.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var environment []string
	for name, value := range env {
		environment = append(environment, name+"="+value)
	}
	return config.Load(args, environment)
}

func mustLoad(t *testing.T, text string, env map[string]string, args ...string) *config.Config {
	t.Helper()
	c, err := load(t, text, env, args...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLoad_NothingGiven(t *testing.T) {
	if got, want := mustLoad(t, "", nil), config.Default(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, empty := range []string{"\n", "# only a comment\n", "---\n", "http:\nname:\n"} {
		got := mustLoad(t, empty, nil)
		got.File = ""
		if !reflect.DeepEqual(got, config.Default()) {
			t.Errorf("%q: got %+v", empty, got)
		}
	}
}

func TestLoad_Precedence(t *testing.T) {
	const file = "data: from-file\nname: file\nhttp:\n  listen: 127.0.0.1:1\nsql: {listen: '127.0.0.1:2'}\n"
	env := map[string]string{"DIVAN_DATA": "from-env", "DIVAN_HTTP": "127.0.0.1:3", "DIVAN_CLUSTER_JOIN": "a:1"}
	c := mustLoad(t, file, env, "-data", "from-flag", "-join", "x:1, y:2,")
	for _, f := range []struct{ what, got, want string }{
		{"data by flag", c.Data, "from-flag"},
		{"http by environment", c.HTTP.Listen, "127.0.0.1:3"},
		{"sql by file", c.SQL.Listen, "127.0.0.1:2"},
		{"name by file", c.Name, "file"},
		{"gossip by default", c.Cluster.Gossip, "127.0.0.1:7946"},
		{"join by flag", strings.Join(c.Cluster.Join, " "), "x:1 y:2"},
	} {
		if f.got != f.want {
			t.Errorf("%s: got %q, want %q", f.what, f.got, f.want)
		}
	}
}

func TestLoad_EverySettingFromEnvironment(t *testing.T) {
	c := mustLoad(t, "", map[string]string{
		"DIVAN_VIEWS_MAP_TIMEOUT": "250ms", "DIVAN_LIMITS_DOCUMENT": "2MiB", "DIVAN_CHANGES_MAX_SHARDS": "8",
		"DIVAN_AUTH_REQUIRE_USER": "true", "DIVAN_HTTP_CORS_ORIGINS": "https://a.example,https://b.example",
	})
	if c.Views.MapTimeout != 250*time.Millisecond || c.Limits.Document != 2<<20 || c.Changes.MaxShards != 8 ||
		!c.Auth.RequireUser || len(c.HTTP.CORS.Origins) != 2 {
		t.Errorf("got %+v", c)
	}
}

func TestLoad_ConfigFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(file, []byte("name: other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := mustLoad(t, "name: here\n", nil, "-config", file); c.Name != "other" || c.File != file {
		t.Errorf("by flag: %q from %q", c.Name, c.File)
	}
	if c := mustLoad(t, "name: here\n", map[string]string{"DIVAN_CONFIG": file}); c.Name != "other" {
		t.Errorf("by environment: %q", c.Name)
	}
	for _, missing := range []string{filepath.Join(dir, "missing"), dir} {
		if _, err := load(t, "", nil, "-config", missing); !errors.As(err, new(config.Faults)) {
			t.Errorf("%s: %v", missing, err)
		}
	}
}

func TestLoad_Admin(t *testing.T) {
	c := mustLoad(t, "", map[string]string{"DIVAN_ADMIN": "env:x"}, "-admin", "anna:se:cret", "-http", "0.0.0.0:0")
	if len(c.AdminPassword) != 1 || c.AdminPassword["anna"] != "se:cret" {
		t.Errorf("got %v", c.AdminPassword)
	}
	for _, bad := range []string{"topsecret", ":topsecret", "topsecret:"} {
		_, err := load(t, "", nil, "-admin", bad)
		if err == nil || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A value can be in a file, which keeps it out of node.yaml and of the list of processes.
func TestLoad_ValueInFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	c := mustLoad(t, "", map[string]string{
		"DIVAN_ADMIN_FILE": file("admin", "anna:se cret\n"), "DIVAN_CLUSTER_SECRET_FILE": file("secret", "s\r\n"),
		"DIVAN_CLUSTER_ACCEPT_SECRETS_FILE": file("list", "a,b\n"), "DIVAN_STORAGE_CLUSTER_FILE": "",
	})
	if c.AdminPassword["anna"] != "se cret" || c.Cluster.Secret != "s" || len(c.Cluster.AcceptSecrets) != 2 {
		t.Errorf("got %+v", c)
	}
	for _, bad := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"DIVAN_ADMIN_FILE": filepath.Join(dir, "missing")}, "DIVAN_ADMIN_FILE: cannot read"},
		{map[string]string{"DIVAN_ADMIN_FILE": file("bad", "topsecret")}, "DIVAN_ADMIN_FILE: expected USER:PASSWORD"},
		{map[string]string{"DIVAN_STORAGE_SECRET": "a", "DIVAN_STORAGE_SECRET_FILE": file("b", "b")},
			"set together with DIVAN_STORAGE_SECRET"},
		{map[string]string{"DIVAN_SQL_FILE": "x"}, "DIVAN_SQL_FILE: only secrets"},
		{map[string]string{"DIVAN_CLUSTER_SECRET_FILE": file("large", strings.Repeat("s", 65<<10))}, "is larger than"},
		{map[string]string{"DIVAN_HTTP_TLS_CERT_FILE": "cert.pem"}, "DIVAN_HTTP_TLS_CERT_FILE: only secrets"},
	} {
		_, err := load(t, "", bad.env)
		if err == nil || !strings.Contains(err.Error(), bad.want) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%v: %v, want %s", bad.env, err, bad.want)
		}
	}
}

// A misspelt variable is refused. Those of commands, of tests, and of Kubernetes and Docker are not.
func TestLoad_unknownVariable(t *testing.T) {
	for name, want := range map[string]string{
		"DIVAN_STORAGE_ENGIN":           "did you mean DIVAN_STORAGE_ENGINE?",
		"DIVAN_STORGE_ENGINE":           "did you mean DIVAN_STORAGE_ENGINE?",
		"DIVAN_HTPP":                    "did you mean DIVAN_HTTP?",
		"DIVAN_DATE":                    "did you mean DIVAN_DATA?",
		"DIVAN_MAX_CONNECTIONS":         "did you mean DIVAN_HTTP_MAX_CONNECTIONS?",
		"DIVAN_ADMN_FILE":               "did you mean DIVAN_ADMIN_FILE?",
		"DIVAN_HTTP_SOMETHING_ELSE":     "DIVAN_HTTP_SOMETHING_ELSE: unknown setting (unset",
		"DIVAN_CLUSTER_SECRET":          "",
		"DIVAN_CLUSTER_SECRET_FILE":     "cannot read",
		"DIVAN_URL":                     "",
		"DIVAN_URL_FILE":                "",
		"DIVAN_CLUSTER_FILE":            "",
		"DIVAN_TEST_BINARY":             "",
		"DIVAN_SERVICE_HOST":            "",
		"DIVAN_SERVICE_PORT_HTTP":       "",
		"DIVAN_PORT":                    "",
		"DIVAN_PORT_5984_TCP_ADDR":      "",
		"DIVAN_SQL_PORT":                "",
		"DIVAN_HTTP_PORT_5984_TCP":      "",
		"DIVAN_HTTP_SERVICE_PORT_HTTPS": "",
		"DIVAN_BACKUP_BUCKET":           "",
		"PATH":                          "",
	} {
		c, err := load(t, "", map[string]string{name: "/x"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if c != nil && (len(c.Ignored) > 0) != (name == "DIVAN_BACKUP_BUCKET") {
			t.Errorf("%s: ignored %q", name, c.Ignored)
		}
	}
}

func TestLoad_Help(t *testing.T) {
	if _, err := load(t, "", nil, "-h"); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v", err)
	}
	var usage strings.Builder
	config.Usage(&usage)
	for _, want := range []string{"-config FILE", "DIVAN_SQL", "-admin USER:PASSWORD"} {
		if !strings.Contains(usage.String(), want) {
			t.Errorf("usage does not name %s:\n%s", want, &usage)
		}
	}
}

// Each fault is reported on a line of its own, and none hides another.
func TestLoad_Faults(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		env        map[string]string
		args       []string
		want       []string // one per line of the error, each a substring of it
	}{
		{
			name: "all at once, in the order of lines",
			yaml: "nam: x\ndata: 5\nstorage:\n  engine: mysql\n  cachee: 1\nlimits:\n  document: 1 parsec\nviews: " +
				"{map_timeout: 5}\nhttp: nothing\n",
			env:  map[string]string{"DIVAN_SQL": "nowhere", "DIVAN_AUTH_ITERATIONS": "many"},
			args: []string{"-gossip", "127.0.0.1:99999"},
			want: []string{
				"node.yaml:1: unknown setting nam (did you mean name?)",
				"node.yaml:2: data: expected a string (in quotes if it looks like something else), got 5",
				`node.yaml:4: storage.engine: "mysql" is not one of embedded, fdb, remote`,
				"node.yaml:5: unknown setting storage.cachee (did you mean storage.cache?)",
				`node.yaml:7: limits.document: "1 parsec" is not a size`,
				"node.yaml:8: views.map_timeout: expected a duration such as 30s or 10m, got 5",
				`node.yaml:9: http: expected settings by name, got the string "nothing"`,
				`DIVAN_AUTH_ITERATIONS: auth.iterations: "many" is not a whole number`,
				`DIVAN_SQL: sql.listen: "nowhere" is not an address; write HOST:PORT`,
				`-gossip: cluster.gossip: "99999" is not a port`,
			},
		},
		{name: "in the wrong place", yaml: "engine: fdb\n",
			want: []string{"node.yaml:1: unknown setting engine (did you mean storage.engine?)"}},
		{name: "nothing like it", yaml: "frobnicate: 1\n", want: []string{"node.yaml:1: unknown setting frobnicate"}},
		{name: "twice", yaml: "name: a\ndata: x\nname: b\n",
			want: []string{"node.yaml:3: name: is set twice, first on line 1"}},
		{name: "not YAML", yaml: "name: a\n  data: [\n", want: []string{"node.yaml:2: "}},
		{name: "a tab", yaml: "http:\n\tlisten: x\n",
			want: []string{"node.yaml:2: found character that cannot start any token"}},
		{name: "a list", yaml: "- a\n", want: []string{"node.yaml:1: expected settings by name, got a list"}},
		{name: "two documents", yaml: "name: a\n---\nname: b\n", want: []string{"holds more than one YAML document"}},
		{name: "bool", yaml: "http: {cors: {enabled: 1}}\n",
			want: []string{"node.yaml:1: http.cors.enabled: expected true or false, got 1"}},
		{name: "number", yaml: "changes:\n  max_shards: '3'\n",
			want: []string{`node.yaml:2: changes.max_shards: expected a whole number, got the string "3"`}},
		{name: "fraction", yaml: "changes:\n  max_shards: 1.5\n", want: []string{"expected a whole number, got 1.5"}},
		{name: "list", yaml: "cluster: {join: a:1}\n",
			want: []string{`cluster.join: expected a list of strings, got the string "a:1"`}},
		{name: "list of others", yaml: "cluster: {join: [1]}\n",
			want: []string{"cluster.join: expected a list of strings, got 1 in it"}},
		{name: "size of another type", yaml: "storage: {cache: [1]}\n",
			want: []string{"storage.cache: expected a size such as 64MiB, got a list"}},
		{name: "admins of another type", yaml: "admins: [a]\n",
			want: []string{"admins: expected names with strings, got a list"}},
		{name: "clear password", yaml: "admins:\n  anna: topsecret\n",
			want: []string{"node.yaml:1: admins: anna: not a password hash; make one with: divan hash-password"}},
		{name: "a damaged hash", yaml: "admins:\n  anna: -pbkdf2sha256-00,00,1\n",
			want: []string{"admins: anna: not a password hash"}},
		{name: "part of an origin", yaml: "http: {cors: {origins: ['http://*']}}\n",
			want: []string{`http.cors.origins: "http://*" is not an origin`}},
		{name: "an empty origin", yaml: "http: {cors: {origins: ['*', '']}}\n",
			want: []string{`http.cors.origins: "*" stands for every origin`}},
		{name: "an unknown method", yaml: "http: {cors: {methods: [GET, FROB]}}\n",
			want: []string{`http.cors.methods: "FROB" is not a method`}},
		{name: "no header", yaml: "http: {cors: {headers: [a b]}}\n",
			want: []string{`http.cors.headers: "a b" is not the name of a header`}},
		{name: "out of range", yaml: "changes:\n  max_shards: 0\n",
			want: []string{"node.yaml:2: changes.max_shards: 0 is not between 1 and 1024"}},
		{name: "more shards than allowed", yaml: "changes:\n  max_shards: 4\n  default_shards: 5\n",
			want: []string{"node.yaml:3: changes.default_shards: 5 is not between 1 and 4"}},
		{name: "document beyond a transaction", yaml: "limits: {document: 10MB}\n",
			want: []string{"limits.document: 10MB is not between 1 and 9MiB"}},
		{name: "no listener", yaml: "http: {listen: ''}\n", want: []string{`http.listen: "" is not an address`}},
		{name: "same port twice", yaml: "sql:\n  listen: 127.0.0.1:5984\n",
			want: []string{"node.yaml:2: sql.listen: 127.0.0.1:5984 is already used by http.listen"}},
		{name: "remoting's own port", yaml: "cluster:\n  remoting: 127.0.0.1:5433\n",
			want: []string{"node.yaml:2: cluster.remoting: 127.0.0.1:5433 is already used by sql.listen"}},
		{name: "gossip in the open", args: []string{"-gossip", "0.0.0.0:7946", "-admin", "a:b"},
			want: []string{"-gossip: cluster.gossip: 0.0.0.0:7946 can be reached from other machines: set " +
				"cluster.secret"}},
		{name: "advertise a name", yaml: "cluster: {advertise: example.org}\n",
			want: []string{`cluster.advertise: "example.org" is not an IP address`}},
		{name: "remote without address", yaml: "storage:\n  engine: remote\n  secret: s\n",
			want: []string{"node.yaml:2: storage.engine: remote needs storage.address"}},
		{name: "remote without secret", yaml: "storage: {engine: remote, address: '127.0.0.1:1'}\n",
			want: []string{"a shared store needs storage.secret"}},
		{name: "settings of FoundationDB without it",
			yaml: "storage:\n  tag: x\n  retries: 3\n  idempotency: true\n  client_libraries: /x\n  tls: " +
				"{verify: x}\n", want: []string{
				"node.yaml:2: storage.tag: is for the engine fdb, but the engine is embedded",
				"node.yaml:3: storage.retries: is for the engine fdb",
				"node.yaml:4: storage.idempotency: is for the engine fdb",
				"node.yaml:5: storage.client_libraries: is for the engine fdb",
				"node.yaml:6: storage.tls.verify: is for the engine fdb",
			}},
		{name: "FoundationDB out of bounds",
			yaml: "storage:\n  engine: fdb\n  tag: 17-bytes-are-many\n  retries: -1\n  timeout: 1ms\n  tls: " +
				"{password: x}\n", want: []string{
				"node.yaml:3: storage.tag: is longer than 16 bytes",
				"node.yaml:4: storage.retries: -1 is not between",
				"node.yaml:5: storage.timeout: is too short",
				"node.yaml:6: storage.tls.password: needs storage.tls.key",
			}},
		{name: "a weak token and a long drain",
			yaml: "http:\n  metrics_token: guess me now\n  drain: 2h\n", want: []string{
				"node.yaml:2: http.metrics_token: is shorter than 16 characters",
				"node.yaml:2: http.metrics_token: contains a character that cannot be in a header",
				"node.yaml:3: http.drain: 2h is not between 0s and 1h",
			}},
		{name: "traces to a port that is none",
			yaml: "tracing:\n  endpoint: http://127.0.0.1:99999\n",
			want: []string{`node.yaml:2: tracing.endpoint: "99999" is not a port`}},
		{name: "traces to nowhere",
			yaml: "tracing:\n  endpoint: collector:4318\n  sample: 0\n  headers: {\"a b\": x, c: \"\\n\"}\n",
			want: []string{
				"node.yaml:2: tracing.endpoint: is not a URL such as http://127.0.0.1:4318",
				"node.yaml:3: tracing.sample: 0 is not between 1 and",
				`node.yaml:4: tracing.headers: "a b" is not the name of a header`,
				"node.yaml:4: tracing.headers: c contains a character that cannot be in a header",
			}},
		{name: "settings of another engine",
			yaml: "storage:\n  listen: '127.0.0.1:1'\n  secret: s\n  engine: fdb\n  address: '127.0.0.1:2'\n",
			want: []string{
				"node.yaml:2: storage.listen: is for the engine embedded, but the engine is fdb",
				"node.yaml:5: storage.address: is for the engine remote, but the engine is fdb",
			}},
		{name: "a store in the open", yaml: "storage:\n  listen: '0.0.0.0:1'\n  secret: s\n",
			args: []string{"-admin", "a:b"}, want: []string{
				"node.yaml:2: storage.listen: 0.0.0.0:1 can be reached from other machines, and all documents would " +
					"be sent unencrypted: set storage.tls.cert and storage.tls.key"}},
		{name: "a store far away", yaml: "storage:\n  engine: remote\n  address: '10.0.0.1:1'\n  secret: s\n",
			want: []string{
				"node.yaml:3: storage.address: 10.0.0.1:1 is on another machine, and all documents would be sent " +
					"unencrypted: set storage.tls.ca"}},
		{name: "TLS for nothing", yaml: "storage:\n  tls:\n    cert: a\n    key: b\n    ca: c\n", want: []string{
			"node.yaml:3: storage.tls.cert: needs storage.listen", "node.yaml:4: storage.tls.key",
			"node.yaml:5: storage.tls.ca"}},
		{name: "secrets to accept without one's own",
			yaml: "cluster:\n  accept_secrets: [a]\nstorage:\n  accept_secrets: ['']\n", want: []string{
				"node.yaml:2: cluster.accept_secrets: needs cluster.secret",
				"node.yaml:4: storage.accept_secrets: needs storage.secret",
				"node.yaml:4: storage.accept_secrets: contains an empty secret"}},
		{name: "half of TLS", yaml: "sql:\n  tls:\n    cert: a.pem\n",
			want: []string{"node.yaml:3: sql.tls.cert: TLS needs both cert and key"}},
		{name: "CORS for nobody", yaml: "http: {cors: {enabled: true}}\n",
			want: []string{"http.cors.enabled: needs http.cors.origins"}},
		{name: "CORS for all and others with credentials",
			yaml: "http: {cors: {enabled: true, origins: ['*', 'https://a.example'], credentials: true}}\n",
			want: []string{`http.cors.origins: "*" stands for every origin`}},
		{name: "CORS origin with a path", yaml: "http: {cors: {enabled: true, origins: ['https://a.example/x']}}\n",
			want: []string{`"https://a.example/x" is not an origin`}},
		{name: "open to the world", args: []string{"-http", "0.0.0.0:0", "-sql", ":0"}, want: []string{
			"-http: http.listen: 0.0.0.0:0 can be reached from other machines but there is no admin",
			"-sql: sql.listen: :0 can be reached from other machines but there is no admin",
		}},
		{name: "unknown flag", args: []string{"-frob"}, want: []string{"flag provided but not defined: -frob"}},
		{name: "stray argument", args: []string{"start"}, want: []string{`unexpected argument "start"`}},
		{name: "bad name", args: []string{"-name", "a b"}, want: []string{"-name: name: "}},
		{name: "long name", args: []string{"-name", strings.Repeat("n", 65)},
			want: []string{"name: is longer than 64 bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.yaml, c.env, c.args...)
			if err == nil {
				t.Fatal("was taken")
			}
			if !errors.As(err, new(config.Faults)) {
				t.Errorf("%T is not Faults", err)
			}
			got := strings.Split(err.Error(), "\n")
			if len(got) != len(c.want) {
				t.Fatalf("got %d faults, want %d:\n%v", len(got), len(c.want), err)
			}
			for i := range got {
				if !strings.Contains(got[i], c.want[i]) {
					t.Errorf("fault %d is %q, want %q", i+1, got[i], c.want[i])
				}
			}
			if strings.Contains(err.Error(), "topsecret") {
				t.Error("a fault shows a password")
			}
		})
	}
}

func TestLoad_LoopbackNames(t *testing.T) {
	for _, addr := range []string{"localhost:0", "127.1.2.3:0", "[::1]:0"} {
		if _, err := load(t, "", nil, "-http", addr); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if _, err := load(t, "", nil, "-http", "0.0.0.0:0", "-admin", "a:b"); err != nil {
		t.Errorf("with an admin: %v", err)
	}
}

func TestConfig_Exposed(t *testing.T) {
	c := config.Default()
	if c.Exposed() {
		t.Error("the default is on loopback")
	}
	for _, addr := range []string{":0", "0.0.0.0:1", "[::]:1", "192.0.2.1:5984", "db.example.org:5984"} {
		c.HTTP.Listen = addr
		if !c.Exposed() {
			t.Errorf("%s can be reached from elsewhere", addr)
		}
	}
}

func FuzzLoad_YAML(f *testing.F) {
	f.Add("name: a\nhttp: {listen: '127.0.0.1:0'}\n")
	f.Add("a: &x [1]\nb: *x\n<<: {name: 1}\n")
	f.Add("? [a]\n: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load([]string{"-config", file}, nil)
		if err != nil && !errors.As(err, new(config.Faults)) {
			t.Errorf("%T", err)
		}
	})
}
