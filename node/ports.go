package node

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/replicate"
	"github.com/divandb/divan/query/exec"
)

// This file adapts the other rooms to the interfaces in node/api/ports.go.

// actorPorts implements interfaces of the API with this node's actors.
type actorPorts struct{ system *actors.System }

// Listen implements api.Feeds.
func (p actorPorts) Listen(db *layer.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func()) {
	return p.system.Listen(actors.Of(db), shards...)
}

// Ensure implements api.Indexer.
func (p actorPorts) Ensure(ctx context.Context, db *layer.Database, design *layer.Design, mode api.UpdateMode) error {
	switch mode {
	case api.UpdateTrue:
		return p.system.Ensure(ctx, actors.Of(db), design)
	case api.UpdateLazy:
		return p.system.EnsureSoon(ctx, actors.Of(db), design)
	}
	return nil
}

// Use implements api.Indexer.
func (p actorPorts) Use(db *layer.Database, design *layer.Design) {
	p.system.Use(actors.Of(db), design)
}

// Waiting implements api.Indexer.
func (p actorPorts) Waiting(db *layer.Database, design *layer.Design) int {
	return p.system.Waiting(actors.Of(db), design)
}

// Tree implements api.Actors.
func (p actorPorts) Tree(ctx context.Context) ([]byte, error) { return p.system.TreeJSON(ctx) }

// shardOwner returns the node that the shard's actor is placed on.
func (p actorPorts) shardOwner(db *layer.Database, shard layer.ShardID) string {
	return p.system.Owner(actors.Of(db), shard)
}

// ensureForSQL is Ensure with the modes of SQL.
func (p actorPorts) ensureForSQL(ctx context.Context, db *layer.Database, design *layer.Design,
	mode exec.UpdateMode) error {
	return p.Ensure(ctx, db, design, sqlModes[mode])
}

// allTasks implements api.Tasks with the builds, compactions and replications of all nodes.
type allTasks struct {
	console      *console.Console
	replications *replicate.View
}

// ActiveTasks implements api.Tasks. Those of a node that does not answer are left out.
func (t allTasks) ActiveTasks(ctx context.Context) ([][]byte, error) {
	tasks, _ := t.console.Tasks(ctx)
	var list [][]byte
	for i := range tasks {
		list = append(list, tasks[i].Raw)
	}
	running, err := t.replications.Tasks(ctx)
	return append(list, running...), err
}

// sqlModes maps the update modes of SQL to those of the API.
var sqlModes = map[exec.UpdateMode]api.UpdateMode{
	exec.UpdateTrue: api.UpdateTrue, exec.UpdateFalse: api.UpdateFalse, exec.UpdateLazy: api.UpdateLazy,
}

// memberPorts implements api.Members with the cluster.
type memberPorts struct{ cluster *cluster.Cluster }

// Members implements api.Members.
func (p memberPorts) Members() []api.Member {
	var list []api.Member
	for _, m := range p.cluster.Members() {
		list = append(list, api.Member{
			Name: m.Name, Status: string(m.Status), Self: m.Self, HTTP: m.HTTP, SQL: m.SQL, Gossip: m.Gossip,
			Version: m.Version, Roles: m.Roles, GivenUp: m.GivenUp,
			GoneSince: m.GoneSince,
		})
	}
	return list
}

// count returns the number of members by status, for metrics.
func (p memberPorts) count() map[string]int {
	counts := map[string]int{}
	for _, m := range p.cluster.Members() {
		counts[m.State()]++
	}
	return counts
}

// corsSettings returns the cors section of node.yaml as CouchDB options. It leaves out empty ones, for which CouchDB's
// defaults apply.
func corsSettings(c config.CORS) map[string]map[string]string {
	cors := map[string]string{
		"credentials": strconv.FormatBool(c.Credentials),
		"max_age":     strconv.Itoa(int(c.MaxAge.Seconds())),
	}
	for key, list := range map[string][]string{"origins": c.Origins, "methods": c.Methods, "headers": c.Headers} {
		if len(list) > 0 {
			cors[key] = strings.Join(list, ", ")
		}
	}
	return map[string]map[string]string{
		"cors":   cors,
		"chttpd": {"enable_cors": strconv.FormatBool(c.Enabled)},
	}
}

// couchReplicator returns the settings of replications in node.yaml by CouchDB's names.
func couchReplicator(c *config.Replicator) map[string]string {
	millis := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	values := map[string]string{
		"max_jobs": strconv.Itoa(c.MaxJobs), "interval": millis(c.Interval), "max_churn": strconv.Itoa(c.MaxChurn),
		"worker_processes":        strconv.Itoa(c.WorkerProcesses),
		"worker_batch_size":       strconv.Itoa(c.WorkerBatchSize),
		"http_connections":        strconv.Itoa(c.HTTPConnections),
		"connection_timeout":      millis(c.ConnectionTimeout),
		"retries_per_request":     strconv.Itoa(c.RetriesPerRequest),
		"checkpoint_interval":     millis(c.CheckpointInterval),
		"verify_ssl_certificates": strconv.FormatBool(c.VerifyCertificates),
	}
	for key, value := range map[string]string{"ssl_trusted_certificates_file": c.TrustedCertificates,
		"cert_file": c.CertFile, "key_file": c.KeyFile, "password": c.Password} {
		if value != "" {
			values[key] = value
		}
	}
	return values
}
