package replicate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/replicate/couch"
	"github.com/divandb/divan/node/replicate/spec"
	"github.com/divandb/divan/node/replicate/transfer"
)

// ends are the source and the target of a replication.
type ends struct {
	source, target *couch.Database
	repeats        *couch.Repeats // of both
}

// close closes connections that are not in use.
func (e *ends) close() {
	e.source.Close()
	e.target.Close()
}

// opener opens the ends of replications.
type opener struct{ o *Options }

func (m *opener) open(s *spec.Spec, user layer.UserCtx) (*ends, error) {
	repeats := &couch.Repeats{}
	source, err := m.end(&s.Source, s, user, repeats)
	if err != nil {
		return nil, err
	}
	target, err := m.end(&s.Target, s, user, repeats)
	if err != nil {
		return nil, err
	}
	return &ends{source, target, repeats}, nil
}

// end opens one end. A database of this server is reached within the process, by the same requests.
func (m *opener) end(e *spec.Endpoint, s *spec.Spec, user layer.UserCtx, repeats *couch.Repeats) (*couch.Database,
	error) {
	settings := m.o.Settings()
	o := couch.Options{UserAgent: "CouchDB-Replicator/3.5.0 Divan/" + m.o.Version, Timeout: s.ConnectionTimeout,
		Retries: s.RetriesPerRequest, Sessions: settings.Sessions, SessionRefresh: settings.SessionRefresh,
		Repeats: repeats}
	o.Outage = func(ctx context.Context, err *couch.Error) bool {
		return (e.Local != "" || m.o.saysSilent(err.Error())) && m.o.outlast(ctx)
	}
	if e.Local != "" {
		o.Transport, o.Sessions = m.o.Local(user, s.Moves && e == &s.Target), false
		return couch.Open(&spec.Endpoint{Local: e.Local, URL: "http://local/" + couch.EscapeSegment(e.Local) + "/"}, o)
	}
	transport, err := transportTo(e, s, &settings.TLS)
	if err != nil {
		return nil, err
	}
	o.Transport = transport
	return couch.Open(e, o)
}

// idleFor is how long a connection that is not in use stays open.
const idleFor = 30 * time.Second

func transportTo(e *spec.Endpoint, s *spec.Spec, t *TLS) (*http.Transport, error) {
	secure, err := t.config()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: s.ConnectionTimeout, KeepAlive: idleFor}).DialContext,
		TLSClientConfig:     secure,
		TLSHandshakeTimeout: s.ConnectionTimeout,
		MaxIdleConnsPerHost: s.HTTPConnections + s.WorkerProcesses,
		IdleConnTimeout:     idleFor,
		DisableCompression:  true, // costs more time than it saves
		ReadBufferSize:      32 << 10,
		WriteBufferSize:     32 << 10,
	}
	if e.Proxy != "" {
		proxy, err := url.Parse(e.Proxy)
		if err != nil {
			return nil, errors.New("proxy has an invalid url") // the text may have a password
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	return transport, nil
}

// config reads the files that the settings name.
func (t *TLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if !t.Verify {
		c.InsecureSkipVerify = true
	}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read ssl_trusted_certificates_file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("ssl_trusted_certificates_file has no certificates")
		}
	}
	if t.Verify && t.MaxDepth > 0 {
		c.VerifyConnection = func(s tls.ConnectionState) error {
			for _, chain := range s.VerifiedChains {
				if len(chain) <= t.MaxDepth+1 {
					return nil
				}
			}
			return fmt.Errorf("the chain of certificates is longer than ssl_certificate_max_depth (%d)", t.MaxDepth)
		}
	}
	if t.CertFile == "" || t.KeyFile == "" {
		return c, nil
	}
	certificate, err := t.certificate()
	if err != nil {
		return nil, err
	}
	c.Certificates = []tls.Certificate{certificate}
	return c, nil
}

