package api

import (
	"net/http"
	"path"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/find"
	"github.com/divandb/divan/node/auth"
)

// endpoint describes the methods of a path.
type endpoint struct {
	route  string // of the path, as metrics show it
	allow  string // the Allow header, in CouchDB's order
	access access
	// login marks /_session and the probes, which can be reached with any credentials, even wrong ones.
	login  bool
	scrape bool // can be reached with the token for metrics
	probe  bool // can be reached without a user, even if users are required
	// tells marks /_session. GET shows the client's identity, so wrong credentials are an error there
	tells                        bool
	limit                        bodyLimit // for the bodies of PUT and POST; nil means Limits.Request
	get, put, post, delete, copy handler
	any                          handler // for all methods, instead of the handlers above
}

type handler func(q *call.Request) error

func (e *endpoint) handler(method string) handler {
	if e.any != nil {
		return e.any
	}
	switch method {
	case http.MethodGet, http.MethodHead:
		return e.get
	case http.MethodPut:
		return e.put
	case http.MethodPost:
		return e.post
	case http.MethodDelete:
		return e.delete
	case "COPY":
		return e.copy
	}
	return nil
}

// tail is the rest of a path after the segment by which an endpoint was found. A star matches any one segment, and a
// final "..." any number of them, including none.
type tail struct {
	pattern []string
	endpoint
}

func (t *tail) matches(path []string) bool {
	for i, want := range t.pattern {
		if want == "..." {
			return true
		}
		if i >= len(path) || want != "*" && want != path[i] {
			return false
		}
	}
	return len(path) == len(t.pattern)
}

func firstMatch(tails []tail, path []string) *endpoint {
	for i := range tails {
		if tails[i].matches(path) {
			return &tails[i].endpoint
		}
	}
	return nil
}

// table has all endpoints: those without rows, server's rows by the first segment of the path, inDatabase's by the
// second, and inDesign's by the segment after the design document's name.
type table struct {
	welcome, database, document, attachment endpoint

	server, inDatabase, inDesign map[string][]tail

	// Paths without an endpoint still require membership or an admin.
	nothingHere, nothingInDatabase, localWithoutName, localAttachment endpoint
}

// find returns the endpoint of a path. There always is one: a path that matches no row is a database, a document or an
// attachment.
func (t *table) find(path []string) *endpoint {
	if len(path) == 0 {
		return &t.welcome
	}
	if tails, ok := t.server[path[0]]; ok {
		if e := firstMatch(tails, path[1:]); e != nil {
			return e
		}
		return &t.nothingHere
	}
	if len(path) == 1 {
		return &t.database
	}
	if tails, ok := t.inDatabase[path[1]]; ok {
		if e := firstMatch(tails, path[2:]); e != nil {
			return e
		}
	}
	switch {
	case path[1] == "_design":
		return t.design(path)
	case path[1] == "_local":
		return t.local(path)
	case len(path) == 2:
		return &t.document
	}
	return &t.attachment
}

func (t *table) design(path []string) *endpoint {
	if len(path) > 3 {
		if tails, ok := t.inDesign[path[3]]; ok {
			if e := firstMatch(tails, path[4:]); e != nil {
				return e
			}
			return &t.nothingInDatabase
		}
		return &t.attachment
	}
	return &t.document
}

func (t *table) local(path []string) *endpoint {
	switch len(path) {
	case 2:
		return &t.localWithoutName
	case 3:
		return &t.document
	}
	return &t.localAttachment
}

func refuse(err error) handler { return func(*call.Request) error { return err } }

func everyMethod(a access, h handler) endpoint {
	return endpoint{access: a, any: h}
}

// table returns the table of endpoints.
func (s *Server) table() *table {
	t := &table{
		welcome: endpoint{allow: "GET,HEAD", access: anyone, get: s.server.Welcome},
		database: endpoint{
			allow: "DELETE,GET,HEAD,POST", access: s.gate.databaseAccess, limit: s.docs.DocumentLimit,
			get: s.databases.DatabaseInfo, put: s.databases.CreateDatabase, delete: s.databases.DeleteDatabase,
			post: s.docs.PostDocument,
		},
		document: endpoint{
			allow: "DELETE,GET,HEAD,POST,PUT,COPY", access: s.gate.databaseMember, limit: s.docs.DocumentBodyLimit,
			get: s.docs.GetDocument, put: s.docs.PutDocument, post: s.forms.PostForm, delete: s.docs.DeleteDocument,
			copy: s.docs.CopyDocument,
		},
		attachment: endpoint{
			allow: "DELETE,GET,HEAD,PUT", access: s.gate.databaseMember, limit: s.docs.AttachmentLimit,
			get: s.docs.GetAttachment, put: s.docs.PutAttachment, delete: s.docs.DeleteAttachment,
		},
		server:            s.serverEndpoints(),
		inDatabase:        s.databaseEndpoints(),
		inDesign:          s.designEndpoints(),
		nothingHere:       everyMethod(serverAdmin, refuse(fault.NotFound("missing"))),
		nothingInDatabase: everyMethod(s.gate.databaseMember, refuse(fault.NotFound("missing"))),
		localWithoutName:  everyMethod(s.gate.databaseMember, refuse(fault.BadRequest("Invalid _local document id."))),
		localAttachment: everyMethod(s.gate.databaseMember,
			refuse(fault.BadRequest("_local documents do not accept attachments."))),
	}
	t.nameRoutes()
	return t
}

