package replicator

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/replicate"
	"github.com/divandb/divan/node/replicate/spec"
)

// Options of New.
type Options struct {
	Store    *layer.Store
	Node     string // this node's name
	Version  string
	Settings *api.Settings
	Log      *slog.Logger
	Notify   func(replicate.Failed) // must not block
	// StoreAway and Outlast are those of replicate.Options.
	StoreAway, Outlast func(context.Context) bool
}

// Replicator runs the replications of a node. It implements api.Replicator and api.ReplicationDocs, and its Manager
// actors.ReplicationWorker.
type Replicator struct {
	*replicate.Manager
	own      *ownRequests
	imported chan struct{}
	deleted  chan struct{}
}

// New returns a Replicator.
func New(o Options) *Replicator {
	own := newOwnRequests(o.Log)
	return &Replicator{
		Manager: replicate.New(replicate.Options{
			Store: o.Store, Node: o.Node, Version: o.Version, Log: o.Log, Local: own.transport, Notify: o.Notify,
			Settings: func() replicate.Settings { return read(o.Settings) }, StoreAway: o.StoreAway,
			Outlast: o.Outlast, StoreSilent: api.StoreSilent,
		}),
		own: own, imported: make(chan struct{}, 1), deleted: make(chan struct{}, 1),
	}
}

// Start lets requests of the node to itself wait until Serve is called. stop ends them.
func (r *Replicator) Start() (stop func(context.Context) error) { return r.own.start() }

// Serve answers requests of the node to itself with a handler, which finds out who has sent them with User.
func (r *Replicator) Serve(h http.Handler) { r.own.handler.Store(&h) }

// Turns lets waiting replications have their turn, until stop is called.
func (r *Replicator) Turns() (stop func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx, r.imported, r.deleted)
	}()
	return func(context.Context) error {
		cancel()
		<-ended
		return nil
	}
}

// Imported looks for replications in a database that was imported. It does not block.
func (r *Replicator) Imported() {
	select {
	case r.imported <- struct{}{}:
	default: // it will look anyway
	}
}

// Deleted ends the replications of a database that was deleted, on all nodes. It does not block.
func (r *Replicator) Deleted(database string) {
	if !layer.IsReplicator(database) {
		return
	}
	select {
	case r.deleted <- struct{}{}:
	default: // it will look anyway
	}
}

// SettingChanged heeds an option that a client has changed.
func (r *Replicator) SettingChanged(section string) {
	if section == "replicator" {
		r.SettingsChanged()
	}
}

// Request implements api.Replicator.
func (r *Replicator) Request(ctx context.Context, body []byte, user layer.UserCtx) (status int, answer []byte,
	err error) {
	done, err := r.Manager.Request(ctx, body, user)
	var f *replicate.Fault
	var wrong *spec.Error
	switch {
	case errors.As(err, &wrong):
		f = &replicate.Fault{Status: wrong.Status, Name: wrong.Name, Reason: wrong.Reason}
	case errors.As(err, &f):
	case err != nil:
		return 0, nil, err
	case done.Result != nil:
		b := []byte(`{"ok":true`)
		if len(done.Result) > len(`{}`) {
			b = append(b, ',')
		}
		return done.Status, append(b, done.Result[1:]...), nil
	default:
		answer, err = json.Marshal(struct {
			OK bool   `json:"ok"`
			ID string `json:"_local_id"`
		}{true, done.LocalID})
		return done.Status, answer, err
	}
	answer, err = json.Marshal(struct {
		Error  string `json:"error"`
		Reason string `json:"reason"`
	}{f.Name, f.Reason})
	return f.Status, answer, err
}

// Jobs implements api.Replicator.
func (r *Replicator) Jobs(ctx context.Context) ([][]byte, error) { return r.View().Jobs(ctx) }

// Job implements api.Replicator.
func (r *Replicator) Job(ctx context.Context, id string) ([]byte, error) {
	return r.View().Job(ctx, id)
}

// Doc implements api.Replicator.
func (r *Replicator) Doc(ctx context.Context, database string, doc *layer.Document) ([]byte, string, error) {
	return r.View().Doc(ctx, database, doc)
}

// States implements api.Replicator.
func (r *Replicator) States() []string { return replicate.States }

// BeforeWrite implements api.ReplicationDocs.
func (r *Replicator) BeforeWrite(body []byte, deleted bool, by layer.UserCtx, dbAdmin bool) ([]byte, error) {
	return r.Rules().BeforeWrite(body, deleted, by, dbAdmin)
}

// AfterRead implements api.ReplicationDocs.
func (r *Replicator) AfterRead(body []byte, by layer.UserCtx, dbAdmin bool) []byte {
	return replicate.AfterRead(body, by, dbAdmin)
}

// read reads the options of CouchDB's section replicator. All of them have a value.
func read(s *api.Settings) replicate.Settings {
	const section = "replicator"
	text := func(key string) string {
		v, _ := s.Get(section, key)
		return v
	}
	number := func(key string) int { return s.Int(section, key, 0) }
	millis := func(key string) time.Duration { return time.Duration(number(key)) * time.Millisecond }
	list := func(key string) (list []string) {
		for _, one := range strings.Split(text(key), ",") {
			list = append(list, strings.TrimSpace(one))
		}
		return list
	}
	return replicate.Settings{
		Defaults: spec.Defaults{
			Options: spec.Options{
				UseCheckpoints: s.IsTrue(section, "use_checkpoints"), UseBulkGet: s.IsTrue(section, "use_bulk_get"),
				CheckpointInterval: millis("checkpoint_interval"), WorkerProcesses: number("worker_processes"),
				WorkerBatchSize: number("worker_batch_size"), HTTPConnections: number("http_connections"),
				ConnectionTimeout: millis("connection_timeout"), RetriesPerRequest: number("retries_per_request"),
			},
			Protocols: list("valid_endpoint_protocols"), ProxyProtocols: list("valid_proxy_protocols"),
		},
		MaxJobs: number("max_jobs"), MaxChurn: number("max_churn"), MaxHistory: number("max_history"),
		Interval:        millis("interval"),
		HealthThreshold: time.Duration(number("health_threshold")) * time.Second,
		MissingDocRetry: millis("missing_doc_retry_msec"),
		SessionRefresh:  time.Duration(number("session_refresh_interval_sec")) * time.Second,
		Sessions:        strings.HasPrefix(strings.TrimSpace(text("auth_plugins")), "couch_replicator_auth_session"),
		MaxDocumentID:   number("max_document_id_length"), // 0 for infinity
		UpdateDocs:      s.IsTrue(section, "update_docs"),
		TLS: replicate.TLS{
			Verify: s.IsTrue(section, "verify_ssl_certificates"), CAFile: text("ssl_trusted_certificates_file"),
			CertFile: text("cert_file"), KeyFile: text("key_file"), Password: text("password"),
			MaxDepth: number("ssl_certificate_max_depth"),
		},
	}
}
