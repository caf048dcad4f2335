-- Queries of DuckDB's postgres extension when it attaches and scans, without OIDs, which differ between servers.
SELECT version() LIKE 'PostgreSQL 15%', (SELECT COUNT(*) FROM pg_settings WHERE name LIKE 'rds%')
BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY
SELECT relname, attname, pg_type.typname type_name, atttypmod type_modifier, pg_attribute.attndims ndim, attnum, NULL constraint_id, type_ns.nspname AS type_schema, col_desc.description AS column_comment FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid JOIN pg_attribute ON pg_class.oid=pg_attribute.attrelid JOIN pg_type ON atttypid=pg_type.oid JOIN pg_namespace type_ns ON pg_type.typnamespace = type_ns.oid LEFT JOIN pg_description col_desc ON col_desc.objoid=pg_class.oid AND col_desc.objsubid=pg_attribute.attnum WHERE attnum > 0 AND relkind IN ('r', 'v', 'm', 'f', 'p') AND pg_namespace.nspname IN ('public') AND relname='docs' UNION ALL SELECT relname, NULL attname, NULL type_name, NULL type_modifier, NULL ndim, NULL attnum, pg_constraint.oid AS constraint_id, NULL, NULL FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid JOIN pg_constraint ON (pg_class.oid=pg_constraint.conrelid) WHERE relkind IN ('r', 'v', 'm', 'f', 'p') AND contype IN ('u') AND relname='docs' ORDER BY relname, attnum, constraint_id
SELECT n.nspname, enumtypid, typname, enumlabel FROM pg_enum e JOIN pg_type t ON e.enumtypid = t.oid JOIN pg_namespace AS n ON (typnamespace=n.oid) WHERE n.nspname = 'public' ORDER BY n.oid, enumtypid, enumsortorder
SELECT n.nspname, t.typname as type, pg_attribute.attname, sub_type.typname FROM pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace JOIN pg_class ON pg_class.oid = t.typrelid JOIN pg_attribute ON attrelid=t.typrelid JOIN pg_type sub_type ON (pg_attribute.atttypid=sub_type.oid) WHERE pg_class.relkind = 'c' AND t.typtype='c' AND n.nspname = 'public' ORDER BY n.oid, t.oid, attrelid, attnum
SELECT indexname FROM pg_indexes JOIN pg_namespace ON (schemaname=nspname) WHERE nspname = 'nope' ORDER BY pg_namespace.oid
SELECT pg_is_in_recovery(), length(pg_export_snapshot()) > 0, (select count(*) from pg_stat_wal_receiver)
SELECT "id" FROM "public"."docs" ORDER BY id LIMIT 3
COMMIT
-- differs: rows have no ctid; relpages is 0, so DuckDB does not begin such a scan
SELECT count(*) FROM "public"."docs" WHERE ctid BETWEEN '(0,0)'::tid AND '(4294967295,0)'::tid
SELECT to_regclass('nope'), to_regclass('public.nope')
SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()
-- Superset, Grafana and Metabase, without the queries of their drivers.
SELECT nspname FROM pg_namespace WHERE nspname IN ('public', 'by') ORDER BY nspname
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind in ('r', 'p') AND c.relname = 'docs'
SELECT "source"."v" AS "v", COUNT(*) AS "count" FROM (SELECT "public"."docs"."doc" #>> array['nested', 'v']::text[] AS "v" FROM "public"."docs") AS "source" WHERE "source"."v" IN ('1', '2') GROUP BY "source"."v" ORDER BY "source"."v" ASC
SET SESSION TIMEZONE TO 'Europe/Oslo'
SELECT DATE_TRUNC('day', CAST('2024-03-31 12:00:00+00' AS timestamptz)), CAST('2024-03-31 12:00:00+00' AS timestamptz) AT TIME ZONE 'UTC'
SET SESSION TIMEZONE TO 'UTC'
SELECT date_trunc('month', timestamp '2024-03-31 12:00:00'), CAST(extract(dow from timestamp '2024-03-31 12:00:00') AS integer), floor(extract(epoch from timestamptz '2024-01-01 00:10:00Z')/300)*300
SELECT 1 AS "_", has_table_privilege('public.docs', 'SELECT'), has_schema_privilege('public', 'USAGE'), has_database_privilege(current_database(), 'CONNECT')
SHOW TRANSACTION ISOLATION LEVEL
SELECT current_setting('server_version_num')::int / 10000, current_setting('TimeZone'), current_setting('nope', true)
-- pgAdmin's properties of a server, of tables and of functions.
SELECT CASE WHEN usesuper THEN pg_is_in_recovery() ELSE FALSE END as inrecovery, CASE WHEN usesuper AND pg_is_in_recovery() THEN pg_is_wal_replay_paused() ELSE FALSE END as isreplaypaused FROM pg_user WHERE usename=current_user
SELECT pg_is_wal_replay_paused()
SELECT name, setting FROM pg_show_all_settings() WHERE name IN ('standard_conforming_strings', 'integer_datetimes') ORDER BY name
SELECT rel.relname, (CASE WHEN length(spc.spcname) > 0 THEN spc.spcname ELSE (SELECT sp.spcname FROM pg_database dtb JOIN pg_tablespace sp ON dtb.dattablespace = sp.oid WHERE dtb.datname = current_database()) END) AS spcname, (SELECT count(*) FROM pg_trigger WHERE tgrelid = rel.oid AND tgisinternal = FALSE) AS triggercount, (substring(array_to_string(rel.reloptions, ',') FROM 'fillfactor=([0-9]*)')) AS fillfactor, (CASE WHEN (SELECT setting FROM pg_show_all_settings() WHERE name = 'nope') IS NULL THEN 'unset' END) AS autovacuum FROM pg_class rel LEFT OUTER JOIN pg_tablespace spc ON spc.oid = rel.reltablespace WHERE rel.relkind IN ('r', 's', 't', 'p') AND rel.relname = 'docs' AND rel.relnamespace = 'public'::regnamespace
SELECT oidvectortypes('23 25'::oidvector), oidvectortypes(''::oidvector), (SELECT count(*) FROM pg_available_extensions() WHERE name = 'nope')
-- psqlodbc's SQLPrimaryKeys, in whose FROM the first two relations have no common condition.
select ta.attname, ia.attnum, ic.relname, n.nspname, tc.relname from pg_catalog.pg_attribute ta, pg_catalog.pg_attribute ia, pg_catalog.pg_class tc, pg_catalog.pg_index i, pg_catalog.pg_namespace n, pg_catalog.pg_class ic where tc.relname = 'nope' AND n.nspname = 'public' AND tc.oid = i.indrelid AND n.oid = tc.relnamespace AND i.indisprimary = 't' AND ia.attrelid = i.indexrelid AND ta.attrelid = i.indrelid AND ta.attnum = i.indkey[ia.attnum-1] AND (NOT ta.attisdropped) AND (NOT ia.attisdropped) AND ic.oid = i.indexrelid order by ia.attnum
SELECT a.g, b.g, c.g FROM generate_series(1, 300) a(g), generate_series(1, 300) b(g), generate_series(1, 300) c(g) WHERE c.g = a.g AND c.g = b.g + 298 AND a.g > 0 ORDER BY 1
SELECT a.v, b.v, c.v, d.v FROM (VALUES (1), (2), (3)) a(v), (VALUES (2), (3), (NULL)) b(v) LEFT JOIN (VALUES (3), (NULL)) d(v) ON d.v = b.v, (VALUES (2), (3), (4)) c(v) WHERE a.v = c.v AND b.v = c.v AND 1 = 1 AND EXISTS (SELECT 1 WHERE a.v > 1) ORDER BY 1
SELECT count(*) FROM (VALUES (1), (2)) a(v), (VALUES (1), (3)) b(v), (VALUES (1), (2), (3)) c(v) WHERE a.v + b.v = c.v OR c.v = 1
SELECT * FROM (VALUES (1, 'a')) a(v, w), (VALUES (2, 'b')) b(v, w), (VALUES (1, 2)) c(x, y) WHERE c.x = a.v AND c.y = b.v
-- Npgsql when it resets a pooled connection.
SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();DISCARD SEQUENCES;DISCARD TEMP
-- Options that are not as they should be, and names that are not where they may be.
SELECT 1 = ANY (1)
EXPLAIN (ANALYZE maybe) SELECT 1
EXPLAIN (TIMING) SELECT 1
EXPLAIN (WAL) SELECT 1
SET application_name = a, b
COPY (SELECT 1) TO STDOUT (FORMAT binary, DELIMITER ',')
SELECT x FROM generate_series(1,5) x LIMIT x
SELECT x FROM generate_series(1,5) x OFFSET x + 1
SELECT x FROM generate_series(1,5) x LIMIT nope
WITH t(a, b) AS (SELECT 1) SELECT a FROM t
SELECT DISTINCT ON (x%3) x FROM generate_series(1,10) x ORDER BY x
SELECT DISTINCT x FROM generate_series(1,3) x ORDER BY x+1
SELECT grouping(x+1) FROM generate_series(1,3) x GROUP BY x
-- Schemas that do not exist.
SELECT * FROM nosuch.t
SELECT * FROM nosuch.docs
SELECT nosuch.f(1)
SELECT 1::nosuch.t
SELECT 'x'::nosuch.t[]
SELECT nosuch.t.c FROM docs
SELECT 'nosuch.t'::regclass
SELECT to_regclass('nosuch.t')
SELECT 'nosuch'::regnamespace
SELECT 'nosuch.f'::regproc
SELECT 'nosuch.t'::regtype
SELECT 1 OPERATOR(nosuch.+) 1
SELECT 'a' COLLATE nosuch."C"
SELECT 'a' COLLATE nosuch
SELECT txid_current() = txid_current(), txid_current() > 0, pg_typeof(txid_current())
BEGIN
SELECT set_config('my.transaction', txid_current()::text, false) IS NULL
SELECT pg_sleep(0.01)
SELECT current_setting('my.transaction')::bigint = txid_current()
COMMIT
SELECT current_setting('my.transaction')::bigint < txid_current()
select case when pg_catalog.pg_is_in_recovery() then null else (pg_catalog.txid_current() % 4294967296)::varchar::bigint end is null as current_txid
SELECT pg_conf_load_time() <= now(), pg_typeof(pg_jit_available()), pg_trigger_depth()
SELECT lastval()
SELECT inet_server_port() IS NULL = (inet_client_port() IS NULL), inet_server_addr() IS NULL = (inet_client_addr() IS NULL)
SELECT 'array_in(cstring,oid,integer)'::regprocedure, 'int4in(cstring)'::regprocedure, 'textsend(text)'::regprocedure, 'numeric_recv(internal,oid,integer)'::regprocedure
SELECT 'array_in(cstring)'::regprocedure
SELECT 'int4in(text)'::regprocedure
SELECT t.typname FROM pg_type t WHERE t.typinput = 'array_in(cstring,oid,integer)'::regprocedure AND t.typname IN ('_int4', '_text', 'int4') ORDER BY 1
SELECT proname, proargtypes, prorettype FROM pg_proc WHERE proname IN ('int4in', 'int4out', 'int4recv', 'int4send', 'array_in', 'array_out', 'numeric_in', 'timestamptz_in', 'record_in', 'varcharin', 'jsonb_in') ORDER BY 1
select row_security_active('docs'), row_security_active('docs'::regclass), txid_current_if_assigned(), pg_safe_snapshot_blocking_pids(0)
-- DuckDB's extension since 2026: whether a schema has changed, what a type is made of, and drivers that emulate PostgreSQL.
SELECT relname, pg_class.xmin IS NOT NULL FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid WHERE relkind IN ('r', 'v', 'm', 'f', 'p') AND pg_namespace.nspname = 'public' AND relname = 'docs' ORDER BY pg_class.oid
SELECT pg_attribute.attname, sub_type.typname, sub_type_ns.nspname AS sub_type_schema FROM pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace JOIN pg_class ON pg_class.oid = t.typrelid JOIN pg_attribute ON attrelid = t.typrelid JOIN pg_type sub_type ON pg_attribute.atttypid = sub_type.oid JOIN pg_catalog.pg_namespace sub_type_ns ON sub_type_ns.oid = sub_type.typnamespace WHERE pg_class.relkind IN ('c', 'r', 'v', 'm', 'f', 'p') AND t.typtype = 'c' AND pg_attribute.attnum > 0 AND NOT pg_attribute.attisdropped AND n.nspname = 'public' AND t.typname = 'docs' ORDER BY n.oid, t.oid, attrelid, attnum
SELECT version() LIKE 'PostgreSQL 15%', (SELECT COUNT(*) FROM pg_settings WHERE name LIKE 'rds%')
SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()
SELECT NULL, NULL, NULL, NULL LIMIT 0
-- DBeaver's privileges, settings of roles, and the columns that a sequence feeds.
SELECT * FROM ( SELECT DISTINCT relnamespace, relacl, relname, relkind, (aclexplode(relacl)).grantee AS granteei FROM pg_class WHERE relacl IS NOT NULL AND relnamespace NOT IN ( SELECT oid FROM pg_namespace WHERE nspname IN ('pg_catalog', 'information_schema'))) AS tr WHERE granteei = 10
SELECT DISTINCT g.* FROM ( SELECT *, (aclexplode(defaclacl)).grantee AS grantee FROM pg_default_acl a WHERE a.defaclnamespace <> 0) AS g WHERE g.grantee = 10
SELECT s.setconfig, pd.datname FROM pg_catalog.pg_db_role_setting s LEFT JOIN pg_catalog.pg_database pd ON s.setdatabase = pd.oid WHERE s.setrole = 10
SELECT c.relname, a.attname, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON a.attrelid = c.oid LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid WHERE NOT a.attisdropped AND a.attnum > 0 AND c.oid = 'docs'::regclass ORDER BY a.attnum
SELECT DISTINCT srvname, CASE WHEN rolname IS NULL THEN 'public' ELSE rolname END rolname, srvoptions, umoptions FROM pg_user_mapping um JOIN pg_foreign_server fs ON um.umserver = fs.oid LEFT JOIN pg_authid pa ON um.umuser = pa.oid WHERE fs.oid = 1 ORDER BY srvname
SELECT DISTINCT i.indexrelid::regclass, EXISTS (SELECT 1 FROM pg_depend dep JOIN pg_constraint co ON dep.refobjid = co.oid AND dep.refclassid = 'pg_constraint'::regclass WHERE dep.objid = i.indexrelid AND dep.deptype = 'i') AS of_constraint FROM pg_index i WHERE i.indrelid = 'docs'::regclass