// otherRoute is the route of requests for no endpoint.
const otherRoute = "other"

// nameRoutes names the routes of all endpoints by their patterns, so that there are only so many names.
func (t *table) nameRoutes() {
	t.welcome.route, t.database.route = "/", "/{db}"
	t.document.route, t.attachment.route = "/{db}/{doc}", "/{db}/{doc}/{attachment}"
	for _, e := range []*endpoint{&t.nothingHere, &t.nothingInDatabase, &t.localWithoutName, &t.localAttachment} {
		e.route = otherRoute
	}
	for _, group := range []struct {
		prefix string
		rows   map[string][]tail
	}{{"/", t.server}, {"/{db}/", t.inDatabase}, {"/{db}/_design/{ddoc}/", t.inDesign}} {
		for first, tails := range group.rows {
			for i := range tails {
				tails[i].route = group.prefix + path.Join(append([]string{first}, tails[i].pattern...)...)
			}
		}
	}
}

// all returns a table row for every path that begins with a name, and every method.
func all(a access, h handler) []tail { return []tail{{[]string{"..."}, everyMethod(a, h)}} }

// missing is for endpoints of CouchDB that are not supported. 501 says more than treating the name as a document would.
var missing = refuse(&layer.Error{Kind: layer.NotImplemented})

var errNoReshard = &fault.Fault{Status: http.StatusNotImplemented, Name: "not_implemented",
	Reason: "Documents are not divided into shards here. POST /{db}/_changes/_reshard changes the number of shards " +
		"of a database's changes feed."}

// noSearch is for full-text search: the answer of a CouchDB without a search service. Without it, these names would be
// taken for those of databases, documents and attachments.
var noSearch = refuse(&fault.Fault{Status: http.StatusServiceUnavailable, Name: "service unavailable",
	Reason: "Search is not available"})

// noNouveau is for the other full-text search, which CouchDB does not know unless it is enabled.
var noNouveau = refuse(fault.NotFound("missing"))

// only returns a table row without a tail.
func only(e endpoint) []tail { return []tail{{endpoint: e}} }

