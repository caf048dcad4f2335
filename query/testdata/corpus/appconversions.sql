-- Conversions between JSON and rows, jsonpath, functions behind operators, and errors of them.
-- alone
SELECT * FROM jsonb_to_record('{"a":null,"b":null,"c":[null,1]}') AS t(a jsonb, b json, c jsonb[])
SELECT * FROM json_populate_record(NULL::record, '{"a":null}') AS t(a jsonb)
SELECT typname, typstorage FROM pg_type WHERE typname IN ('numeric','text','int2vector','oidvector','int4','jsonb','name','_numeric','interval') ORDER BY 1
SELECT 'a' - 'b'
SELECT public.lower('A')
SELECT public.nosuch(1, 'x')
SELECT by.lower(nosuch)
SELECT pg_catalog.lower('A'), pg_catalog.int4pl(1, 2)
SELECT id FROM docs WHERE doc->'tags' = 'null' ORDER BY id LIMIT 3
SELECT id FROM docs WHERE doc#>'{tags,0}' IS NULL AND doc->'tags' <> '[]' ORDER BY id
SELECT x.id, x.tags FROM docs, jsonb_to_record(doc) AS x(id text, tags jsonb, qty int, paid bool, at timestamptz) WHERE docs.id < 'd05' ORDER BY docs.id
SELECT x.qty, x.paid, x.at, x.amount, x.items->0->>'sku' FROM docs, jsonb_to_record(doc) AS x(tags text[], qty int, paid bool, at timestamptz, amount numeric(8,1), items jsonb) WHERE docs.id < 'd03' ORDER BY docs.id
SELECT x.tags FROM docs, jsonb_to_record(doc) AS x(tags text[]) ORDER BY docs.id LIMIT 5
SELECT x.city FROM docs, jsonb_to_record(doc) AS x(city int)
SELECT * FROM jsonb_populate_recordset(row(NULL::int, 'd'::text), '[{"f1":1},{"f1":2,"f2":null}]') AS t(a int, b text)
SELECT * FROM json_to_recordset('[1]') AS t(a int)
SELECT * FROM jsonb_to_recordset('[{"a":{"b":1}}]') AS t(a text)
SELECT * FROM jsonb_to_recordset('[{"a":[1,2]},{"a":"{3}"}]') AS t(a int[])
SELECT * FROM jsonb_to_recordset('[{"a":5}]') AS t(a int[])
SELECT * FROM jsonb_to_record('{"A":1,"a":2}') AS t("A" int, a int, b int)
SELECT * FROM jsonb_each_text('{"a":null,"b":1.50,"c":"x","d":{"e":[1]}}') ORDER BY key
SELECT * FROM json_each('{"a":null, "b": 1.50}')
SELECT value::text, value IS NULL FROM jsonb_array_elements('[null,1]')
SELECT value, value IS NULL FROM jsonb_array_elements_text('[null,"null"]')
SELECT jsonb_agg(x), json_agg(x), jsonb_object_agg(coalesce(x,'n'), x) FROM (VALUES ('a'), (NULL)) t(x)
SELECT jsonb_agg(x ORDER BY x DESC NULLS LAST) FILTER (WHERE x IS NOT NULL) FROM (VALUES (1), (NULL), (3)) t(x)
SELECT jsonb_agg(DISTINCT x) FROM (VALUES (1), (1), (2)) t(x)
SELECT json_object_agg(k, v ORDER BY k), jsonb_object_agg(k, v) FROM (VALUES ('b', 1), ('a', 2)) t(k, v)
SELECT to_jsonb(row(1, NULL, 'x'::text, ARRAY[1.5], '{"a":1}'::jsonb, date '2024-01-01', true))
SELECT to_jsonb('{"a":1}'::json), to_json('{"a" : 1}'::jsonb), to_jsonb(NULL::int), to_json('2024-01-01 10:00'::timestamp), to_jsonb('10:00:00'::time), to_jsonb('\x01'::bytea), to_jsonb('6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid), to_jsonb(-0.0::float8), to_jsonb(1e300::float8)
SELECT '{"a":1}'::json::text, '{"a" : 1}'::jsonb::json, '{"a" : 1}'::json::jsonb, '"x"'::text::jsonb, 5::text::jsonb, '[1, 2]'::json->0, '{"a": {"b" : 1}}'::json->'a', '{"a":"\u00e9"}'::json->>'a'
SELECT '{"a":[1,2,{"b":"c"}]}'::jsonb #>> ARRAY['a','2','b'], '{"a":[1,2]}'::jsonb #> '{a,-2}', '{"1":2}'::jsonb #> '{1}', '[[1]]'::jsonb #> '{0,0}', '[1]'::jsonb #> '{x}', '5'::jsonb #> '{0}', '"s"'::jsonb #>> '{}'
SELECT '{"a":1}'::jsonb || NULL, NULL || '[1]'::jsonb, '[]'::jsonb || '[]', '{}'::jsonb || '[]'::jsonb, '"a"'::jsonb || '"b"', 'null'::jsonb || '1'
SELECT '[1,2,3]'::jsonb - -1, '[1,2]'::jsonb - 5, '["a","b","a"]'::jsonb - 'a', '{"a":1,"b":2}'::jsonb - ARRAY['a','b'], '[]'::jsonb - 0
SELECT '{"a":{"b":[1,2]}}'::jsonb #- '{a,b,-1}', '[1,2]'::jsonb #- '{5}', '{"a":1}'::jsonb #- '{}', '{"a":1}'::jsonb #- '{a,b}'
SELECT '5'::jsonb #- '{a}'
SELECT jsonb_set('[1,2]', '{-1}', '9'), jsonb_set('[]', '{0}', '1'), jsonb_set('{}', '{}', '1'), jsonb_set('{"a":{}}', '{a,b}', '[]', false), jsonb_set('[1]', '{9}', '2'), jsonb_set('[1]', '{-9}', '2')
SELECT jsonb_set('5', '{a}', '1')
SELECT jsonb_set('{"a":1}', '{a,b}', '1')
SELECT jsonb_set('[1]', '{a}', '1')
SELECT jsonb_set('{"a":1}', ARRAY['a',NULL], '1')
SELECT jsonb_insert('[1,2]', '{0}', '0'), jsonb_insert('[1,2]', '{5}', '0'), jsonb_insert('{"a":1}', '{b}', '2'), jsonb_insert('[]', '{-1}', '1', true)
SELECT jsonb_strip_nulls('[null,{"a":null}]'), jsonb_strip_nulls('null'), jsonb_typeof('[]'), jsonb_pretty('{"b":1,"a":[true,null]}')
SELECT jsonb_path_query_array('{"a":[{"b":1,"c":"x"},{"b":2}]}', '$.a[*] ? (exists(@.c)).b'), jsonb_path_query_array('[1,[2,3]]', 'strict $[*]'), jsonb_path_query_array('{"a":1,"b":[2]}', '$.**'), jsonb_path_query_array('[1,2,3]', '$[1 to last]'), jsonb_path_query_array('["a","b"]', '$[*] ? (@ == "a" || @ > "b")')
SELECT jsonb_path_query_array('[3,1,2]', '$[*] ? (@ > $[0])'), jsonb_path_exists('[1]', '$[*] ? (@ == "1")'), jsonb_path_match('{"a":1}', 'exists($.a)'), jsonb_path_match('{"a":[1,2]}', '$.a[*] > 1'), jsonb_path_query('{"a":1}', '$.a == 1'), jsonb_path_query('[1,"a"]', '$[*] > 0')
SELECT jsonb_path_query('{}', '$.a'), jsonb_path_query('[]', 'strict $[*]'), jsonb_path_query_first('[]', '$[0]') IS NULL, jsonb_path_query('[[1,2],[3]]', '$[*].size()'), jsonb_path_query('"2024-01-02"', '$.datetime()'), jsonb_path_query('"10:20:30"', '$.datetime().type()')
SELECT jsonb_path_query('{"a":[1]}', '$.a + 1')
SELECT jsonb_path_query('{"a":[1,2]}', '$.a + 1')
SELECT jsonb_path_query('"a"', '$.abs()')
SELECT jsonb_path_query('[1]', 'strict $.size().a')
SELECT jsonb_path_query('1', '$.keyvalue()')
SELECT jsonb_path_query('"x"', '$.datetime()')
SELECT jsonb_path_query('[1]', '$[$x]')
SELECT jsonb_path_query('[1]', '$["a"]')
SELECT jsonb_path_query('[1]', '$[0]', '5')
SELECT '$.a ? (@ like_regex "(")'::jsonpath
SELECT '$.a ? (@ like_regex "a" flag "z")'::jsonpath
SELECT '@.a'::jsonpath
SELECT '$.a ? (last > 1)'::jsonpath
SELECT '$.'::jsonpath
SELECT '$[1,'::jsonpath
SELECT '$.a == '::jsonpath
SELECT 'strict'::jsonpath
SELECT '1 + 2 * 3'::jsonpath, '$.a-1'::jsonpath, '$."$x"'::jsonpath, '$.a.**{1 to 3}.b'::jsonpath, '$ ? (@.a starts with $v)'::jsonpath, '$.a[-1]'::jsonpath, '$.double().abs()'::jsonpath, 'true'::jsonpath, '"x"'::jsonpath, 'null'::jsonpath
SELECT ('{"a":[1,{"b":2}]}'::jsonb)['a'][1]['b'], ('[1,2]'::jsonb)['-1'], ('{"a":1}'::jsonb)['a']['b'], ('[1]'::jsonb)['x'], ('"s"'::jsonb)['x'], (NULL::jsonb)['a']
SELECT array_eq(ARRAY[1,2], '{1,2}'), numeric_gt(2, 1.5), timestamp_lt('2024-01-01', '2024-01-02'), jsonb_concat('{}', '{"a":1}'), textregexeq('abc', 'b'), bool(1), int4(5.6), float8(1), text(5), date('2024-01-01'), "interval"('1 day')
SELECT int4pl(2147483647, 1)
SELECT int4div(1, 0)
SELECT date_mi('2024-01-02', '2024-01-01'), interval_mul('1 day', 2), timestamptz_mi_interval('2024-01-02', '1 day'), float8pl(1, 2), int84pl(1::int8, 2), int2mi(3::int2, 1::int2), numeric_mod(7, 3), dpow(2, 3), dsqrt(4), int4shl(1, 3), int8and(5, 3), int4not(5)
SELECT '{"a":1}'::hstore
SELECT to_number('1,234', '9,999'), to_number('  12', '9999'), to_number('-0.5', '9.9'), to_number('1.234', '9.99'), to_number('12.3', 'FM99.9'), to_number('5', '0'), to_number('+5', 'SG9'), to_number('5%', '9%'), to_number('1e3', '999')
SELECT to_char(0, '9th'), to_char(2, 'FM9th'), to_char(3, '9TH'), to_char(12, '"no"99'), to_char(1.5, 'FM9.99th'), to_char(1234567, '9,999,999'), to_char(-1234.567, '9G999D99'), to_char(12, '99MI'), to_char(-12, '99MI'), to_char(-12, 'FM99PR'), to_char(5, 'rn')
SELECT to_char(12, 'foo')
SELECT to_char(12, 'fooTH')
SELECT to_char(1, 'TH9')
SELECT pg_size_pretty(0::bigint), pg_size_pretty(1024::numeric), pg_size_pretty(-1e10::numeric), pg_size_bytes('10 pb'), pg_size_bytes('1.5 kB'), pg_size_bytes('0.1GB')
SELECT pg_size_bytes('1e')
SELECT pg_column_size(''::text), pg_column_size(repeat('a', 200)), pg_column_size(0::numeric), pg_column_size(100000000::numeric), pg_column_size('{}'::text[]), pg_column_size(row()), pg_column_size(array[1::int8]), pg_column_size(array[true,false]), pg_column_size('x'::char(5)), pg_column_size(time '10:00'), pg_column_size(timetz '10:00+00'), pg_column_size(1::int2), pg_column_size('[]'::jsonb), pg_column_size('{"a":"b","cc":[1,2,"x"]}'::jsonb), pg_column_size('5'::jsonb), pg_column_size(row(1::int8, 'a'::text, 2::int8))
SELECT has_column_privilege('docs', 'id', 'SELECT'), has_database_privilege(current_database(), 'CONNECT'), has_function_privilege('lower(text)', 'EXECUTE'), has_table_privilege(current_user, 'docs', 'SELECT'), has_table_privilege('docs'::regclass::oid, 'SELECT WITH GRANT OPTION') IS NOT NULL
SELECT has_column_privilege('docs', 'id', 'DELETE')
SELECT has_table_privilege('public.docs', 'SELECT'), has_schema_privilege(current_user, 'by', 'USAGE')
SELECT collation for ('a'::text), collation for (id), collation for ('a' COLLATE "C"), collation for (NULL) FROM docs LIMIT 1
SELECT collation for (1)
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT x.m FROM t, (SELECT max(qty) m FROM (SELECT 1 qty) q) x WHERE n < 1) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < (SELECT 3)) SELECT count(*) FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT (SELECT max(n) FROM t)) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t HAVING count(*) > 0) SELECT * FROM t
SELECT extract(year FROM interval '14 months'), extract(day FROM time '10:00')
SELECT extract(century FROM '2024-01-01'::text)
SELECT overlay(5 placing 'x' from 1)
SELECT substring('abc' from 'x' for 5)
SELECT substring('abc', true)
SELECT position('a', 'b')
SELECT trim(both from 5)
SELECT ltrim(5)
SELECT timestamp '2024-01-01' AT TIME ZONE 5
SELECT (date '2024-01-01', date '2024-02-01') OVERLAPS (5, 6)
SELECT normalize('a', NFQ)
SELECT 'a' IS NFC NORMALIZED, normalize(U&'\0061\0308', NFC) = U&'\00E4'
SELECT coalesce(1, 2.5), coalesce('a', NULL), coalesce(NULL::int, '5'), coalesce(date '2024-01-01', '2024-01-02')
SELECT coalesce(true, 1)
SELECT greatest('a', 5)
SELECT least(1, 'x')
SELECT CASE WHEN false THEN 1 ELSE 2.5 END, CASE 'a' WHEN 'b' THEN 1 END, CASE WHEN NULL THEN 'x' END
SELECT CASE 1 WHEN 'x' THEN 2 END
SELECT array[1, 2.5], array['1', 2], array[NULL, 1], array[1, NULL::bigint]
SELECT array[1, true]
VALUES (1, 'a'), (2, NULL), (3.5, 'c') ORDER BY 1 DESC
VALUES (1), (2, 3)
VALUES (1), (true)
VALUES ('a'), (1)
SELECT 1 IN ('1', 2.0), 'a' IN ('a', NULL), NULL IN (1), 1 NOT IN (2, NULL)
SELECT true IN (1, 2)
SELECT (1, 'a') IN ((1, 'a'), (2, 'b')), (1, 2) NOT IN ((1, 3)), (1, NULL) IN ((1, 2))
SELECT (1, 2) IN ((1, 2, 3))
SELECT (1, 'a') = (1, 5)
SELECT row(1, 2) = row(1, 2)::text
SELECT DISTINCT row(1, x) FROM (VALUES ('a'::text), ('a')) t(x)
SELECT row('a', 1) IS NOT NULL, row(NULL, 'x') IS NULL, row('a'::text) < row('b'::text), row(1, row('a'::text, 2))
SELECT -'NaN'::float8 = 'NaN'::float8, 'NaN'::float4 > 'Infinity'::float4, '-nan'::float4::float8, abs('-nan'::float4), '-NaN'::float8::text, '-NaN'::float8 + 1, array['-NaN'::float8]
SELECT sign(-0.0), sign('Infinity'::numeric), sign('-inf'::numeric), sign('NaN'::numeric), sign(5), sign(-2.5::float8)
SELECT 'sum'::regproc
SELECT 'nosuch.lower'::regproc
SELECT 'upper(text, text)'::regprocedure
SELECT 'nosuch'::regtype
SELECT 'integer[]'::regtype, 'character varying(5)'::regtype, 'timestamp with time zone'::regtype, '25'::regtype, 'pg_catalog.int4'::regtype, 'double precision'::regtype::oid
SELECT oprname, oprkind, oprcom::regoperator, oprnegate::regoperator FROM pg_operator WHERE oprcode = 'int4lt'::regproc
SELECT castcontext, castmethod FROM pg_cast WHERE castsource = 'jsonb'::regtype AND casttarget = 'int4'::regtype
SELECT get_bit('abc'::bytea, 1), set_bit('a'::bytea, 0, 0), bit_count('a'::bytea), get_byte('a', 0)
SELECT b'12'
SELECT '{"a":1,"b":[1,2'::jsonb
SELECT '{"a":nul}'::json
SELECT '[1,,2]'::json
SELECT '{"a":1 "b":2}'::json
SELECT '"a" "b"'::json
SELECT 'True'::json
SELECT '.5'::jsonb
SELECT '+1'::jsonb
SELECT '{"a":"b\qc"}'::jsonb
SELECT '{''a'':1}'::jsonb
SELECT '[1,2]]'::jsonb
SELECT '{,}'::json
SELECT json '{"a":1', 1
SELECT jsonb_set('{"a":1}', '{a}', 'x')
SELECT jsonb '{}' || 'abc'
SELECT doc @> '{"a"' FROM docs
SELECT doc || '{bad}' FROM docs
-- parameters: ["{\"a\":"]
SELECT $1::json
-- parameters: ["[1,2"]
SELECT jsonb_array_elements($1)
-- parameters: ["x"]
SELECT $1::date
-- parameters: ["x", "y"]
SELECT id FROM docs WHERE id = $1 AND (doc->>'qty')::int = $2
-- parameters: ["3"]
SELECT ('[1,2,3,4]'::jsonb)[$1::int]
-- parameters: ["a"]
SELECT ('{"a":5}'::jsonb)[$1]
-- parameters: ["{a,b}"]
SELECT 'a'::name = ANY($1), 'a'::varchar = ANY($1::text[])
-- parameters: ["{a,b}"]
SELECT 'a'::varchar = ANY($1)
-- parameters: ["1", "2"]
SELECT int4pl($1, $2), numeric_add($1, 1.5)
-- parameters: ["{\"a\":1}"]
SELECT jsonb_contains(doc, $1) FROM docs ORDER BY id LIMIT 1
-- parameters: ["1", "5"]
SELECT * FROM generate_series($1::int, $2::int, 2)
-- parameters: ["2024-01-01", "2024-01-03"]
SELECT * FROM generate_series($1::date, $2::date, '1 day')
-- parameters: ["1"]
SELECT coalesce($1, 5), greatest($1, 2), CASE WHEN true THEN $1 ELSE 3 END
-- parameters: ["{1,2}"]
SELECT $1::regclass[]::text
-- parameters: ["lower(text)"]
SELECT $1::regprocedure::text
SELECT '-1'::oid, '-2147483648'::oid, '4294967295'::oid, ' 5 '::oid, '+7'::oid
SELECT '4294967296'::oid
SELECT '-2147483649'::oid
SELECT '99999999999999999999'::oid
SELECT '5x'::oid
SELECT ''::oid
