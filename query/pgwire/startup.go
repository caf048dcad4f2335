package pgwire

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/sqlstate"
)

// Codes in the place of a protocol version (PostgreSQL 15, section 55.7).
const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSSEnc = 80877104
)

// handshake takes a connection from its first byte to its session.
type handshake struct {
	*conn
	// certificate is the one that TLS showed the client; nil without TLS.
	certificate *tls.Certificate
}

// run opens the session of a new connection. It returns false if the connection has ended: after a cancel request,
// after a refusal, or because the client disconnected.
func (h *handshake) run() bool {
	patience := h.srv.opts.StartupTimeout
	if h.surplus {
		patience = min(patience, lingerTime) // others wait for its file
	}
	h.deadline(time.Now().Add(patience))
	params, minor, ok := h.negotiate()
	if !ok {
		h.sendEvicted()
		return false
	}
	h.attach()
	if h.surplus {
		h.fatal(errTooMany)
		return false
	}
	start, err := h.login(params, minor)
	if err == nil {
		h.send(&pgproto3.AuthenticationOk{})
		h.session, err = h.srv.opts.Handler.Open(h.ctx, start, h.conn)
	}
	if err != nil {
		var e *sqlstate.Error
		var frame *errFraming
		var long *errTooLong
		switch {
		case errors.As(err, &e):
		case errors.As(err, &frame), errors.As(err, &long):
			e = &sqlstate.Error{Code: sqlstate.ProtocolViolation, Message: err.Error()}
		case h.sendTimeout(err):
			return false
		case isNetError(err):
			h.sendEvicted()
			return false
		default:
			e = sqlstate.From(err)
		}
		h.fatal(e)
		return false
	}
	for _, p := range h.session.Parameters() {
		h.ParameterStatus(p.Name, p.Value)
	}
	h.send(&pgproto3.BackendKeyData{ProcessID: h.pid, SecretKey: h.secret})
	h.deadline(time.Time{})
	return true
}

// sendEvicted tells a client why its start-up was ended to make room. It cannot do so during TLS negotiation.
func (h *handshake) sendEvicted() {
	if !h.isEvicted() {
		return
	}
	if h.out == nil {
		h.attach()
	}
	h.fatal(errTooMany)
}

// sendTimeout tells a client that it has not logged in in time. It returns false if err is another error.
func (h *handshake) sendTimeout(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || h.isEvicted() || h.isClosing() {
		return false
	}
	if h.out == nil {
		h.attach()
	}
	h.deadline(time.Now().Add(lingerTime))
	reason := &sqlstate.Error{Code: sqlstate.QueryCanceled, Message: "canceling authentication due to timeout"}
	if h.surplus {
		reason = errTooMany
	}
	h.fatal(reason)
	return true
}

// negotiate reads packets up to the start-up message. It answers encryption requests and handles a cancel request.
func (h *handshake) negotiate() (params map[string]string, minor uint32, ok bool) {
	encryptable := h.srv.opts.TLS != nil && !h.secure
	for i := range maxStartupTries {
		code, packet, err := startupPacket(h.nc)
		var hello *errHello
		if i == 0 && encryptable && errors.As(err, &hello) {
			if encryptable = false; h.encryptDirectly(hello) {
				continue
			}
			return nil, 0, false
		}
		if err != nil {
			var frame *errFraming
			if errors.As(err, &frame) || errors.As(err, &hello) {
				h.attach()
				h.fatal(sqlstate.New(sqlstate.ProtocolViolation, "invalid length of startup packet"))
			}
			h.sendTimeout(err)
			return nil, 0, false
		}
		switch {
		case code == codeSSL && encryptable:
			encryptable = false
			if _, err := h.nc.Write([]byte{'S'}); err != nil {
				return nil, 0, false
			}
			if _, ok := h.encrypt(h.nc, h.srv.opts.TLS); !ok {
				return nil, 0, false
			}
		case code == codeSSL, code == codeGSSEnc:
			if _, err := h.nc.Write([]byte{'N'}); err != nil {
				return nil, 0, false
			}
		case code == codeCancel:
			var cancel pgproto3.CancelRequest
			if cancel.Decode(packet) == nil {
				h.srv.cancelRequest(cancel.ProcessID, cancel.SecretKey)
			}
			return nil, 0, false
		case code>>16 == 3:
			params, err := decodeStartup(packet)
			if err != nil {
				h.attach()
				h.fatal(sqlstate.New(sqlstate.ProtocolViolation,
					"invalid startup packet layout: expected terminator as last byte"))
				return nil, 0, false
			}
			return params, code & 0xffff, true
		default:
			h.attach()
			h.fatal(sqlstate.New(sqlstate.FeatureNotSupported,
				"unsupported frontend protocol %d.%d: server supports 3.0 to 3.2", code>>16, code&0xffff))
			return nil, 0, false
		}
	}
	return nil, 0, false
}

// decodeStartup reads the parameters of any minor version of protocol 3. pgproto3 knows only two.
func decodeStartup(packet []byte) (map[string]string, error) {
	binary.BigEndian.PutUint32(packet, pgproto3.ProtocolVersion30)
	if len(packet) == 5 && packet[4] == 0 {
		return map[string]string{}, nil
	}
	var m pgproto3.StartupMessage
	if err := m.Decode(packet); err != nil {
		return nil, err
	}
	return m.Parameters, nil
}