func (s *Server) serverEndpoints() map[string][]tail {
	get := func(a access, h handler) []tail { return only(endpoint{allow: "GET,HEAD", access: a, get: h}) }
	probe := func(h handler) []tail {
		return only(endpoint{allow: "GET,HEAD", access: anyone, login: true, probe: true, get: h})
	}
	return map[string][]tail{
		"_up":      only(endpoint{allow: "GET,HEAD", access: anyone, login: true, get: s.server.Up}),
		"livez":    probe(s.server.Alive),
		"readyz":   probe(s.server.Up),
		"_uuids":   only(endpoint{allow: "GET", access: anyone, get: s.docs.NewUUIDs}),
		"_utils":   {{[]string{"..."}, endpoint{allow: "GET,HEAD", access: anyone, get: s.server.Utils}}},
		"_all_dbs": get(s.gate.databaseLister, s.databases.AllDatabases),
		"_dbs_info": only(endpoint{
			allow: "GET,HEAD,POST", access: s.gate.databaseLister, get: s.databases.AllDatabaseInfos,
			post: s.databases.DatabaseInfos,
		}),
		"_session": only(endpoint{
			allow: "GET,HEAD,POST,DELETE", access: anyone, login: true, tells: true, limit: s.atMost(auth.MaxLogin),
			get: s.server.Session, post: s.server.Session, delete: s.server.Session,
		}),
		"_cluster_setup": only(endpoint{allow: "GET,POST", access: serverAdmin, limit: s.atMost(maxCommand),
			get: s.setup.Get, post: s.setup.Post}),
		"_membership":   only(endpoint{allow: "GET", access: serverAdmin, get: s.server.Membership}),
		"_members":      get(serverAdmin, s.server.GetMembers),
		"_actors":       get(serverAdmin, s.server.GetActors),
		"_jobs":         get(serverAdmin, s.server.GetJobs),
		"_active_tasks": get(serverAdmin, s.server.ActiveTasks),
		"_backup": only(endpoint{allow: "POST", access: serverAdmin, limit: s.atMost(maxCommand),
			post: s.server.Backup}),
		"_verify": only(endpoint{allow: "POST", access: serverAdmin, limit: s.atMost(maxCommand),
			post: s.server.Verify}),
		"_dashboard": all(serverAdmin, s.server.GetDashboard),
		"metrics": only(endpoint{allow: "GET,HEAD", access: metricsReader, scrape: true,
			get: s.server.GetMetrics}),
		"_debug": {{[]string{"pprof", "..."}, endpoint{allow: "GET,HEAD", access: serverAdmin,
			get: s.server.GetProfile}}},
		"_node":      s.nodeEndpoints(),
		"_replicate": only(endpoint{allow: "POST", access: anyone, post: s.replicas.Replicate}),
		"_scheduler": {{[]string{"..."}, endpoint{allow: "GET,HEAD", access: serverAdmin,
			get: s.replicas.Scheduler}}},
		"_db_updates": only(endpoint{allow: "GET", access: s.gate.updatesReader, get: s.feeds.DatabaseUpdates}),
		"_reshard":    all(serverAdmin, refuse(errNoReshard)),

		"_search_analyze":  all(serverAdmin, noSearch),
		"_nouveau_analyze": all(serverAdmin, noNouveau),
		"_reload_query_servers": only(endpoint{
			allow: "POST", access: serverAdmin, post: func(q *call.Request) error { return q.SendOK(http.StatusOK) },
		}),
	}
}

