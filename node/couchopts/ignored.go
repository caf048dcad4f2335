package couchopts

// Options that set-up scripts may set although they have no effect here: what they tune does not exist, or is done by
// something else. None of them changes what a client is answered.
var ignoredOptions = []Option{
	ignored("couchdb", "single_node", "a node needs no set-up, and creates `_users` and `_replicator` when needed"),
	ignored("couchdb", "max_dbs_open", "a database is not a file"),
	ignored("couchdb", "file_compression", "see `storage.compression`"),
	ignored("couchdb", "attachment_stream_buffer_size", ""),
	ignored("couchdb", "attachment_writer_timeout", "attachments have one writer"),
	ignored("couchdb", "btree_chunk_size", ""),
	ignored("couchdb", "changes_doc_ids_optimization_threshold", ""),
	ignored("couchdb", "compaction_log_level", ""),
	ignored("couchdb", "default_engine", "see `storage.engine`"),
	ignored("couchdb", "delayed_commits", "every write is durable when it is answered"),
	ignored("couchdb", "js_engine", "functions run in QuickJS"),
	ignored("couchdb", "stem_interactive_updates", ""),
	ignored("couchdb", "update_lru_on_read", ""),
	ignored("couchdb", "use_cfile", ""),
	ignored("couchdb", "cfile_skip_ioq", ""),
	ignored("couchdb", "write_xxhash_checksums", ""),
	ignored("cluster", "n", "the store decides how many copies there are"),
	ignored("cluster", "q", "documents are not divided into shards; see `changes.default_shards`"),
	ignored("cluster", "placement", ""),
	ignored("cluster", "reconnect_interval_sec", ""),
	ignored("chttpd", "backlog", ""),
	ignored("chttpd", "bulk_get_use_batches", ""),
	ignored("chttpd", "disconnect_check_msec", "a request ends with its connection"),
	ignored("chttpd", "disconnect_check_jitter_msec", ""),
	ignored("chttpd", "docroot", "see `http.utils`"),
	ignored("chttpd", "server_options", "see the settings of `http`"),
	ignored("chttpd", "socket_options", ""),
	ignored("chttpd_auth", "auth_cache_size", ""),
	ignored("chttpd_auth_cache", "*", ""),
	ignored("couch_passwords_cache", "*", ""),
	ignored("custodian", "*", ""),
	ignored("ddoc_cache", "*", ""),
	ignored("disk_monitor", "*", "the node watches its disk itself"),
	ignored("fabric", "*", ""),
	ignored("global_changes", "*", "what happens to databases is recorded once there is a database `_global_changes`"),
	ignored("ioq", "*", ""),
	ignored("ioq.bypass", "*", ""),
	ignored("log", "max_message_size", ""),
	ignored("log", "strip_last_msg", ""),
	ignored("log", "filter_fields", ""),
	ignored("mango", "index_all_disabled", "there are no text indexes"),
	ignored("mem3", "*", ""),
	ignored("off_heap_mqd", "*", ""),
	ignored("process_priority", "*", ""),
	ignored("prometheus", "interval", "metrics are read when they are requested"),
	ignored("purge", "index_lag_warn_seconds", ""),
	ignored("query_server_config", "commit_freq", ""),
	ignored("query_server_config", "db_tag", ""),
	ignored("query_server_config", "group_info_timeout", ""),
	ignored("query_server_config", "os_process_idle_limit", ""),
	ignored("query_server_config", "os_process_limit", "there are as many JavaScript runtimes as processors need"),
	ignored("query_server_config", "os_process_soft_limit", ""),
	ignored("replicator", "cluster_start_period", ""),
	ignored("replicator", "priority_coeff", ""),
	ignored("replicator", "socket_options", ""),
	ignored("replicator", "startup_jitter", "replications begin at once"),
	ignored("replicator", "usage_coeff", ""),
	ignored("replicator", "valid_endpoint_protocols_log", ""),
	ignored("replicator", "valid_socket_options", ""),
	ignored("replicator", "verify_ssl_certificates_log", ""),
	ignored("replicator.shares", "*", ""),
	ignored("reshard", "*", "documents are not divided into shards"),
	ignored("rexi", "*", ""),
	ignored("smoosh", "*", "see the settings of `compaction`"),
	ignored("smoosh.*", "*", ""),
	ignored("compactions", "*", "as in CouchDB 3"),
	ignored("compaction_daemon", "*", "as in CouchDB 3"),
	ignored("stats", "*", ""),
	ignored("view_compaction", "*", ""),
	ignored("view_updater", "*", ""),
	ignored("view_upgrade", "*", "an index in the order of another version is rebuilt"),
}

func ignored(section, key, text string) Option {
	return Option{Section: section, Key: key, None: true, Ignored: true, Text: text, check: checkText}
}

// Options that only have the value that is done here. Scripts may set that value; another one is refused, because
// whoever sets it expects what this server does not do.
var givenOptions = []Option{
	given("chttpd", "buffer_response", "false", "answers are sent while they are made"),
	given("chttpd", "rewrite_limit", "100", ""),
	given("chttpd", "scrub_json_request", "true", "functions of design documents get no credentials"),
	given("chttpd", "secure_rewrites", "true", ""),
	given("couchdb", "enable_database_recovery", "false", "a deleted database is gone; make backups"),
	given("couchdb", "maintenance_mode", "false", "a signal drains a node (docs/operations.md)"),
	given("couch_peruser", "enable", "false", "databases of users are not created"),
	given("couch_peruser", "delete_dbs", "false", ""),
	given("nouveau", "enable", "false", "there is no full-text search"),
	given("prometheus", "additional_port", "false", "see `http.metrics_token`"),
	given("replicator", "request_timeout", "infinity", "see `replicator/connection_timeout`"),
}

func given(section, key, value, text string) Option {
	return Option{Section: section, Key: key, Default: value, None: true, Given: true, Text: text,
		check: func(v string) string {
			if v != value {
				return "it can only be " + value
			}
			return ""
		}}
}
