package server

import (
	"context"
	"net"
	"net/http"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Setup answers _cluster_setup.
type Setup struct {
	Node   *Handlers
	Admins Admins // nil: admins cannot be changed here
	// Create creates a database as PUT /{db} does.
	Create func(ctx context.Context, name string) error
	// Closed reports whether any admin is configured.
	Closed func() bool
}

// Admins adds server admins at run time.
type Admins interface {
	// SetAdmin adds or changes an admin. password is plain text or a stored hash.
	SetAdmin(ctx context.Context, name, password string) (hash string, err error)
}

// systemDatabases are those that a finished CouchDB has.
var systemDatabases = []string{"_users", "_replicator"}

var errFinished = fault.BadRequest("Cluster is already finished")

// Get answers GET /_cluster_setup: a node alone is enabled, or a cluster finished, with an admin and the system
// databases.
func (s *Setup) Get(q *call.Request) error {
	list, err := q.Params.Json("ensure_dbs_exist")
	if err != nil {
		return err
	}
	missing, err := s.missing(q.Ctx(), list)
	if err != nil {
		return err
	}
	state := "single_node_enabled"
	switch alone := len(s.Node.memberList(q)) < 2; {
	case alone && (len(missing) > 0 || !s.Closed()):
		state = "single_node_disabled"
	case !alone && !s.Closed():
		state = "cluster_disabled"
	case !alone && len(missing) > 0:
		state = "cluster_enabled"
	case !alone:
		state = "cluster_finished"
	}
	return q.SendJSON(http.StatusOK, []byte(`{"state":"`+state+`"}`))
}

// Post answers POST /_cluster_setup. It adds an admin and creates system databases. What CouchDB does beyond that,
// to listen elsewhere and to make nodes members, is refused unless it is so already.
func (s *Setup) Post(q *call.Request) error {
	if err := q.RequireJSON(); err != nil {
		return err
	}
	body, err := q.Body.Object()
	if err != nil {
		return fault.BadRequest("Missing JSON body'") // as CouchDB writes it
	}
	switch decode.Member(body, "action").Str {
	case "enable_single_node":
		err = s.enable(q, body, true)
	case "enable_cluster":
		err = s.enable(q, body, false)
	case "finish_cluster":
		err = s.finish(q.Ctx(), decode.Member(body, "ensure_dbs_exist"))
	case "add_node":
		err = s.addNode(q, body)
	case "remove_node", "receive_cookie":
		err = fault.BadRequest("Nodes are members while they run. There is nothing to remove, and no cookie.")
	default:
		err = fault.BadRequest("Invalid Action'")
	}
	if err != nil {
		return err
	}
	return q.SendOK(http.StatusCreated)
}

// enable adds the admin of a request, for a single node or before other nodes join.
func (s *Setup) enable(q *call.Request, body gjson.Result, single bool) error {
	name, secret := decode.Member(body, "username").Str, decode.Member(body, "password").Str
	if hash := decode.Member(body, "password_hash").Str; hash != "" {
		secret = hash
	}
	given := name != "" && secret != ""
	switch {
	case decode.Member(body, "remote_node").Exists():
		return errJoin
	case !single && s.Closed():
		return fault.BadRequest("Cluster is already enabled")
	case !given && !s.Closed():
		return fault.BadRequest("Cluster setup requires admin account to be configured")
	}
	if err := s.listensAt(q, body); err != nil {
		return err
	}
	if given {
		if s.Admins == nil {
			return &layer.Error{Kind: layer.NotImplemented}
		}
		if _, err := s.Admins.SetAdmin(q.Ctx(), name, secret); err != nil {
			return err
		}
	}
	if !single {
		return nil
	}
	// Unlike finish_cluster, this may be repeated, as scripts that prepare a node do.
	_, err := s.ensure(q.Ctx(), decode.Member(body, "ensure_dbs_exist"))
	return err
}

// listensAt refuses an address or a port at which this node does not listen.
func (s *Setup) listensAt(q *call.Request, body gjson.Result) error {
	for _, key := range []string{"bind_address", "port"} {
		want, have := decode.Member(body, key), call.Option(q, "chttpd", key, "")
		if !want.Exists() || want.Type == gjson.Null || have == "" || want.String() == have {
			continue
		}
		if a, b := net.ParseIP(want.String()), net.ParseIP(have); a != nil && b != nil &&
			a.IsUnspecified() && b.IsUnspecified() {
			continue
		}
		return fault.BadRequest("%s is %s: it is read at the start, from http.listen in node.yaml.", key, have)
	}
	return nil
}

// finish creates the databases that are missing. Without any, there is nothing to finish.
func (s *Setup) finish(ctx context.Context, list gjson.Result) error {
	n, err := s.ensure(ctx, list)
	if err == nil && n == 0 {
		err = errFinished
	}
	return err
}

// ensure creates the databases that are missing, and returns how many there were.
func (s *Setup) ensure(ctx context.Context, list gjson.Result) (int, error) {
	missing, err := s.missing(ctx, list)
	if err != nil {
		return 0, err
	}
	for _, name := range missing {
		if err := s.Create(ctx, name); err != nil && layer.KindOf(err) != layer.Exists {
			return 0, err
		}
	}
	return len(missing), nil
}

// missing returns which databases of a list, or else of CouchDB's system databases, there are not.
func (s *Setup) missing(ctx context.Context, list gjson.Result) (missing []string, err error) {
	names := systemDatabases
	if list.Exists() {
		if !list.IsArray() {
			return nil, fault.BadRequest("`ensure_dbs_exist` must be an array of names.")
		}
		names = nil
		for _, one := range list.Array() {
			names = append(names, one.String())
		}
	}
	for _, name := range names {
		switch _, err := s.Node.Store.Database(ctx, name); {
		case err == nil:
		case layer.KindOf(err) == layer.NotFound:
			missing = append(missing, name)
		default:
			return nil, err
		}
	}
	return missing, nil
}

var errJoin = fault.BadRequest("Nodes join each other by gossip: set cluster.join in the node.yaml of the new node.")

// addNode succeeds if the node is a member.
func (s *Setup) addNode(q *call.Request, body gjson.Result) error {
	host, port := decode.Member(body, "host").Str, decode.Member(body, "port").String()
	if port == "" {
		port = strconv.Itoa(5984)
	}
	for _, m := range s.Node.memberList(q) {
		if m.HTTP == net.JoinHostPort(host, port) && m.Status == "alive" {
			return nil
		}
	}
	return errJoin
}