func (s *Server) databaseEndpoints() map[string][]tail {
	post := func(a access, h handler) []tail { return only(endpoint{allow: "POST", access: a, post: h}) }
	rows := func(h, queries handler) []tail {
		return []tail{
			{nil, endpoint{allow: "GET,HEAD,POST", access: s.gate.databaseMember, get: h, post: h}},
			{[]string{"queries"}, endpoint{allow: "POST", access: s.gate.databaseMember, post: queries}},
		}
	}
	return map[string][]tail{
		"_all_docs":           rows(s.rows.AllDocs, s.rows.AllDocsQueries),
		"_design_docs":        rows(s.rows.AllDocs, s.rows.AllDocsQueries),
		"_local_docs":         rows(s.rows.AllDocs, s.rows.AllDocsQueries),
		"_bulk_docs":          post(s.gate.databaseMember, s.bulk.BulkDocs),
		"_bulk_get":           post(s.gate.databaseMember, s.bulk.BulkGet),
		"_revs_diff":          post(s.gate.databaseMember, s.bulk.RevsDiff),
		"_missing_revs":       post(s.gate.databaseMember, s.bulk.MissingRevs),
		"_purge":              post(s.gate.adminOfServer, s.bulk.Purge),
		"_ensure_full_commit": post(s.gate.databaseMember, s.databases.EnsureFullCommit),
		"_view_cleanup":       post(s.gate.databaseAdmin, s.databases.ViewCleanup),
		"_temp_view": only(everyMethod(s.gate.databaseMember,
			refuse(&fault.Fault{Status: 410, Name: "gone", Reason: "Temporary views are not supported in CouchDB"}))),
		// There are no replicas to synchronize.
		"_sync_shards": post(s.gate.adminOfServer,
			func(q *call.Request) error { return q.SendOK(http.StatusAccepted) }),
		"_compact": {
			{nil, endpoint{allow: "POST", access: s.gate.databaseAdmin, post: s.databases.Compact}},
			{[]string{"*"}, endpoint{allow: "POST", access: s.gate.databaseAdmin, post: s.databases.CompactIndex}},
		},
		"_security": only(endpoint{
			allow: "PUT,GET", access: s.gate.databaseMember, limit: s.atMost(layer.MaxSecurity),
			get: s.databases.GetSecurity, put: s.databases.PutSecurity,
		}),
		"_revs_limit": only(endpoint{
			allow: "PUT,GET", access: s.gate.databaseMember, limit: s.atMost(maxCommand),
			get: s.databases.GetRevsLimit, put: s.databases.PutRevsLimit,
		}),
		"_find": only(endpoint{allow: "POST", access: s.gate.databaseMember, limit: s.atMost(find.MaxBody),
			post: s.find.Find}),
		"_explain": only(endpoint{allow: "POST", access: s.gate.databaseMember, limit: s.atMost(find.MaxBody),
			post: s.find.Explain}),
		"_index": {
			{nil, endpoint{allow: "GET,POST", access: s.gate.databaseMember, limit: s.atMost(find.MaxBody),
				get: s.find.ListIndexes, post: s.find.CreateIndex}},
			{[]string{"_bulk_delete"}, endpoint{allow: "POST", access: s.gate.databaseMember,
				limit: s.atMost(find.MaxBody), post: s.find.DeleteIndexes}},
			{[]string{"*", "*", "*"}, endpoint{allow: "DELETE", access: s.gate.databaseMember,
				delete: s.find.DeleteIndex}},
			{[]string{"_design", "*", "*", "*"}, endpoint{allow: "DELETE", access: s.gate.databaseMember,
				delete: s.find.DeleteIndex}},
			{[]string{"..."}, everyMethod(s.gate.databaseMember, refuse(fault.NotFound("missing")))},
		},
		"_partition":    {{[]string{"..."}, everyMethod(s.gate.databaseMember, s.partition)}},
		"_purged_infos": only(endpoint{allow: "GET", access: s.gate.databaseMember, get: s.bulk.PurgedInfos}),
		"_purged_infos_limit": only(endpoint{
			allow: "PUT,GET", access: s.gate.databaseMember, limit: s.atMost(maxCommand),
			get: s.databases.GetPurgesLimit, put: s.databases.PutPurgesLimit,
		}),
		"_auto_purge": all(s.gate.adminOfServer, missing),

		"_search_cleanup": all(s.gate.databaseMember, noSearch),
		"_nouveau_cleanup": post(s.gate.databaseMember, // without an index there is nothing to remove
			func(q *call.Request) error { return q.SendOK(http.StatusAccepted) }),

		"_export": only(endpoint{allow: "GET", access: s.gate.adminOfServer, get: s.databases.ExportDatabase}),
		"_import": only(endpoint{allow: "POST", access: serverAdmin, limit: unlimited,
			post: s.databases.ImportDatabase}),
		"_changes": {
			{nil, endpoint{allow: "GET,POST,HEAD", access: s.gate.databaseMember, get: s.feeds.Changes,
				post: s.feeds.Changes}},
			{[]string{"_meta"}, endpoint{allow: "GET,HEAD", access: s.gate.databaseMember, get: s.feeds.ShardMaps}},
			{[]string{"_reshard"},
				endpoint{allow: "POST", access: s.gate.databaseAdmin, limit: s.atMost(maxCommand),
					post: s.feeds.Reshard}},
			{[]string{"*"}, endpoint{allow: "GET,POST,HEAD", access: s.gate.databaseMember, get: s.feeds.Changes,
				post: s.feeds.Changes}},
		},
		"_shards": {
			{nil, endpoint{allow: "GET", access: s.gate.databaseMember, get: s.server.Shards}},
			{[]string{"*"}, endpoint{allow: "GET", access: s.gate.databaseMember, get: s.server.Shards}},
		},
	}
}

func (s *Server) designEndpoints() map[string][]tail {
	anyMethod := func(h handler) []tail {
		return all(s.gate.databaseMember, h)
	}
	return map[string][]tail{
		"_search":           all(s.gate.databaseMember, noSearch),
		"_search_info":      all(s.gate.databaseMember, noSearch),
		"_search_disk_size": all(s.gate.databaseMember, noSearch),
		"_nouveau":          all(s.gate.databaseMember, noNouveau),
		"_nouveau_info":     all(s.gate.databaseMember, noNouveau),

		"_show":    anyMethod(s.functions.Show),
		"_update":  anyMethod(s.functions.Update),
		"_rewrite": anyMethod(s.functions.Rewrite),
		"_list": {{[]string{"..."}, endpoint{allow: "GET,POST,HEAD", access: s.gate.databaseMember,
			get: s.functions.List, post: s.functions.List}}},
		"_info":   only(endpoint{allow: "GET", access: s.gate.databaseMember, get: s.rows.DesignInfo}),
		"_errors": only(endpoint{allow: "GET,HEAD", access: s.gate.databaseMember, get: s.rows.DesignErrors}),
		"_view": {
			{[]string{"*"}, endpoint{allow: "GET,POST,HEAD", access: s.gate.databaseMember, get: s.rows.View,
				post: s.rows.View}},
			{[]string{"*", "queries"}, endpoint{allow: "POST", access: s.gate.databaseMember,
				post: s.rows.ViewQueries}},
			{[]string{"..."}, endpoint{allow: "GET,POST,HEAD", access: s.gate.databaseMember}},
		},
	}
}
