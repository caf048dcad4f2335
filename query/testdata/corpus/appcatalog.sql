-- The catalogue, settings, transactions and cursors, and functions behind operators.
-- alone
SELECT ROW('a'), ROW(1, 'a', NULL), (1, 'x'::text)
SELECT 'lower'::regproc
SELECT 'pg_typeof'::regproc, 'lower(text)'::regprocedure, 'int4'::regtype, 'docs'::regclass, 'pg_catalog'::regnamespace, 'nosuch'::regclass
SELECT 'upper'::regproc
SELECT '-NaN'::float8
SELECT pg_column_size(1), pg_column_size('abc'::text), pg_column_size(1.5::numeric), pg_column_size('{"a":1}'::jsonb), pg_column_size(array[1,2]), pg_column_size(now()), pg_column_size(NULL), pg_column_size('x'::"char"), pg_column_size(row(1,2)), pg_column_size('abc'), pg_column_size(true)
SELECT int4pl(1, 2), texteq('a', 'a'), jsonb_contains('{"a":1}', '{}'), int4eq(1,1), float8mul(2, 3), textcat('a', 'b'), numeric_add(1, 2), int8lt(1, 2), textlike('abc', 'a%'), booleq(true, true), date_pl_interval('2024-01-01', '1 day')
SELECT timestamptz_gt(now(), now()), uuid_eq(gen_random_uuid(), gen_random_uuid()), numeric_div(1, 3), int4mi(3, 1), int4mul(2,3), int4div(7,2), int4mod(7,2), int42pl(1::int, 2::int2), textregexeq('a', 'a'), texticlike('A', 'a'), array_eq(array[1], array[1]), arraycontains(array[1,2], array[1]), jsonb_eq('1', '1.0'), jsonb_lt('1', '2'), timestamp_mi(now()::timestamp, now()::timestamp) = '0', interval_pl('1 day', '1 hour'), bpchareq('a', 'a '), byteaeq('a', 'a'), nameeq('a', 'a'), oideq(1::oid, 1::oid)
SELECT nspname, relname, relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE relname = 'docs' AND nspname = 'public'
SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' AND table_name = 'docs'
SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('public', 'by', 'information_schema') ORDER BY 1
SELECT typname, typlen, typtype, typcategory, typelem::regtype, typarray::regtype, typdelim, typbyval FROM pg_type WHERE typname IN ('int4', 'text', 'jsonb', '_text', 'timestamptz') ORDER BY 1
SELECT a.attname, format_type(a.atttypid, a.atttypmod), pg_get_expr(d.adbin, d.adrelid) FROM pg_attribute a LEFT JOIN pg_attrdef d ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE a.attrelid = 'public.docs'::regclass AND a.attnum > 0 ORDER BY a.attnum
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'docs'::regclass
SELECT tc.constraint_type, kcu.column_name FROM information_schema.table_constraints tc JOIN information_schema.key_column_usage kcu USING (constraint_name, table_name, table_schema) WHERE tc.table_name = 'docs' AND tc.constraint_type = 'PRIMARY KEY'
SELECT has_table_privilege('nosuch', 'SELECT')
SELECT has_table_privilege('docs', 'FOO')
SELECT oid, typname FROM pg_type WHERE oid IN (16, 20, 23, 25, 114, 3802, 1184) ORDER BY oid
SELECT t.oid, t.typname, t.typsend::text, t.typreceive::text, t.typoutput::text, t.typinput::text FROM pg_type t WHERE t.typname IN ('int4','numeric','jsonb','timestamptz','_int4') ORDER BY 1
SELECT rolname, rolsuper, rolcanlogin FROM pg_roles WHERE rolname = current_user AND false
SELECT datname, datallowconn, pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()
SELECT name, setting FROM pg_settings WHERE name IN ('server_version_num', 'standard_conforming_strings', 'max_identifier_length', 'integer_datetimes', 'transaction_isolation') AND name <> 'server_version_num' ORDER BY 1
SELECT current_setting('server_version_num')::int / 10000, current_setting('nosuch.setting', true), current_setting('search_path'), set_config('application_name', 'x', false)
SELECT current_setting('nosuch')
SHOW nosuch
SHOW search_path
SHOW transaction_isolation
SHOW standard_conforming_strings
SET nosuch = 1
SET work_mem = '64MB'; SHOW work_mem
SET work_mem = 'lots'
SET statement_timeout = '5s'; SHOW statement_timeout
SET statement_timeout = -5
SET client_encoding = 'UTF8'; SHOW client_encoding
SET application_name = 'my app'; SHOW application_name; RESET application_name; SHOW application_name
SET search_path TO by, public; SELECT count(*) FROM v; SHOW search_path
SET LOCAL work_mem = '1MB'
SET extra_float_digits = 3; SHOW extra_float_digits
SET extra_float_digits = 30
SET my.var = 'x'; SHOW my.var; SELECT current_setting('my.var')
SET bytea_output = 'escape'; SELECT '\x0161'::bytea
SET default_transaction_isolation = 'serializable'; SHOW default_transaction_isolation
SET enable_seqscan = off; SHOW enable_seqscan
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ
BEGIN; SET LOCAL application_name = 'l'; SHOW application_name; COMMIT; SHOW application_name
BEGIN; SELECT 1/0; SELECT 2; ROLLBACK
BEGIN; SELECT 1; COMMIT; COMMIT
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM docs; SHOW transaction_isolation; END
BEGIN; SAVEPOINT a; SELECT 1/0; ROLLBACK TO a; SELECT 5; RELEASE a; COMMIT
BEGIN; SAVEPOINT a; RELEASE b
BEGIN; ROLLBACK TO SAVEPOINT nosuch
SAVEPOINT a
ROLLBACK
START TRANSACTION READ ONLY; BEGIN; COMMIT AND CHAIN; SELECT 1; ROLLBACK
BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs ORDER BY id; FETCH 2 FROM c; FETCH NEXT c; MOVE 3 IN c; FETCH FORWARD 1 FROM c; CLOSE c; COMMIT
BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT id FROM docs ORDER BY id; FETCH ALL c; FETCH c; FETCH BACKWARD 1 FROM c
BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT generate_series(1,3); COMMIT; FETCH 2 c; CLOSE c
DECLARE c CURSOR FOR SELECT 1
FETCH 1 FROM nosuch
CLOSE nosuch
CLOSE ALL
BEGIN; DECLARE c BINARY CURSOR FOR SELECT 1; FETCH c; SELECT name, is_binary, is_holdable, is_scrollable FROM pg_cursors; COMMIT
PREPARE p (int, text) AS SELECT $1 + 1, $2 || 'x'; EXECUTE p(1, 'a'); DEALLOCATE p
PREPARE p AS SELECT $1 + 1; EXECUTE p('5'); EXECUTE p(1.5)
PREPARE p (int) AS SELECT $1; EXECUTE p(1, 2)
PREPARE p AS SELECT 1; PREPARE p AS SELECT 2
EXECUTE nosuch
DEALLOCATE nosuch
DEALLOCATE ALL
PREPARE p AS SELECT id FROM docs WHERE doc->'i' = $1; EXECUTE p('3'); SELECT name, statement, parameter_types FROM pg_prepared_statements
DISCARD ALL
DISCARD PLANS
EXPLAIN (COSTS OFF, FOO) SELECT 1
EXPLAIN (FORMAT BLAH) SELECT 1
EXPLAIN (FORMAT JSON, COSTS MAYBE) SELECT 1
EXPLAIN SELECT nosuch
EXPLAIN (TIMING) SELECT 1
EXPLAIN (WAL) SELECT 1
COPY (SELECT 1, 'a,b', NULL) TO STDOUT WITH (FORMAT csv, HEADER)
COPY (SELECT id, doc->>'city' FROM docs ORDER BY id LIMIT 2) TO STDOUT
COPY docs TO STDOUT (FORMAT nosuch)
COPY nosuch TO STDOUT
COPY docs (nosuch) TO STDOUT
COPY docs FROM STDIN (FORMAT foo)
LOCK TABLE docs IN ACCESS SHARE MODE
BEGIN; LOCK TABLE docs IN ACCESS SHARE MODE; COMMIT
LOCK TABLE docs
LOCK docs IN EXCLUSIVE MODE NOWAIT
LISTEN foo; NOTIFY foo, 'x'; UNLISTEN *
NOTIFY foo
SELECT pg_notify('', 'x')
SELECT pg_advisory_lock(1), pg_try_advisory_lock(1), pg_advisory_unlock(1), pg_advisory_unlock(99)
SELECT pg_typeof(1), pg_typeof('a'), pg_typeof(NULL), pg_typeof(1.5), pg_typeof(array[1]), pg_typeof(row(1)), pg_typeof(now()), pg_typeof(current_user), pg_typeof('{}'::jsonb)
SELECT pg_size_pretty(1234567::bigint), pg_size_pretty(12345.6), pg_size_bytes('1 GB'), pg_relation_size('docs') >= 0, pg_table_is_visible('docs'::regclass), pg_get_userbyid(10) IS NOT NULL
SELECT proname, pronargs, prorettype::regtype FROM pg_proc WHERE proname = 'lower' AND proargtypes = '25'
SELECT count(*) > 10 FROM pg_operator WHERE oprname = '='
SELECT castsource::regtype, casttarget::regtype, castcontext FROM pg_cast WHERE castsource = 'int4'::regtype AND casttarget IN ('int8'::regtype, 'text'::regtype, 'bool'::regtype) ORDER BY 2
SELECT amname FROM pg_am WHERE amname = 'btree'
SELECT collname FROM pg_collation WHERE collname IN ('C', 'default', 'POSIX') ORDER BY 1
SELECT enumlabel FROM pg_enum
SELECT tablename, schemaname FROM pg_tables WHERE tablename = 'docs'
SELECT viewname FROM pg_views WHERE schemaname = 'public'
SELECT indexname FROM pg_indexes WHERE tablename = 'docs'
SELECT sequence_name FROM information_schema.sequences
SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'public'
SELECT 'docs'::regclass::oid = (SELECT oid FROM pg_class WHERE relname = 'docs' AND relkind IN ('r','v') LIMIT 1), 'docs'::regclass::text
SELECT DISTINCT 1 FROM pg_stat_activity WHERE pid = pg_backend_pid()
SELECT count(*) FROM pg_stat_user_tables WHERE relname = 'nosuch'
SELECT 1 FROM pg_locks LIMIT 0
EXPLAIN (COSTS OFF) SELECT 1
SELECT pg_column_size(1), pg_column_size('abc'::text), pg_column_size(1.5::numeric), pg_column_size('{"a":1}'::jsonb), pg_column_size(array[1,2]), pg_column_size(now()), pg_column_size(NULL), pg_column_size('x'::"char"), pg_column_size(row(1,2)), pg_column_size('abc'), pg_column_size(true)
SELECT pg_column_size('[1,"abc",{"a":[1.5,null],"bc":"d"},true]'::jsonb), pg_column_size('"x"'::jsonb), pg_column_size('{}'::jsonb), pg_column_size(array['a','bcd']), pg_column_size('{}'::int[]), pg_column_size(1e100::numeric), pg_column_size('x'::name), pg_column_size(date '2024-01-01'), pg_column_size(interval '1 day'), pg_column_size('{"a":1}'::json), pg_column_size(row('a'::text, 1, 'b'::text)), pg_column_size(array[1,NULL]), pg_column_size('NaN'::numeric), pg_column_size(12345.678)
SELECT pg_size_pretty(1234567::bigint), pg_size_pretty(12345.6), pg_size_bytes('1 GB'), pg_size_pretty(12.5), pg_size_pretty(-20480::bigint), pg_size_pretty(10239::bigint), pg_size_pretty(10240::bigint), pg_size_pretty(9223372036854775807), pg_size_pretty(1e30), pg_size_bytes('1.5MB'), pg_size_bytes('-1kb'), pg_size_bytes(' 5 '), pg_size_bytes('1e3 bytes')
SELECT pg_size_bytes('x')
SELECT pg_size_bytes('1 foo')
SELECT pg_size_bytes('')
SELECT 'lower'::regproc
SELECT '||'::regoper
SELECT 'lower'::regprocedure
SELECT 'lower(foo)'::regprocedure
SELECT 'nosuch(int)'::regprocedure
SELECT '+(int4)'::regoperator
SELECT to_regprocedure('nosuch(int)'), to_regproc('upper'), to_regoper('@@@'), to_regoperator('+(int4,text)')
SELECT ('{"1":"a"}'::jsonb)[1], ('[1,2]'::jsonb)['1'], ('[1,2]'::jsonb)[-1], ('5'::jsonb)[0], ('[[1,2]]'::jsonb)[0][1], ('{"a":null}'::jsonb)['a'][-1], ('{"a":1}'::jsonb)[NULL]
SELECT ('[1]'::jsonb)[1.5]
SELECT ('[1]'::jsonb)[0:1]
SELECT ('[1]'::json)[0]
SELECT ('[1]'::jsonb)[0::int8]
SELECT ('{"a":1}'::jsonb)['a'::varchar]
SELECT get_bit('\xff'::bytea, 3), get_bit('\xff', 3::int8)
SELECT 'x'::text(5)
SELECT 5::int4(3)
SELECT coalesce(1, 'x'::text)
SELECT coalesce(1, 2, now())
SELECT CASE WHEN true THEN 1 ELSE 'x'::text END
SELECT CASE WHEN true THEN 'x'::text WHEN false THEN 5 ELSE 1 END
SELECT array[1, 'x'::text]
VALUES (1), ('x'::text)
SELECT least(date '2024-01-01', 5)
SELECT 1 IN (1, 'x'::text)
SELECT * FROM (SELECT row('a', NULL) r) t
SELECT array_agg(row('a', x)) FROM generate_series(1,2) x
SELECT DISTINCT row(1, x) FROM generate_series(1,2) x ORDER BY 1
SELECT to_number('1.23', '9V99'), to_number('12.34', '99V99'), to_number('12.345', '99V9'), to_number('123', '9V99'), to_number('-1.5', 'S9V9')
SELECT to_number('12345', '9V99')
SELECT to_char(12, 'TH')
SELECT to_char('NaN'::numeric, '999th')
SELECT to_char(1234, '999th'), to_char(0, 'FM9th'), to_char(11, '99TH'), to_char(-3, '9th')
SELECT has_table_privilege('docs', 'SELECT, INSERT'), has_table_privilege('docs', 'select'), has_schema_privilege('public', 'usage'), has_any_column_privilege('docs', 'SELECT')
SELECT has_table_privilege('nosuch', 'SELECT')
SELECT has_table_privilege('docs', 'FOO')
SELECT has_schema_privilege('nosuch', 'USAGE')
SELECT '-NaN'::float8, '-nan'::float4, '+NaN'::float8, -'NaN'::float4, - '-NaN'::float8
SELECT '-NaN'::numeric
SELECT sign('NaN'::numeric), sign('-NaN'::float8), abs('-NaN'::float8)
SELECT trim(5)
SELECT pg_catalog.lower(1)
SELECT pg_catalog.sum('x'::text)
SELECT 'x' AT TIME ZONE 5
SELECT (1, 2) OVERLAPS (3, 4)
SELECT normalize(5)
SELECT collation for (5)
SELECT 5 IS NORMALIZED
SELECT pg_catalog.nosuch()
SELECT oprname, oprleft::regtype, oprright::regtype, oprcode::text, oprcanhash FROM pg_operator WHERE oprname IN ('@>','||') AND oprleft = 'jsonb'::regtype ORDER BY 1,2,3
SELECT count(*) > 10 FROM pg_operator WHERE oprname = '='
SELECT castsource::regtype::text, casttarget::regtype::text, castcontext, castmethod FROM pg_cast WHERE castsource = 'int4'::regtype AND casttarget IN ('int8'::regtype, 'numeric'::regtype, 'bool'::regtype, 'oid'::regtype) ORDER BY 2
SELECT int4pl(1, 'x')
SELECT int4pl(1)
SELECT jsonb_contains('{"a":1}', 5)
SELECT array_eq(array[1], array['a'])
SELECT jsonb_exists('{"a":1}', 'a'), jsonb_exists_any('{"a":1}', '{a,b}'), jsonb_delete('{"a":1}', 'a'), jsonb_object_field('{"a":1}', 'a'), jsonb_array_element_text('[5]', 0), jsonb_path_exists_opr('{"a":1}', '$.a')
SELECT int4pl(x, 1) FROM generate_series(1,2) x WHERE int4gt(x, 1)
SELECT texteq(id, 'd01') FROM docs ORDER BY id LIMIT 2
SELECT record_eq(row(1,2), row(1,2)), array_ne(array[1], array[2]), textlike('a', NULL), numeric_uminus(5), int4um(3), float8abs(-1)
SELECT o, m, format_type(o, m) FROM unnest(ARRAY[16, 17, 18, 19, 20, 22, 26, 30, 114, 705, 1000, 1005, 1014, 1015, 1042, 1043, 1115, 1186, 1231, 1700, 2249, 2275, 2276, 2277, 2278, 2283, 2287, 3802, 3807]::oid[]) o, unnest(ARRAY[-1, 4, 10, 655366]) m ORDER BY 1, 2
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'pg_attribute'::regclass AND attname IN ('attmissingval', 'attname', 'attacl') ORDER BY 1
SELECT data_type FROM information_schema.columns WHERE table_name = 'pg_attribute' AND column_name IN ('attmissingval', 'attoptions') ORDER BY 1
