package api

import (
	"net/http"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
)

// endpoint is what can be asked under one path.
type endpoint struct {
	allow  string // CouchDB's Allow header, in CouchDB's order
	access access
	// login marks /_session and the probes: reachable whatever credentials a client brings.
	login                        bool
	tells                        bool      // GET tells who the client is, so that wrong credentials are an error of it
	limit                        bodyLimit // of the bodies of PUT and POST; nil: Limits.Request
	get, put, post, delete, copy handler
	any                          handler // instead of all of them
}

type handler func(q *request) error

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

// tail is what follows the segment by which an endpoint was found; a star is any one segment, a last "..." any number of them, also none.
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

func find(tails []tail, path []string) *endpoint {
	for i := range tails {
		if tails[i].matches(path) {
			return &tails[i].endpoint
		}
	}
	return nil
}

// route finds the endpoint of a path. There always is one: what no table knows is a database, a document or an attachment.
func route(path []string) *endpoint {
	if len(path) == 0 {
		return &welcome
	}
	if tails, ok := serverTable[path[0]]; ok {
		if e := find(tails, path[1:]); e != nil {
			return e
		}
		return &nothingHere
	}
	if len(path) == 1 {
		return &database
	}
	if tails, ok := databaseTable[path[1]]; ok {
		if e := find(tails, path[2:]); e != nil {
			return e
		}
	}
	switch {
	case path[1] == "_design":
		return routeDesign(path)
	case path[1] == "_local":
		return routeLocal(path)
	case len(path) == 2:
		return &document
	}
	return &attachment
}

func routeDesign(path []string) *endpoint {
	if len(path) > 3 {
		if tails, ok := designTable[path[3]]; ok {
			if e := find(tails, path[4:]); e != nil {
				return e
			}
			return &nothingInDatabase
		}
		return &attachment
	}
	return &document
}

func routeLocal(path []string) *endpoint {
	switch len(path) {
	case 2:
		return &localWithoutName
	case 3:
		return &document
	}
	return &localAttachment
}

func refuse(err error) handler { return func(*request) error { return err } }

func everyMethod(a access, h handler) endpoint {
	return endpoint{access: a, any: h}
}

var (
	nothingHere       = everyMethod(serverAdmin, refuse(notFound("missing")))
	nothingInDatabase = everyMethod(databaseMember, refuse(notFound("missing")))
	localWithoutName  = everyMethod(databaseMember, refuse(badRequest("Invalid _local document id.")))
	localAttachment   = everyMethod(databaseMember, refuse(badRequest("_local documents do not accept attachments.")))
)

// The endpoints that are no table rows. They are set in init because handlers and table refer to each other.
var welcome, database, document, attachment endpoint

// serverTable is by the first segment of the path, databaseTable by the second, designTable by the one after the design document's name.
var serverTable, databaseTable, designTable map[string][]tail

func init() {
	welcome = endpoint{allow: "GET,HEAD", access: anyone, get: (*request).welcome}
	database = endpoint{
		allow: "DELETE,GET,HEAD,POST", access: databaseAccess, limit: (*request).documentLimit,
		get: (*request).databaseInfo, put: (*request).createDatabase, delete: (*request).deleteDatabase, post: (*request).postDocument,
	}
	document = endpoint{
		allow: "DELETE,GET,HEAD,PUT,COPY", access: databaseMember, limit: (*request).documentBodyLimit,
		get: (*request).getDocument, put: (*request).putDocument, delete: (*request).deleteDocument, copy: (*request).copyDocument,
	}
	attachment = endpoint{
		allow: "DELETE,GET,HEAD,PUT", access: databaseMember, limit: (*request).attachmentLimit,
		get: (*request).getAttachment, put: (*request).putAttachment, delete: (*request).deleteAttachment,
	}
	serverTable = serverEndpoints()
	databaseTable = databaseEndpoints()
	designTable = designEndpoints()
}

// missing is an endpoint of CouchDB that is not here: 501 says more than the document of that name would.
func missing(a access) []tail {
	return []tail{{[]string{"..."}, everyMethod(a, refuse(&layer.Error{Kind: layer.NotImplemented}))}}
}

// only is a table row without a tail.
func only(e endpoint) []tail { return []tail{{endpoint: e}} }

func serverEndpoints() map[string][]tail {
	get := func(a access, h handler) []tail { return only(endpoint{allow: "GET,HEAD", access: a, get: h}) }
	probe := func(h handler) []tail {
		return only(endpoint{allow: "GET,HEAD", access: anyone, login: true, get: h})
	}
	return map[string][]tail{
		"_up":      probe((*request).up),
		"livez":    probe((*request).alive),
		"readyz":   probe((*request).up),
		"_uuids":   only(endpoint{allow: "GET", access: anyone, get: (*request).newUUIDs}),
		"_utils":   {{[]string{"..."}, endpoint{allow: "GET,HEAD", access: anyone, get: (*request).utils}}},
		"_all_dbs": get(databaseLister, (*request).allDatabases),
		"_dbs_info": only(endpoint{
			allow: "GET,HEAD,POST", access: databaseLister, get: (*request).allDatabaseInfos, post: (*request).databaseInfos,
		}),
		"_session": only(endpoint{
			allow: "GET,HEAD,POST,DELETE", access: anyone, login: true, tells: true, limit: atMost(auth.MaxLogin),
			get: (*request).session, post: (*request).session, delete: (*request).session,
		}),
		"_membership":   only(endpoint{allow: "GET", access: serverAdmin, get: (*request).membership}),
		"_members":      get(serverAdmin, (*request).members),
		"_actors":       get(serverAdmin, (*request).actors),
		"_active_tasks": get(serverAdmin, (*request).activeTasks),
		"_backup": only(endpoint{allow: "POST", access: serverAdmin, limit: atMost(maxCommand),
			post: (*request).backup}),
		"_verify": only(endpoint{allow: "POST", access: serverAdmin, limit: atMost(maxCommand),
			post: (*request).verify}),
		"_dashboard":  {{[]string{"..."}, everyMethod(serverAdmin, (*request).dashboard)}},
		"metrics":     get(metricsReader, (*request).metrics),
		"_node":       nodeEndpoints(),
		"_replicate":  missing(serverAdmin),
		"_scheduler":  missing(serverAdmin),
		"_db_updates": missing(serverAdmin),
		"_reload_query_servers": only(endpoint{
			allow: "POST", access: serverAdmin, post: func(q *request) error { return q.sendOK(http.StatusOK) },
		}),
	}
}

