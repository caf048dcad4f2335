package node

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/replicate"
	"github.com/divandb/divan/node/replicate/spec"
)

// prepareReplications creates what runs replications. The actors give it jobs once they have started.
func (n *Node) prepareReplications(context.Context) error {
	n.settings = api.NewSettings(couchSettings(n.cfg))
	n.own = newOwnRequests(n.log)
	n.parts.add("own requests", n.own.start())
	n.replications = replicate.New(replicate.Options{
		Store: n.store, Node: n.name, Version: version, Log: n.log, Local: n.own.transport,
		Settings: func() replicate.Settings { return replicatorSettings(n.settings) },
		Notify:   n.happened.replicationFailed,
	})
	return nil
}

// runReplications lets waiting replications have their turn, until the node stops.
func (n *Node) runReplications(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.replications.Run(ctx, n.imported)
	}()
	n.parts.add("turns of replications", func(context.Context) error {
		cancel()
		<-ended
		return nil
	})
	return nil
}

// databaseImported looks at what a database that was imported means for others.
func (n *Node) databaseImported() {
	n.open.again()
	select {
	case n.imported <- struct{}{}:
	default: // it will look anyway
	}
}

// settingChanged passes on that a client has changed a setting.
func (n *Node) settingChanged(section, key, user string) {
	n.happened.settingChanged(section, key, user)
	if section == "replicator" {
		n.replications.SettingsChanged()
	}
}

// replicatorSettings reads the options of CouchDB's section replicator. All of them have a value.
func replicatorSettings(s *api.Settings) replicate.Settings {
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
	r := replicate.Settings{
		MaxJobs: number("max_jobs"), MaxChurn: number("max_churn"), MaxHistory: number("max_history"),
		Interval: millis("interval"), HealthThreshold: time.Duration(number("health_threshold")) * time.Second,
		MissingDocRetry: millis("missing_doc_retry_msec"),
		SessionRefresh:  time.Duration(number("session_refresh_interval_sec")) * time.Second,
		Sessions:        strings.HasPrefix(strings.TrimSpace(text("auth_plugins")), "couch_replicator_auth_session"),
		MaxDocumentID:   number("max_document_id_length"), // 0 for infinity
		UpdateDocs:      s.IsTrue(section, "update_docs"),
		TLS: replicate.TLS{Verify: s.IsTrue(section, "verify_ssl_certificates"),
			CAFile: text("ssl_trusted_certificates_file"), CertFile: text("cert_file"), KeyFile: text("key_file"),
			Password: text("password"), MaxDepth: number("ssl_certificate_max_depth")},
	}
	r.Defaults = spec.Defaults{
		Options: spec.Options{UseCheckpoints: s.IsTrue(section, "use_checkpoints"),
			UseBulkGet:         s.IsTrue(section, "use_bulk_get"),
			CheckpointInterval: millis("checkpoint_interval"), WorkerProcesses: number("worker_processes"),
			WorkerBatchSize: number("worker_batch_size"), HTTPConnections: number("http_connections"),
			ConnectionTimeout: millis("connection_timeout"), RetriesPerRequest: number("retries_per_request")},
		Protocols: list("valid_endpoint_protocols"), ProxyProtocols: list("valid_proxy_protocols"),
	}
	return r
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

// replicator implements api.Replicator and api.ReplicationDocs.
type replicator struct{ *replicate.Manager }

// Request implements api.Replicator.
func (r replicator) Request(ctx context.Context, body []byte, user layer.UserCtx) (status int, answer []byte,
	err error) {
	done, err := r.Manager.Request(ctx, body, user)
	var f *replicate.Fault
	var wrong *spec.Error
	switch {
	case errors.As(err, &wrong) && wrong.Bad:
		f = &replicate.Fault{Status: http.StatusBadRequest, Name: "bad_request", Reason: wrong.Reason}
	case errors.As(err, &wrong):
		f = &replicate.Fault{Status: http.StatusInternalServerError, Name: "error", Reason: wrong.Reason}
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

// States implements api.Replicator.
func (r replicator) States() []string { return replicate.States }

// AfterRead implements api.ReplicationDocs.
func (r replicator) AfterRead(body []byte, by layer.UserCtx, dbAdmin bool) []byte {
	return replicate.AfterRead(body, by, dbAdmin)
}

// replicationFailed records that a replication has failed.
func (r *reporter) replicationFailed(f replicate.Failed) {
	e := state.Event{Kind: state.ReplicationFailed, Database: f.Database, Object: f.Document, From: f.Source, To: f.Target,
		Detail: f.Reason, Count: int64(f.Errors)}
	if f.Document == "" {
		e.Object = f.ID
	}
	if !f.Again.IsZero() {
		e.Seconds = time.Until(f.Again).Seconds()
	}
	r.Keep(e) // package replicate logs it
}