// certificate reads what this server shows of itself.
func (t *TLS) certificate() (tls.Certificate, error) {
	certs, err := os.ReadFile(t.CertFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read cert_file: %w", err)
	}
	key, err := os.ReadFile(t.KeyFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read key_file: %w", err)
	}
	block, _ := pem.Decode(key)
	if t.Password != "" && block != nil && x509.IsEncryptedPEMBlock(block) { //nolint:staticcheck // what CouchDB reads
		plain, err := x509.DecryptPEMBlock(block, []byte(t.Password)) //nolint:staticcheck // as above
		if err != nil {
			return tls.Certificate{}, fmt.Errorf("decrypt key_file: %w", err)
		}
		key = pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: plain})
	}
	c, err := tls.X509KeyPair(certs, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("use cert_file and key_file: %w", err)
	}
	return c, nil
}

// askedBy returns the id of the replication that a document asks for, or "" if something is wrong with it, which its
// job tells.
func (m *opener) askedBy(ctx context.Context, doc *layer.Document) string {
	d := m.o.Settings().Defaults
	s, err := d.Parse(doc.Body)
	if err != nil {
		return ""
	}
	id, err := m.idOf(ctx, s, runsAs(doc.Body))
	if err != nil {
		return ""
	}
	return id.String()
}

// idOf computes the id of a replication. It reads a filter function from the source.
func (m *opener) idOf(ctx context.Context, s *spec.Spec, user layer.UserCtx) (spec.ID, error) {
	code := ""
	if s.NeedsCode() {
		source, err := m.end(&s.Source, s, user, nil)
		if err != nil {
			return spec.ID{}, err
		}
		defer source.Close()
		if code, err = filterCode(ctx, source, &s.Filter); err != nil {
			return spec.ID{}, err
		}
	}
	return s.ID(m.o.Store.UUID(), code), nil
}

// filterWithin bounds the time to read a filter function.
const filterWithin = time.Minute

// filterError says why a filter function cannot be read, in CouchDB's words.
type filterError string

func (e filterError) Error() string { return string(e) }

func filterCode(ctx context.Context, source *couch.Database, f *spec.Filter) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, filterWithin)
	defer cancel()
	if _, err := source.Info(ctx); err != nil {
		return "", filterError(fmt.Sprintf("Could not open source database `%s`: %s", source.Name(), err))
	}
	doc, err := source.Document(ctx, "_design/"+f.Design)
	if err != nil {
		why := err.Error()
		var e *couch.Error
		if errors.As(err, &e) && e.Name != "" && !e.Transient() {
			why = e.Name
		}
		return "", filterError(fmt.Sprintf("Couldn't open document `_design/%s` from source database `%s`: %s",
			f.Design, source.Name(), why))
	}
	code, ok := gjson.GetBytes(doc, "filters").Map()[f.Function]
	if !ok || code.Type != gjson.String {
		return "", filterError(fmt.Sprintf("Couldn't parse filter code from document %s on `%s`: it has no filter %s",
			f.Design, source.Name(), f.Function))
	}
	return spec.TrimCode(code.Str), nil
}

// make prepares a run.
func (m *opener) make(ctx context.Context, s *spec.Spec, id spec.ID, user layer.UserCtx, r *record) (*transfer.Run,
	*ends, error) {
	e, err := m.open(s, user)
	if err != nil {
		return nil, nil, err
	}
	settings := m.o.Settings()
	o := transfer.Options{Spec: s, ID: id, Source: e.source, Target: e.target, Began: r.Began, Session: newSession(),
		MissingWait: settings.MissingDocRetry, MaxID: settings.MaxDocumentID,
		Repeats: e.repeats,
		Log:     m.o.Log.With("replication", id.String(), "source", s.Source.Shown(), "target", s.Target.Shown())}
	if r.Stats != nil {
		o.Earlier = *r.Stats
	}
	return transfer.New(o), e, nil
}