func databaseEndpoints() map[string][]tail {
	post := func(a access, h handler) []tail { return only(endpoint{allow: "POST", access: a, post: h}) }
	rows := func(h, queries handler) []tail {
		return []tail{
			{nil, endpoint{allow: "GET,HEAD,POST", access: databaseMember, get: h, post: h}},
			{[]string{"queries"}, endpoint{allow: "POST", access: databaseMember, post: queries}},
		}
	}
	return map[string][]tail{
		"_all_docs":           rows((*request).allDocs, (*request).allDocsQueries),
		"_design_docs":        rows((*request).allDocs, (*request).allDocsQueries),
		"_local_docs":         rows((*request).allDocs, (*request).allDocsQueries),
		"_bulk_docs":          post(databaseMember, (*request).bulkDocs),
		"_bulk_get":           post(databaseMember, (*request).bulkGet),
		"_revs_diff":          post(databaseMember, (*request).revsDiff),
		"_missing_revs":       post(databaseMember, (*request).missingRevs),
		"_purge":              post(adminOfServer, (*request).purge),
		"_ensure_full_commit": post(databaseMember, (*request).ensureFullCommit),
		"_view_cleanup":       post(databaseAdmin, (*request).viewCleanup),
		"_temp_view":          only(everyMethod(databaseMember, refuse(&fault{status: 410, name: "gone", reason: "Temporary views are not supported in CouchDB"}))),
		"_sync_shards":        post(adminOfServer, func(q *request) error { return q.sendOK(http.StatusAccepted) }), // there are no copies to bring together
		"_compact": {
			{nil, endpoint{allow: "POST", access: databaseAdmin, post: (*request).compact}},
			{[]string{"*"}, endpoint{allow: "POST", access: databaseAdmin, post: (*request).compactIndex}},
		},
		"_security": only(endpoint{
			allow: "PUT,GET", access: databaseMember, limit: atMost(layer.MaxSecurity),
			get: (*request).getSecurity, put: (*request).putSecurity,
		}),
		"_revs_limit": only(endpoint{
			allow: "PUT,GET", access: databaseMember, limit: atMost(maxCommand),
			get: (*request).getRevsLimit, put: (*request).putRevsLimit,
		}),
		"_find":         missing(databaseMember),
		"_index":        missing(databaseMember),
		"_explain":      missing(databaseMember),
		"_partition":    {{[]string{"..."}, everyMethod(databaseMember, (*request).partition)}},
		"_purged_infos": only(endpoint{allow: "GET", access: databaseMember, get: (*request).purgedInfos}),
		"_purged_infos_limit": only(endpoint{
			allow: "PUT,GET", access: databaseMember, limit: atMost(maxCommand),
			get: (*request).getPurgesLimit, put: (*request).putPurgesLimit,
		}),
		"_auto_purge": missing(adminOfServer),
		"_export":     only(endpoint{allow: "GET", access: adminOfServer, get: (*request).exportDatabase}),
		"_import":     only(endpoint{allow: "POST", access: serverAdmin, limit: unlimited, post: (*request).importDatabase}),
		"_changes": {
			{nil, endpoint{allow: "GET,POST,HEAD", access: databaseMember, get: (*request).changes, post: (*request).changes}},
			{[]string{"_meta"}, endpoint{allow: "GET,HEAD", access: databaseMember, get: (*request).shardMaps}},
			{[]string{"_reshard"},
				endpoint{allow: "POST", access: databaseAdmin, limit: atMost(maxCommand), post: (*request).reshard}},
			{[]string{"*"}, endpoint{allow: "GET,POST,HEAD", access: databaseMember, get: (*request).changes, post: (*request).changes}},
		},
		"_shards": {
			{nil, endpoint{allow: "GET", access: databaseMember, get: (*request).shards}},
		},
	}
}

func designEndpoints() map[string][]tail {
	return map[string][]tail{
		"_info":   only(endpoint{allow: "GET", access: databaseMember, get: (*request).designInfo}),
		"_errors": only(endpoint{allow: "GET,HEAD", access: databaseMember, get: (*request).designErrors}),
		"_view": {
			{[]string{"*"}, endpoint{allow: "GET,POST,HEAD", access: databaseMember, get: (*request).view, post: (*request).view}},
			{[]string{"*", "queries"}, endpoint{allow: "POST", access: databaseMember, post: (*request).viewQueries}},
			{[]string{"..."}, endpoint{allow: "GET,POST,HEAD", access: databaseMember}},
		},
	}
}
