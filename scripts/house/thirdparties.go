package house

// home is where a third-party module may be used.
type home struct {
	rooms []string
	tests bool // tests of any room may use it too
	why   string
}

// thirdParties lists homes by module path, or by package path if one module has several homes.
var thirdParties = map[string]home{
	"github.com/apple/foundationdb": {rooms: []string{"layer/kv/fdb", "scripts/benchmark"},
		why: "it needs cgo and a client library; the benchmark compares with it bare"},
	"github.com/cockroachdb/pebble/v2": {rooms: []string{"layer/kv/embedded", "layer/kv/embedded/...",
		"scripts/benchmark"}, tests: true,
		why: "the embedded engine's files are its own business; the benchmark compares with it bare"},
	"github.com/google/btree": {rooms: []string{"layer/kv/embedded/internal/writes",
		"layer/kv/embedded/internal/watch", "actors/internal/runtime"},
		why: "the ordered sets of a transaction's writes, of watched keys and of an actor's children"},
	"github.com/axiomhq/hyperloglog": {rooms: []string{"layer/reduce"},
		why: "it counts distinct keys for _approx_count_distinct"},
	"modernc.org/libquickjs": {rooms: []string{"layer/script/internal/engine"},
		why: "the JavaScript engine stays behind the sandbox's interface, so that it can be replaced"},
	"modernc.org/libc": {rooms: []string{"layer/script/internal/engine", "node/api/internal/zlib"},
		why: "it comes with the JavaScript engine and zlib"},
	"modernc.org/z": {rooms: []string{"node/api/internal/zlib"},
		why: "its memory is managed by hand, in one place"},
	"golang.org/x/text": {rooms: []string{"layer/collate"}, why: "the order of strings is decided in one place"},
	"golang.org/x/text/encoding": {rooms: []string{"query/charset"},
		why: "texts are UTF-8 everywhere else"},
	"golang.org/x/text/unicode/norm": {rooms: []string{"layer/collate", "query/funcs/texts"},
		why: "normal forms are part of the order of strings, and a function of SQL"},
	"github.com/tidwall/gjson": {rooms: []string{"layer/internal/...", "layer/reduce", "layer/script/...",
		"node/api/internal/...",
		"layer/selector", "node/replicate/...", "query/mango"},
		why: "incoming JSON is examined without decoding it"},
	"github.com/jackc/pgx/v5/pgproto3": {rooms: []string{"query/pgwire"}, tests: true,
		why: "the messages of the wire protocol"},
	"github.com/jackc/pgx/v5": {rooms: []string{"scripts/benchmark"}, tests: true,
		why: "a Postgres client, for tests and to measure"},
	"github.com/xdg-go/scram": {rooms: []string{"query/pgwire"}, tests: true,
		why: "SCRAM is a part of the wire protocol's login"},
	"github.com/xdg-go/stringprep": {rooms: []string{"node/auth"},
		why: "it prepares passwords for hashing"},
	"github.com/golang-jwt/jwt/v5": {rooms: []string{"node/auth"}, tests: true,
		why: "it checks the signatures of tokens"},
	"github.com/dlclark/regexp2": {rooms: []string{"node/auth"},
		why: "rules for passwords are Perl's regular expressions"},
	"github.com/hashicorp/golang-lru/v2": {rooms: []string{"layer/internal/cache", "layer/internal/db", "node/auth",
		"query"},
		why: "open databases, functions, results of logins and bound queries are cached " +
			"within a bound"},
	"github.com/xwb1989/sqlparser": {rooms: []string{"query/sql/parse"},
		why: "it parses the clauses of a single SELECT, and only one file uses it"},
	"github.com/hashicorp/memberlist": {rooms: []string{"cluster", "cluster/..."},
		why: "gossip stays behind cluster's own types"},
	"github.com/cespare/xxhash/v2": {rooms: []string{"cluster", "layer/internal/db"},
		why: "placement hashes with it"},
	"github.com/asynkron/protoactor-go": {rooms: []string{"actors", "actors/internal/runtime", "cluster",
		"cluster/..."},
		why: "only actors and remoting use it"},
	"google.golang.org/grpc": {rooms: []string{"cluster"},
		why: "protoactor's transport"},
	"google.golang.org/protobuf": {rooms: []string{"cluster", "cluster/..."}, tests: true,
		why: "what protoactor sends to another member must be a protobuf message"},
	"github.com/coreos/go-systemd/v22": {rooms: []string{"node/systemd"},
		why: "it speaks the service manager's protocol"},
	"github.com/KimMachineGun/automemlimit": {rooms: []string{"node/machine"},
		why: "it knows how much memory a container or a machine gives"},
	"github.com/prometheus/client_golang": {rooms: []string{"node/metrics"},
		why: "other rooms count in plain Go; one room publishes"},
	"go.opentelemetry.io/otel": {rooms: []string{"node/tracing"},
		why: "other rooms say what begins and ends; one room makes spans of it"},
	"go.opentelemetry.io/otel/sdk":   {rooms: []string{"node/tracing"}, why: "it comes with OpenTelemetry"},
	"go.opentelemetry.io/otel/trace": {rooms: []string{"node/tracing"}, why: "it comes with OpenTelemetry"},
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp": {rooms: []string{"node/tracing"},
		why: "it comes with OpenTelemetry"},
	"go.opentelemetry.io/proto/otlp": {tests: true, why: "a test reads what a collector is sent"},
	"github.com/chromedp": {rooms: []string{"scripts/browser"},
		why: "tests drive Chromium through one package"},
	"go.yaml.in/yaml/v3": {rooms: []string{"node/config"}, tests: true, why: "settings are read in one place"},
	"golang.org/x/term":  {rooms: []string{"node/cmd/divan"}, why: "it asks for a password without showing it"},
	"golang.org/x/sys": {rooms: []string{"scripts/soaktest"},
		why: "a client in a network namespace of its own needs setns"},
	"golang.org/x/sync": {rooms: []string{"layer", "layer/...", "actors/...", "query", "node", "node/...",
		"scripts/packaging"}, tests: true, why: "it is almost the standard library"},
	"go.uber.org/goleak": {tests: true, why: "it finds goroutines that tests leave behind"},
	"github.com/lib/pq":  {tests: true, why: "it is another client of the SQL gateway"},
	"pgregory.net/rapid": {tests: true, why: "it generates test cases"},
}

// generator creates the collation table from ICU, by hand and with a build tag. It is not part of the program.
const generator = "layer/collate/rootgen"

// bannedStandard lists packages of the standard library that only some rooms may use.
var bannedStandard = map[string]struct {
	but      []string
	testsMay bool
	reason   string
}{
	"C": {but: []string{"layer/kv/fdb", generator}, reason: "the binary builds without cgo, except for FoundationDB"},
	"unsafe": {but: []string{"layer/script/internal/engine", "layer/script/internal/turns", "query/types",
		"node/api/internal/zlib", generator},
		reason: "nothing here is worth a memory fault in someone's only copy of their data"},
	"net/http": {but: []string{"node", "node/...", "scripts/..."}, testsMay: true,
		reason: "only node speaks HTTP"},
	"database/sql": {testsMay: true, reason: "Divan is a server of SQL, not a client"},
	"log":          {but: []string{generator, "cluster"}, reason: "the log is for the operator: log/slog, with keys"},
	"math/rand":    {reason: "math/rand/v2 is the one that is seeded well"},
	"net/http/pprof": {but: []string{"node"},
		reason: "it registers itself on the default mux, for everyone who can connect"},
}