// login checks the start-up message, negotiates the version, and authenticates the user.
func (h *handshake) login(params map[string]string, minor uint32) (Start, error) {
	var unknown []string
	var wrong error // a wrong option is reported only to clients that have logged in
	settings := map[string]string{}
	if options := params["options"]; options != "" {
		wrong = splitOptions(options, settings) // other parameters take precedence
	}
	for name, value := range params {
		switch {
		case strings.HasPrefix(name, "_pq_."):
			unknown = append(unknown, name)
		case name == "options":
		case name != "user" && name != "database":
			settings[strings.ToLower(name)] = value
		}
	}
	slices.Sort(unknown)
	// Protocol 3.2 introduced cancel keys of 32 bytes; before they had 4.
	keyLen, newest := 4, uint32(2)
	if minor >= newest {
		keyLen = 32
	}
	if minor > newest || len(unknown) > 0 {
		h.send(&pgproto3.NegotiateProtocolVersion{
			NewestMinorProtocol: pgproto3.ProtocolVersion30 | min(minor, newest), UnrecognizedOptions: unknown})
	}
	user := params["user"]
	if user == "" {
		return Start{}, sqlstate.New(sqlstate.InvalidAuthorization,
			"no PostgreSQL user name specified in startup packet")
	}
	if err := noReplication(settings); err != nil {
		return Start{}, err
	}
	if h.srv.opts.RequireTLS && !h.secure && h.inside == nil {
		return Start{}, sqlstate.New(sqlstate.InvalidAuthorization, "this server accepts TLS connections only").
			WithHint("Connect with sslmode=require or stronger.")
	}
	authenticated := h.srv.opts.Credentials != nil && h.srv.opts.Credentials.Required()
	admin := true // if nobody has to log in, everyone is an admin
	switch {
	case h.inside != nil:
		authenticated, admin = h.inside.Authenticated, h.inside.Admin
	case authenticated:
		var err error
		if admin, err = h.authenticate(h.ctx, user); err != nil {
			return Start{}, err
		}
	}
	if err := h.srv.seat(h.conn, admin); err != nil {
		return Start{}, err
	}
	if wrong != nil {
		h.send(&pgproto3.AuthenticationOk{})
		return Start{}, wrong
	}
	h.srv.register(h.conn, keyLen)
	database := params["database"]
	if database == "" {
		database = user
	}
	return Start{User: user, Authenticated: authenticated, Database: database, Settings: settings,
		Remote: h.nc.RemoteAddr(), Local: h.nc.LocalAddr(), PID: h.pid, TLS: h.secure, Since: time.Now()}, nil
}

// noReplication refuses a connection for replication, which a parameter with the value of a boolean, or "database",
// asks for.
func noReplication(settings map[string]string) error {
	value, given := settings["replication"]
	delete(settings, "replication")
	if !given {
		return nil
	}
	switch strings.ToLower(value) {
	case "false", "off", "no", "0", "f", "n":
		return nil
	case "true", "on", "yes", "1", "t", "y", "database":
	default:
		return sqlstate.New(sqlstate.InvalidParameterValue, `invalid value for parameter "replication": "%s"`, value)
	}
	return sqlstate.Unsupported(-1, "Follow changes_follow, or the HTTP _changes feed.",
		"replication connections are not supported")
}

// splitOptions parses the options parameter (PGOPTIONS): "-c name=value" and "--name=value", with spaces escaped by a
// backslash.
func splitOptions(text string, settings map[string]string) error {
	var words []string
	var word strings.Builder
	in := false
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			in = true
		case ch == ' ' || ch == '\t' || ch == '\n':
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteByte(ch)
			in = true
		}
	}
	if in {
		words = append(words, word.String())
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		flag, value := w, ""
		if len(w) > 2 && w[0] == '-' {
			flag, value = w[:2], w[2:]
		} else if i+1 < len(words) && len(w) == 2 && strings.Contains("cSf", w[1:]) {
			i++
			value = words[i]
		}
		if err := option(w, flag, value, settings); err != nil {
			return err
		}
	}
	return nil
}

// option parses one option: -c name=value, --name=value, and the short ones of PostgreSQL's programs that a client may
// set, -e, -f and -S.
func option(word, flag, value string, settings map[string]string) error {
	invalid := sqlstate.New(sqlstate.SyntaxError, "invalid command-line argument for server process: %s", word)
	switch {
	case value == "" && flag != "-e":
		return invalid
	case flag == "-c", flag == "--":
		name, set, found := strings.Cut(value, "=")
		if !found {
			if flag == "-c" {
				flag += " "
			}
			return sqlstate.New(sqlstate.SyntaxError, "%s%s requires a value", flag, value)
		}
		settings[strings.ToLower(strings.ReplaceAll(name, "-", "_"))] = set
	case flag == "-S":
		settings["work_mem"] = value
	case flag == "-e" && value == "":
		settings["datestyle"] = "euro"
	case flag == "-f" && avoided[value] != "":
		settings[avoided[value]] = "false"
	default:
		return invalid
	}
	return nil
}

// avoided are the settings of the letters after -f.
var avoided = map[string]string{"s": "enable_seqscan", "i": "enable_indexscan", "o": "enable_indexonlyscan",
	"b": "enable_bitmapscan", "t": "enable_tidscan", "n": "enable_nestloop", "m": "enable_mergejoin",
	"h": "enable_hashjoin"}

func isNetError(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) || isEOF(err) || errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled)
}
