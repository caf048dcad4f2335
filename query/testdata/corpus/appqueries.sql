-- Statements of applications, with errors of names and types, cursors and settings.
-- alone
SELECT d.id, d.doc->>'city' AS "city" FROM "docs" AS "d" WHERE ((d.doc->>'city') = 'Oslo' OR (d.doc->'qty')::int >= 5) AND NOT (d.doc->>'status' IN ('cancelled')) ORDER BY "d"."id" ASC LIMIT 10 OFFSET 0
SELECT "docs"."id" FROM "docs" WHERE ("docs"."doc" #> '{nested,v}') = '1'::jsonb
SELECT "docs"."id" FROM "docs" WHERE ("docs"."doc" -> 'tags')::jsonb @> '["a"]'::jsonb ORDER BY 1
SELECT count(*) AS "__count" FROM "docs" WHERE NOT (("docs"."doc" -> 'v') = 'null' AND ("docs"."doc" -> 'v') IS NOT NULL)
SELECT 1 AS one FROM "docs" WHERE "docs"."id" = 'd01' LIMIT 1
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "docs" ORDER BY id ASC LIMIT 5 OFFSET 2) subquery_for_count
SELECT DISTINCT "docs"."id", lower("docs"."doc"->>'city') AS alias_0 FROM "docs" ORDER BY lower("docs"."doc"->>'city') DESC, 1 LIMIT 3
SELECT anon_1.city, anon_1.total FROM (SELECT docs.doc ->> 'city' AS city, sum(CAST(docs.doc ->> 'qty' AS INTEGER)) AS total FROM docs GROUP BY docs.doc ->> 'city') AS anon_1 WHERE anon_1.total > 10 ORDER BY anon_1.city
SELECT CAST(EXTRACT(year FROM CAST(doc ->> 'at' AS TIMESTAMP WITH TIME ZONE)) AS INTEGER) AS y, count(*) FROM docs GROUP BY 1
SELECT (doc ->> 'qty')::int AS q, count(*) FILTER (WHERE (doc->>'paid')::boolean) AS paid, round(avg((doc->>'amount')::numeric), 2) FROM docs GROUP BY q ORDER BY q
SELECT to_char(date_trunc('month', (doc->>'at')::timestamp), 'YYYY-MM') m, sum((doc->>'amount')::numeric(10,2)) s FROM docs GROUP BY m ORDER BY m
SELECT id, ROW_NUMBER() OVER (PARTITION BY doc->>'city' ORDER BY (doc->>'at')::timestamptz DESC) rn FROM docs QUALIFY rn = 1
SELECT * FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY doc->>'city' ORDER BY (doc->>'at')::timestamptz DESC) rn FROM docs) t WHERE rn = 1 ORDER BY id
WITH ranked AS (SELECT id, (doc->>'amount')::numeric a, sum((doc->>'amount')::numeric) OVER (ORDER BY id) run FROM docs) SELECT id, run - a FROM ranked WHERE run > 100 ORDER BY id LIMIT 3
SELECT t.tag, count(*) FROM docs CROSS JOIN LATERAL jsonb_array_elements_text(CASE jsonb_typeof(doc->'tags') WHEN 'array' THEN doc->'tags' ELSE '[]' END) AS t(tag) GROUP BY t.tag ORDER BY 2 DESC, 1
SELECT id FROM docs, jsonb_to_recordset(doc->'items') AS x(sku text, n numeric) WHERE x.n > 3 GROUP BY id HAVING sum(x.n) > 3 ORDER BY id
SELECT jsonb_agg(jsonb_build_object('id', id, 'q', doc->'qty') ORDER BY id) FROM docs WHERE (doc->'qty')::int = 6
SELECT coalesce(json_agg("t".*), '[]') FROM (SELECT id FROM docs WHERE id > 'd38' ORDER BY id) AS "t"
SELECT json_build_object('type','FeatureCollection','features', json_agg(json_build_object('id', id, 'v', doc->'v') ORDER BY id)) FROM docs WHERE id < 'd03'
SELECT row_to_json(x) FROM (SELECT id, array_agg(e->>'sku' ORDER BY e->>'sku') skus FROM docs, jsonb_array_elements(doc->'items') e WHERE id < 'd03' GROUP BY id ORDER BY id) x
SELECT string_agg(DISTINCT doc->>'city', ', ' ORDER BY doc->>'city') FROM docs
SELECT array_agg(DISTINCT doc->'qty') FROM docs WHERE (doc->'qty')::int < 3
SELECT bool_or((doc->'paid')::bool), bool_and(doc ? 'city'), every((doc->>'qty')::int >= 0) FROM docs
SELECT doc->'city' AS c FROM docs GROUP BY doc->'city' HAVING count(*) > 8 ORDER BY c
SELECT count(*), count(doc->'zip'), count(doc->>'tags'), count(DISTINCT doc->>'status') FROM docs
SELECT max(doc->>'at'), min((doc->>'amount')::float8) FROM docs
SELECT width_bucket((doc->>'amount')::numeric, 0, 100, 4) b, count(*) FROM docs GROUP BY b ORDER BY b
SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY (doc->>'amount')::numeric) p90, avg((doc->>'qty')::int)::float8 FROM docs
SELECT id FROM docs WHERE doc @> '{"items":[{"n":4}]}' AND doc->>'status' = ANY('{paid,cancelled}') ORDER BY id
SELECT id FROM docs WHERE doc->'items' @@ '$[*].n > 3' ORDER BY id
SELECT id FROM docs WHERE jsonb_path_match(doc, '$.qty == 3') ORDER BY id
SELECT jsonb_path_query_first(doc, '$.items[*] ? (@.sku starts with "s").sku') #>> '{}' FROM docs ORDER BY id LIMIT 2
SELECT id, doc #- '{items}' - 'key' - 'nested' - 'at' - 'v' - '_rev' FROM docs WHERE id = 'd05'
SELECT jsonb_set(doc, '{qty}', to_jsonb((doc->>'qty')::int + 1)) -> 'qty' FROM docs WHERE id = 'd05'
SELECT doc || jsonb_build_object('x', 1) ? 'x', (doc || '{"qty":null}')->>'qty' FROM docs WHERE id = 'd05'
SELECT key, jsonb_typeof(value) FROM docs, jsonb_each(doc) WHERE id = 'd05' AND key <> '_rev' ORDER BY key
SELECT k, count(*) FROM docs, jsonb_object_keys(doc) k GROUP BY k ORDER BY k LIMIT 4
SELECT id FROM docs WHERE doc->>'city' = 'Oslo' UNION SELECT id FROM docs WHERE doc->>'status' = 'new' ORDER BY id LIMIT 4
SELECT a.id, b.id FROM docs a JOIN docs b ON b.doc->'i' = to_jsonb((a.doc->>'i')::int + 1) WHERE a.id < 'd03' ORDER BY 1
SELECT d.id, v.value FROM docs d JOIN by.v v USING (id) WHERE d.id < 'd03' ORDER BY 1
SELECT id FROM docs WHERE (doc->>'i')::int = (SELECT max((doc->>'i')::int) FROM docs)
SELECT id, (SELECT count(*) FROM docs x WHERE x.doc->>'city' = d.doc->>'city') FROM docs d ORDER BY id LIMIT 2
SELECT id FROM docs d WHERE NOT EXISTS (SELECT 1 FROM docs x WHERE (x.doc->>'qty')::int > (d.doc->>'qty')::int) ORDER BY id
SELECT CASE WHEN jsonb_typeof(doc->'v') = 'number' THEN (doc->>'v')::numeric END n FROM docs ORDER BY n NULLS LAST LIMIT 5
SELECT id FROM docs WHERE doc->>'v' IS NULL ORDER BY id
SELECT id FROM docs WHERE doc->'v' = 'true' OR doc->'v' = '"true"' ORDER BY id
SELECT id FROM docs WHERE (doc->>'v') ~ '^\d+$' AND length(doc->>'v') < 3 ORDER BY id
SELECT nullif(doc->>'v', '')::text, coalesce(doc->>'zip', 'none') FROM docs ORDER BY id LIMIT 2
SELECT concat_ws('/', doc->>'city', doc->>'status', NULL, doc->>'qty') FROM docs ORDER BY id LIMIT 2
SELECT md5(doc->>'city'), left(doc->>'city', 2), upper(doc->>'city'), substring(doc->>'city' from '^..') FROM docs ORDER BY id LIMIT 2
SELECT (doc->'items'->0->>'n')::int * (doc->>'amount')::numeric FROM docs ORDER BY id LIMIT 2
SELECT jsonb_array_length(doc->'tags') FROM docs WHERE jsonb_typeof(doc->'tags') = 'array' ORDER BY id LIMIT 2
SELECT jsonb_array_length(doc->'tags') FROM docs ORDER BY id
SELECT (doc->>'city')::int FROM docs ORDER BY id
SELECT (doc->>'at')::date - date '2024-01-01', age((doc->>'at')::timestamp, timestamp '2024-01-01'), (doc->>'at')::timestamptz AT TIME ZONE 'Europe/Oslo' FROM docs ORDER BY id LIMIT 2
SELECT generate_series(min((doc->>'at')::date), min((doc->>'at')::date) + 2, '1 day')::date FROM docs
SELECT g.d::date, count(docs.id) FROM generate_series('2024-01-01'::date, '2024-01-05'::date, '1 day') g(d) LEFT JOIN docs ON (doc->>'at')::date = g.d GROUP BY 1 ORDER BY 1
SELECT date_bin('7 days', (doc->>'at')::timestamptz, '2024-01-01') w, count(*) FROM docs GROUP BY w ORDER BY w LIMIT 3
SELECT extract(isodow FROM (doc->>'at')::timestamp)::int AS dow, count(*) FROM docs GROUP BY dow ORDER BY dow
SELECT to_timestamp(1700000000)::timestamp, to_timestamp(0) AT TIME ZONE 'UTC', extract(epoch FROM '2024-01-01'::timestamptz)::bigint
SELECT date '2024-02-29' + interval '1 year', date '2024-03-31' - interval '1 month', (timestamp '2024-01-01' + '36 hours')::date, interval '90 minutes' / 2, justify_interval('1 mon 35 days 50:00')
SELECT '2024-01-01T00:00:00.000+00:00'::timestamptz, '2024-01-01 00:00:00 UTC'::timestamptz, '2024-01-01 12:00:00 PM'::timestamp, '20240101 000000'::timestamp, '2024-1-1'::date, 'January 8, 1999'::date, '1999-Jan-08'::date
SELECT '2024-01-01'::timestamptz = '2024-01-01'::date, now()::date = CURRENT_DATE, '12:00'::time + '1 day 2:00', '23:00'::time + interval '2 hours', time '10:00' - interval '11 hours'
SELECT interval '1 day' > interval '23 hours', interval '1 mon' = interval '30 days', extract(epoch FROM interval '1 year'), date_part('month', interval '14 months'), make_interval(weeks => 1, hours => -1), -interval '1 mon -2 days'
SELECT to_char(interval '36:15:00', 'HH24:MI'), to_char(1234.5, 'FM999G999D00'), to_char(-0.5, 'FM0.00'), to_char(7, '000'), to_char(0.1, '99%'), to_char(1e6, '9.99EEEE'), to_char(123, 'S999'), to_char(12, 'FM99th')
SELECT to_date('2024-06-15', 'YYYY-MM-DD') + 1, to_timestamp('15/06/2024 10:20', 'DD/MM/YYYY HH24:MI'), to_number('1,234.5-', '9G999D9S'), to_char(timestamp '2024-06-15 10:20:30.456', 'DD.MM.YY HH12:MI:SS.US am')
SELECT 'a' < 'B', 'a' < 'b', 'Z' < 'a', 'é' > 'z', 'abc' COLLATE "C" < 'abd', upper('ß'), initcap('o''neil mc-donald'), '' = ' ', 'a'::char(3) = 'a'
SELECT regexp_replace('2024-06-15', '(\d+)-(\d+)-(\d+)', '\3.\2.\1'), regexp_matches('k1=v1;k2=v2', '(\w+)=(\w+)', 'g'), regexp_split_to_array('a b   c', '\s+'), 'foo' ~ '(?i)FOO', regexp_replace('aaa', 'a', 'b', 'g'), substring('x=12;y=3' from 'y=(\d+)')
SELECT ' a b '::text || 'c', trim('xxaxx', 'x'), rpad('a', 3, 'b') || '|', repeat('ab', 0), strpos('abc', ''), position('' in 'a'), split_part('', ',', 1), reverse(''), left('abc', 0), right('abc', -1), lpad('abc', 2), char_length('日本')
SELECT 10 / 4, 10 / 4.0, 10 % 4, -10 % 4, 10.5 % 3, 2 ** 3
SELECT 7 / 2.0, 7::numeric / 2, 1e0 / 3, 1::float8 / 3, 1::real / 3, 100 * 1.1, 0.1::real + 0.2::real, 1.0 / 3.0 * 3.0, 3.00 - 3, 1e-7::numeric, 1e-7::float8, 12345678.9::real, 123456789012345678::float8
SELECT round(0.5), round(1.5), round(-0.5), round(0.5::float8), round(1.5::float8), round(2.675, 2), round(-2.5::float8), trunc(1.999, 2), ceil(1.0001), floor(-0.5), 5.0::int, 1.5::bigint, 2.5::bigint, '1.5'::float8::int
SELECT greatest(1, 2.5, 3::bigint), least('2024-01-01'::date, '2023-01-01'::timestamp), coalesce(NULL, NULL, 'x'), nullif('a', 'b'), nullif(1, 1.0)
SELECT array[1,2,3] @> array[3,1], array[1,2] || array[3], array_to_string(array[1,NULL,2], ',', 'x'), string_to_array('1,2,3', ',')::int[], array_length(array[]::int[], 1), cardinality(array[]::int[]), unnest(array[3,1]), array_agg(x ORDER BY x) FROM (VALUES (1)) t(x)
SELECT 3 = ANY(string_to_array('1,2,3', ',')::int[]), '{1,2,3}'::int[] && '{3,4}', array_position('{a,b}'::text[], 'b'), (array['x','y'])[2], array[1,2,3][2:3], array_remove('{1,1,2}', 1), '{}'::text[] = '{}', array[NULL]::text[] IS NULL
SELECT x, y FROM unnest(ARRAY['a','b'], ARRAY[1,2,3]) AS u(x, y)
SELECT t.* FROM jsonb_to_recordset('[{"a":1,"b":[1,2]},{"a":"2","b":null}]') AS t(a int, b jsonb)
SELECT * FROM json_to_recordset('[{"a":1.5,"b":"x","c":"2024-01-01"}]') AS t(a numeric(5,2), b varchar(1), c date)
SELECT * FROM jsonb_to_record('{"a":[1,2],"b":{"x":1},"c":"{1,2}"}') AS t(a int[], b text, c int[])
SELECT * FROM jsonb_array_elements('[1,[2,3]]') WITH ORDINALITY AS t(e, i) WHERE jsonb_typeof(e) = 'array'
SELECT jsonb '{"a":{"b":1}}' @> '{"a":{}}', jsonb '[1,[2]]' @> '[[2]]', jsonb '"a"' @> '"a"', jsonb '["a"]' ? 'a', jsonb '"a"' ? 'a', jsonb '{"a":1}' ?& '{}', jsonb '[]' @> '[]', jsonb '{}' <@ '{"a":1}', jsonb 'null' @> 'null', jsonb '[1,2,2]' <@ '[2,1]'
SELECT jsonb '1.0' = '1', jsonb '[1.0]' = '[1]', jsonb '{"a":1,"a":2}' = '{"a":2}', jsonb '"\u0041"' = '"A"', jsonb '1e2' = '100', jsonb '-0' = '0', jsonb 'true' <> 'false', jsonb '{}' <> '[]'
SELECT '1'::jsonb::int, '"1"'::jsonb #>> '{}', '1.5'::jsonb::int, '2.5'::jsonb::int, '1e3'::jsonb::bigint, 'true'::jsonb::bool, '1'::jsonb::text, '"a"'::jsonb::text, 'null'::jsonb ->> 0, 'null'::jsonb IS NULL, '[null]'::jsonb ->> 0
SELECT '99999999999'::jsonb::int
SELECT '1e400'::jsonb::float8
SELECT 'null'::jsonb::int
SELECT '{"a":1}'::jsonb::int
SELECT jsonb_object('{a,b,c}', '{1,2,3}'), json_object('{}'), jsonb_build_object('a', '{"x":1}'::json, 'b', 'null'::jsonb), jsonb_build_array(), json_build_array(1.0, 1e5, 'NaN'::float8), to_jsonb(1e20::float8), to_jsonb('x'::name), to_jsonb(array['a',NULL])
SELECT jsonb_path_query('{"a":[{"b":1},{"b":2}]}', '$.a[*].b ? (@ >= $min && @ <= $max)', '{"min":2,"max":3}'), jsonb_path_exists('{"a":null}', '$.a ? (@ == null)'), jsonb_path_query_array('[1,2,3]', '$[*] ? (@ % 2 == 1)'), jsonb_path_query('"abc"', '$ ? (@ like_regex "B" flag "i")')
SELECT jsonb_path_query('{"a":1}', 'strict $.a.b')
SELECT jsonb_path_query('[1,2]', 'strict $[2]')
SELECT jsonb_path_query('[1,2]', '$[1.7]'), jsonb_path_query('{"a b":1}', '$."a b"'), jsonb_path_query('[[1],[2]]', '$[*][*]'), jsonb_path_query('{"a":[1]}', '$.a.size()'), jsonb_path_query('5', '-$'), jsonb_path_query('[5]', '$[0] * 2 + 1'), jsonb_path_query('"1.5"', '$.double()'), jsonb_path_query('{"x":[1]}', '$.x.type()')
SELECT jsonb_path_query('{"a":"x"}', '$.a.double()')
SELECT jsonb_path_query('1', '$.foo(')
SELECT jsonb_pretty('[]'), jsonb_pretty('{"a":{}}'), jsonb_pretty('"x"'), jsonb_pretty('[1,[2]]')
SELECT 1 FROM docs WHERE doc->'x'->'y' > '5' LIMIT 1
SELECT id FROM docs WHERE doc->'qty' >= '5' AND jsonb_typeof(doc->'qty') = 'number' ORDER BY id
SELECT id FROM docs WHERE (doc->'qty') BETWEEN '2' AND '3' ORDER BY doc->'qty' DESC, id LIMIT 3
SELECT doc->'qty' FROM docs ORDER BY doc->'qty' DESC NULLS FIRST, id LIMIT 2
SELECT sum((doc->'amount')::numeric), avg((doc->>'amount')::real), stddev_samp((doc->>'qty')::int), var_pop((doc->>'qty')::float8) FROM docs
SELECT lag(doc->>'city') OVER (ORDER BY id), lead(id, 2, 'none') OVER (ORDER BY id DESC), first_value(id) OVER (PARTITION BY doc->>'city' ORDER BY id) FROM docs ORDER BY id LIMIT 3
SELECT id, sum((doc->>'qty')::int) OVER (PARTITION BY doc->>'city' ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM docs ORDER BY id LIMIT 4
SELECT id, count(*) OVER (), ntile(3) OVER (ORDER BY id), cume_dist() OVER (ORDER BY doc->>'city') FROM docs ORDER BY id LIMIT 2
SELECT doc->>'city', doc->>'status', count(*), grouping(doc->>'city', doc->>'status') FROM docs GROUP BY CUBE (doc->>'city', doc->>'status') HAVING grouping(doc->>'city') = 0 ORDER BY 1, 2 NULLS FIRST LIMIT 6
SELECT coalesce(doc->>'city', 'total'), sum((doc->>'qty')::int) FROM docs GROUP BY ROLLUP (doc->>'city') ORDER BY 2 DESC, 1
SELECT id FROM docs WHERE id LIKE 'd0_' ESCAPE '' ORDER BY id DESC LIMIT 2
SELECT id FROM docs WHERE id SIMILAR TO 'd(00|01)' ORDER BY 1
SELECT id FROM docs WHERE id > 'd10' AND id <= 'd12' OR id = 'd20' ORDER BY id
SELECT id FROM docs WHERE id BETWEEN 'd05' AND 'd07' AND id <> ALL (ARRAY['d06'])
SELECT id FROM docs WHERE (id, rev) IN (SELECT id, rev FROM docs WHERE id < 'd02') ORDER BY 1
SELECT id FROM docs FETCH FIRST ROW ONLY
SELECT ALL id FROM docs ORDER BY id LIMIT ALL OFFSET 40
TABLE docs LIMIT 0
SELECT FROM docs LIMIT 2
SELECT docs FROM docs WHERE false
SELECT count(docs) FROM docs
SELECT d FROM (SELECT 1 AS a, 'x' AS b) d
SELECT (d).a, (d).* FROM (SELECT 1 AS a, 'x'::text AS b) d
SELECT row_to_json(d), to_json(d.*) FROM (SELECT 1 AS a, NULL AS b) d
SELECT id AS "select", 1 "from" FROM docs LIMIT 1
SELECT 0x1F
SELECT 1_000
SELECT 1.e5, .5e-2, 1e5, 00012, 1.
SELECT 'a'::text::varchar(1)::char(2) || 'x'
SELECT -2 ^ 2, - 2 ^ 2, 2 ^ 3 ^ 2, NOT true AND false, 1 + 2 * 3 % 4, 'a' || 1 + 2
SELECT 'a' || (1 + 2), 1 < 2 = true, NOT 1 = 2, 1 IS NULL = false, -1 ^ 2, !1
SELECT 5 !
SELECT (SELECT 1 UNION SELECT 2)
SELECT 1 UNION ALL SELECT 2 ORDER BY 1 DESC LIMIT 1
SELECT * FROM generate_series(1, 3) WITH ORDINALITY AS t(a, b), LATERAL (SELECT a * b) AS s(c)
SELECT * FROM generate_series(3, 1, -1) a CROSS JOIN (VALUES ('x')) v
SELECT * FROM generate_series(1, 2, 0)
SELECT * FROM (SELECT 1) t(a) NATURAL JOIN (SELECT 1) u(a) FULL JOIN (SELECT 2) w(b) ON a = b
SELECT * FROM (SELECT 1 a) x JOIN (SELECT 1 b) y ON a = b AND a > 1
SELECT a FROM (SELECT 1) x
SELECT x.a FROM (SELECT 1 a) x, (SELECT 2 a) x
SELECT a FROM (SELECT 1 a) x, (SELECT 2 a) y
WITH t AS (SELECT generate_series(1,3) n) SELECT n, sum(n) OVER (ORDER BY n) FROM t
WITH RECURSIVE tree(id, depth, path) AS (SELECT 'd00', 0, ARRAY['d00'] UNION ALL SELECT d.id, depth + 1, path || d.id FROM docs d JOIN tree t ON (d.doc->>'i')::int = depth + 1 WHERE depth < 3) SELECT * FROM tree
WITH RECURSIVE t AS (SELECT 1 AS n UNION SELECT (n * 2) % 7 FROM t) SELECT array_agg(n ORDER BY n) FROM t
SELECT EXISTS (SELECT * FROM information_schema.tables WHERE table_schema = 'public' AND table_name = 'docs')
SELECT t.typname, t.typtype, e.typname FROM pg_type t LEFT JOIN pg_type e ON t.typelem = e.oid WHERE t.oid IN (1007, 1009, 3807, 1016) ORDER BY t.oid
SELECT oid::regtype::text, typlen, typbyval, typalign, typstorage FROM pg_type WHERE oid IN (16,20,25,701,1700,1184,3802,2950) ORDER BY oid
SELECT quote_ident('User'), quote_literal(NULL), format('%I.%I', 'public', 'My Table'), pg_typeof(NULL::int[]), 'int4'::regtype::oid, to_regclass('public.docs')::text, 'docs'::regclass::text
SELECT pg_catalog.set_config('search_path', '', false); SELECT count(*) FROM public.docs
SELECT pg_catalog.set_config('search_path', '', false); SELECT count(*) FROM docs
SET search_path = nosuch; SHOW search_path; SELECT current_schema()
SET SESSION statement_timeout TO '30min'; SHOW statement_timeout; SET statement_timeout TO DEFAULT; SHOW statement_timeout
SET lock_timeout = 5000; SHOW lock_timeout; SET idle_in_transaction_session_timeout = '1min'; SHOW idle_in_transaction_session_timeout
SET client_min_messages TO 'warning'; SHOW client_min_messages; SET client_min_messages TO 'loud'
SET timezone TO 'America/New_York'; SELECT '2024-07-01 12:00+00'::timestamptz, timestamptz '2024-03-10 02:30', now()::text ~ '-0[45]$'; RESET timezone; SHOW timezone
SET DateStyle TO 'ISO, YMD'; SELECT '24-01-02'::date
SET IntervalStyle TO 'postgres'; SHOW intervalstyle; SET extra_float_digits TO 2; SHOW extra_float_digits
SET default_transaction_read_only = on; SHOW default_transaction_read_only
SET row_security = off; SHOW row_security; SET synchronize_seqscans TO off; SHOW synchronize_seqscans
SET SESSION AUTHORIZATION DEFAULT; RESET SESSION AUTHORIZATION; SET ROLE NONE; RESET ROLE
BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE; SHOW transaction_isolation; SHOW transaction_deferrable; COMMIT
BEGIN; SET TRANSACTION READ ONLY; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1; SET TRANSACTION ISOLATION LEVEL READ COMMITTED
BEGIN; SAVEPOINT s1; SAVEPOINT s1; RELEASE s1; ROLLBACK TO s1; RELEASE s1; RELEASE s1
BEGIN; SAVEPOINT "x y"; SELECT nosuch; ROLLBACK TO "x y"; SELECT 1; ROLLBACK WORK
BEGIN; DECLARE "cur 1" CURSOR FOR SELECT generate_series(1,5); FETCH FORWARD 2 FROM "cur 1"; MOVE FORWARD ALL FROM "cur 1"; FETCH "cur 1"; CLOSE "cur 1"
BEGIN; DECLARE c CURSOR FOR SELECT 1; DECLARE c CURSOR FOR SELECT 2
BEGIN; DECLARE c CURSOR FOR SELECT generate_series(1,3); FETCH 0 FROM c; FETCH -1 FROM c
BEGIN; DECLARE c CURSOR FOR SELECT generate_series(1,3); FETCH RELATIVE 2 FROM c; FETCH ABSOLUTE 3 FROM c
COMMIT; ROLLBACK; ABORT; END
PREPARE q(text) AS SELECT id FROM docs WHERE doc->>'city' = $1 ORDER BY id LIMIT 2; EXECUTE q('Oslo'); EXECUTE q(5); EXECUTE q(NULL)
PREPARE q(int, int) AS SELECT $1 / $2; EXECUTE q(4, 2); EXECUTE q(1, 0)
PREPARE q(unknown) AS SELECT $1::int + 1; EXECUTE q('41')
PREPARE q(nosuch) AS SELECT 1
PREPARE q AS SELECT $1 || 'x', $2 + 1.5; EXECUTE q('a', 1); EXECUTE q('a', 'b')
COPY (SELECT id, doc->>'city', NULL FROM docs ORDER BY id LIMIT 2) TO STDOUT WITH (FORMAT csv, HEADER true, DELIMITER ';', NULL 'nil', QUOTE '"', FORCE_QUOTE (id))
COPY (SELECT E'a\tb\nc\\', 'x,"y"') TO STDOUT
COPY (SELECT E'a\tb\nc\\', 'x,"y"') TO STDOUT WITH CSV
COPY (VALUES (1, true), (NULL, false)) TO STDOUT (DELIMITER '|', NULL '-')
COPY docs(id) TO STDOUT
COPY (SELECT 1) TO STDOUT (FORMAT csv, ENCODING 'UTF8')
COPY (SELECT nosuch) TO STDOUT
COPY (SELECT 1
EXPLAIN (ANALYZE, FORMAT nope) SELECT 1
SELECT pg_advisory_xact_lock(5), pg_try_advisory_lock_shared(6); SELECT pg_advisory_unlock_shared(6), pg_advisory_unlock(6)
LISTEN "My Chan"; SELECT pg_listening_channels(); UNLISTEN "My Chan"; SELECT count(*) FROM pg_listening_channels()
NOTIFY; LISTEN
SELECT pg_notify('chan', NULL), pg_notify('c', 'x')
SELECT sum(1) OVER (ORDER BY 'x')
SELECT count(*) OVER w FROM docs WINDOW w AS (), w AS ()
SELECT rank() OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND '1' FOLLOWING) FROM docs
SELECT max(id) FROM docs GROUP BY id ORDER BY doc
SELECT id, max(doc->>'i') FROM docs
SELECT doc->>'city', id FROM docs GROUP BY doc->>'city'
SELECT id FROM docs HAVING true
SELECT nosuchfn(id), id FROM docs
SELECT abs('x')
SELECT abs(id) FROM docs
SELECT sum(id) FROM docs
SELECT id + 1 FROM docs
SELECT doc + 1 FROM docs
SELECT id = 1 FROM docs
SELECT id IN (1, 2) FROM docs
SELECT id = ANY(ARRAY[1]) FROM docs
SELECT id || doc FROM docs LIMIT 0
SELECT id::int FROM docs
SELECT id::date FROM docs
SELECT doc::int FROM docs
SELECT doc::bool FROM docs WHERE id = 'd00'
SELECT CAST(doc AS nosuch) FROM docs
SELECT CAST(id AS varchar(2)) FROM docs ORDER BY 1 LIMIT 1
SELECT extract(year FROM id) FROM docs
SELECT date_trunc('month', id) FROM docs
SELECT to_char(id, 'YYYY') FROM docs
SELECT lower(doc) FROM docs
SELECT length(doc) FROM docs
SELECT jsonb_array_elements(doc) FROM docs
SELECT jsonb_each(id) FROM docs
SELECT id FROM docs WHERE doc
SELECT id FROM docs WHERE id AND true
SELECT id FROM docs WHERE doc @> 'x'
SELECT id FROM docs WHERE doc ? 5
SELECT doc->1.5 FROM docs
SELECT doc->true FROM docs
SELECT doc->>NULL FROM docs LIMIT 1
SELECT id FROM docs ORDER BY doc USING >
SELECT id FROM docs LIMIT (SELECT 1)
SELECT id FROM docs ORDER BY 1 + 1, id LIMIT 1
SELECT id FROM docs ORDER BY 'x'
SELECT DISTINCT id FROM docs ORDER BY rev
SELECT DISTINCT ON (rev) id FROM docs ORDER BY id
SELECT * FROM docs d LEFT JOIN by.v ON v.id = d.nosuch
SELECT * FROM docs JOIN by.v ON true WHERE id = 'x'
SELECT v.* FROM docs d, by.v WHERE docs.id = v.id
SELECT * FROM by.nosuch
SELECT * FROM by
SELECT public.lower('A')
SELECT nosuch.lower('A')
SELECT by.lower('A')
SELECT * FROM lower('A')
SELECT * FROM lower('A') AS x(y)
SELECT * FROM current_date
SELECT * FROM unnest(5)
SELECT * FROM jsonb_each(5)
SELECT * FROM jsonb_to_record('{}')
SELECT * FROM generate_series('a', 'b')
