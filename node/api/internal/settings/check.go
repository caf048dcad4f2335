package settings

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/auth"
)

// knownSettings are the options that have an effect here. Each has a function that returns what is wrong with a value,
// or "". All other options are refused, because whoever sets one would expect it to have an effect.
var knownSettings = map[string]func(value string) (why string){
	"chttpd/allow_jsonp":                    checkBool,
	"chttpd/enable_cors":                    checkBool,
	"chttpd/admin_only_all_dbs":             checkBool,
	"chttpd/require_valid_user":             checkBool,
	"chttpd/changes_timeout":                checkCount,
	"chttpd/max_db_number_for_dbs_info_req": checkCount,
	"cors/origins":                          checkText, // together with credentials, by auth.CheckOrigins
	"cors/credentials":                      checkBool,
	"cors/methods":                          checkMethods,
	"cors/headers":                          checkHeaders,
	"cors/exposed_headers":                  checkHeaders,
	"cors/max_age":                          checkCount,
	"couchdb/users_db_security_editable":    checkBool,
	"uuids/algorithm":                       checkAlgorithm,
	"uuids/max_count":                       checkCount,
	"purge/max_document_id_number":          checkCount,
	"purge/max_revisions_number":            checkCount,
	"query_server_config/reduce_limit":      checkReduceLimit,
	"mango/default_limit":                   checkCount,
	"mango/index_scan_warning_threshold":    checkNumber,

	"replicator/max_jobs":                      checkNumber,
	"replicator/interval":                      checkCount,
	"replicator/max_churn":                     checkNumber,
	"replicator/max_history":                   checkCount,
	"replicator/health_threshold":              checkCount,
	"replicator/worker_processes":              checkCount,
	"replicator/worker_batch_size":             checkCount,
	"replicator/http_connections":              checkCount,
	"replicator/connection_timeout":            checkCount,
	"replicator/retries_per_request":           checkNumber,
	"replicator/use_checkpoints":               checkBool,
	"replicator/use_bulk_get":                  checkBool,
	"replicator/checkpoint_interval":           checkCount,
	"replicator/valid_endpoint_protocols":      checkProtocols("http", "https"),
	"replicator/valid_proxy_protocols":         checkProtocols("http", "https", "socks5"),
	"replicator/verify_ssl_certificates":       checkBool,
	"replicator/ssl_trusted_certificates_file": checkText,
	"replicator/ssl_certificate_max_depth":     checkNumber,
	"replicator/cert_file":                     checkText,
	"replicator/key_file":                      checkText,
	"replicator/password":                      checkText,
	"replicator/max_document_id_length":        checkLimit,
	"replicator/missing_doc_retry_msec":        checkCount,
	"replicator/auth_plugins":                  checkPlugins,
	"replicator/session_refresh_interval_sec":  checkCount,
	"replicator/update_docs":                   checkBool,
}

// MaxSetting is the maximum length of a value.
const MaxSetting = 16 << 10

func checkText(v string) string {
	if len(v) > MaxSetting || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "it is too long or contains a control character"
	}
	return ""
}

func checkBool(v string) string {
	if v != "true" && v != "false" {
		return "it is neither true nor false"
	}
	return ""
}

func checkCount(v string) string {
	if n, err := strconv.ParseInt(v, 10, 32); err != nil || n < 1 {
		return "it is not a positive number"
	}
	return ""
}

// checkNumber is checkCount for options that may be 0.
func checkNumber(v string) string {
	if n, err := strconv.ParseInt(v, 10, 32); err != nil || n < 0 {
		return "it is not a number from 0"
	}
	return ""
}

// checkLimit is checkCount for options that may be "infinity".
func checkLimit(v string) string {
	if v == "infinity" {
		return ""
	}
	return checkCount(v)
}

// checkProtocols checks a list of protocols.
func checkProtocols(known ...string) func(string) string {
	return func(v string) string {
		for _, one := range members(v) {
			if !slices.Contains(known, one) {
				return "the protocols are " + strings.Join(known, ", ")
			}
		}
		return ""
	}
}

// The ways of replications to log in, as CouchDB calls them.
const (
	SessionPlugin = "couch_replicator_auth_session"
	BasicPlugin   = "couch_replicator_auth_noop"
)

func checkPlugins(v string) string {
	list := members(v)
	for _, one := range list {
		if one != SessionPlugin && one != BasicPlugin {
			return "there are only " + SessionPlugin + " and " + BasicPlugin
		}
	}
	if len(list) == 0 {
		return "it names no way to log in"
	}
	return ""
}

func checkReduceLimit(v string) string {
	if v == "log" {
		return ""
	}
	return checkBool(v)
}

func checkAlgorithm(v string) string {
	if v != "sequential" {
		return "ids are always sequential"
	}
	return ""
}

func checkMethods(v string) string { return checkList(v, auth.CheckMethods) }
func checkHeaders(v string) string { return checkList(v, auth.CheckHeaders) }

// checkList checks a comma-separated value like the corresponding list in node.yaml.
func checkList(v string, check func([]string) string) string {
	if why := checkText(v); why != "" {
		return why
	}
	return check(members(v))
}

// closedSections are the sections that CouchDB does not let clients change over HTTP.
var closedSections = []string{"daemons", "external", "feature_flags", "httpd_design_handlers", "httpd_db_handlers",
	"httpd_global_handlers", "native_query_servers", "os_daemons", "query_servers"}

var errClosedSection = &fault.Fault{
	Status: http.StatusForbidden, Name: "forbidden",
	Reason: "Config section blacklisted for modification over HTTP API.",
}
