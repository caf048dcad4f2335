-- Statements of applications about all of the language, found to be the same by a third comparison.
-- alone
SELECT id, doc->'items'->-1->>'sku' FROM docs WHERE doc->'items'->0->'n' IN ('2', '3') ORDER BY id LIMIT 4
SELECT id FROM docs WHERE (doc->'items'->0->'n') = ANY ('{2,4}'::jsonb[]) AND (doc->>'qty')::int NOT IN (1, 2) ORDER BY id
SELECT id FROM docs WHERE doc->'paid' = 'true' AND doc->'qty' <> ALL (ARRAY['1'::jsonb, '2']) ORDER BY id LIMIT 5
SELECT id FROM docs WHERE doc->'nested' = '{"v": 1}' OR doc->'nested'->'v' = '"Oslo"' ORDER BY id
SELECT id FROM docs WHERE doc->'key' = '["n1", 1]' OR doc->'key' @> '[2]' ORDER BY id
SELECT id FROM docs WHERE NULLIF(doc->>'v', 'null') = 'Oslo'
SELECT id FROM docs WHERE COALESCE(doc->'zip', '"none"') = '"none"' ORDER BY id LIMIT 1
SELECT CASE WHEN doc->'paid' = 'true' THEN 'y' ELSE 'n' END p, count(*) FROM docs GROUP BY p ORDER BY p
SELECT doc->'city' c, doc->'status' s, count(*) FROM docs GROUP BY GROUPING SETS ((doc->'city'), (doc->'status')) ORDER BY 1 NULLS LAST, 2 NULLS LAST
SELECT doc->>'city', rank() OVER (ORDER BY count(*) DESC, doc->>'city') FROM docs GROUP BY doc->>'city' ORDER BY 2
SELECT id, (doc->>'qty')::int - lag((doc->>'qty')::int, 1, 0) OVER (ORDER BY id) FROM docs ORDER BY id LIMIT 4
SELECT id, avg((doc->>'amount')::numeric) OVER (ORDER BY (doc->>'at')::date RANGE BETWEEN '30 days' PRECEDING AND CURRENT ROW) FROM docs ORDER BY (doc->>'at')::date, id LIMIT 4
SELECT x, sum(x) OVER (ORDER BY x GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), nth_value(x, 3) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM (VALUES (1),(1),(2),(3)) t(x)
SELECT x, max(x) OVER (ORDER BY x RANGE BETWEEN 1 FOLLOWING AND 2 FOLLOWING), min(x) OVER (ORDER BY x DESC ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING EXCLUDE TIES) FROM (VALUES (1),(2),(2),(4)) t(x)
SELECT t, count(*) OVER (ORDER BY t RANGE BETWEEN '1 hour' PRECEDING AND '30 min' FOLLOWING) FROM (VALUES (time '10:00'), ('10:45'), ('12:00')) v(t)
SELECT sum(x) OVER (ORDER BY x RANGE -1 PRECEDING) FROM (VALUES (1)) t(x)
SELECT sum(x) OVER (ORDER BY x GROUPS 1.5 PRECEDING) FROM (VALUES (1)) t(x)
SELECT percentile_cont(ARRAY[0, 0.25, 1]) WITHIN GROUP (ORDER BY x), percentile_disc(0.34) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY x % 2) FROM generate_series(1, 5) x
SELECT rank('b') WITHIN GROUP (ORDER BY t), percent_rank('c'::text) WITHIN GROUP (ORDER BY t) FROM (VALUES ('a'), ('b'), ('b')) v(t)
SELECT regr_slope(y, x), regr_syy(y, x), regr_avgy(y, x), corr(y, x) FROM (VALUES (1.0, 2.0), (2, 4), (NULL, 3)) t(x, y)
SELECT array_agg(x ORDER BY x % 2, x DESC), string_agg(x::text, '' ORDER BY -x), sum(DISTINCT x), count(*) FILTER (WHERE x > 2) FROM (VALUES (1),(3),(2),(3)) t(x)
SELECT sum(x::float4), avg(x::float4), sum(x::int2), avg(x::int2), sum(x::int8), max(x::numeric), bit_xor(x), var_samp(x) FROM (VALUES (1),(2),(4)) t(x)
SELECT date_trunc('decade', timestamp '2024-06-15'), date_trunc('second', time '10:11:12.9'), date_trunc('month', interval '1 year 2 months 3 days'), date_trunc('day', date '2024-06-15')
SELECT extract(epoch FROM timestamptz '2024-06-15 10:00+02'), extract(second FROM time '10:11:12.5'), extract(doy FROM date '2024-12-31'), extract(timezone_hour FROM timetz '10:00-03:30'), date_part('isoyear', date '2021-01-01'), extract(hour FROM interval '100 hours')
SELECT timestamp '2024-02-29 23:59:59.999999' + interval '1 microsecond', date '2024-01-31' + interval '1 month 1 day', timestamptz '2024-06-15 00:00Z' - timestamptz '2024-01-01 12:30Z', (date '2024-06-15' - 7)::text, interval '1.5 years', interval '1 day' - interval '25 hours', interval '10 days' * 0.33
SELECT make_timestamptz(2024, 6, 15, 12, 0, 0), make_interval(secs => 90.5), make_time(23, 59, 59.999), to_timestamp(1718452800.123456), age(timestamp '2024-03-31', timestamp '2024-02-29')
SELECT '1 year 2 months -3 days 04:05:06.7'::interval, 'P1DT2H'::interval, '1-2 3 4:05:06'::interval, '-1.5 h'::interval, '1e2 s'::interval, '3 weeks 1 day ago'::interval, interval '2:30' hour to minute, '00:00:00.0000001'::interval
SELECT '2024-06-15 24:00:00'::timestamp, '2024-06-15T10:00:00-0330'::timestamptz, '15 Jun 2024 10:00 PDT'::timestamptz, 'epoch'::timestamptz, '0001-01-01 BC'::date, '2024-06-15 10:00:60'::timestamp, 'June 15 2024'::timestamp
SELECT '2024-06-15 10:00 XYZ'::timestamptz
SELECT '2024-00-10'::date
SELECT '10:60'::time
SELECT '1 foo'::interval
SELECT to_char(timestamp '2024-06-05 03:04:05.678901', 'YYYY-FMMM-FMDD FMHH24:MI:SS.US TMMon Dy D ID W WW IW CC J Q RM fmrm SSSS'), to_char(timestamp '2024-06-05 13:04', 'HH:MI a.m. P.M.'), to_char(interval '-1 day -02:03', 'DD HH24:MI'), to_char(timestamp '2024-06-05', '"Day:" FMDay, \"x\" Ddth')
SELECT to_timestamp('05 Jun 2024 3:04:05 pm', 'DD Mon YYYY HH:MI:SS pm'), to_date('2024/6/5', 'YYYY/MM/DD'), to_date('5th of June 2024', 'DDth "of" Month YYYY'), to_timestamp('2024-06-05 03:04:05.6789', 'YYYY-MM-DD HH24:MI:SS.FF4'), to_date('44', 'YY'), to_date('2024-23', 'YYYY-WW'), to_timestamp('86399 2024-01-02', 'SSSSS YYYY-MM-DD')
SELECT to_date('2024-06-31', 'YYYY-MM-DD')
SELECT to_timestamp('2024 foo', 'YYYY Mon')
SELECT to_timestamp('10:20', 'HH24:MI:SS'), to_date('', 'YYYY'), to_date('2024', 'YYYY-MM-DD')
SELECT to_date('2024-06', 'YYYY IW MM')
SELECT to_char(1234.567, '9,999.9'), to_char(-12, 'S99'), to_char(12.5, '99.99MI'), to_char(0.05, '.99'), to_char(1e-3, '9.9EEEE'), to_char(99.99, '99'), to_char(1000, '9G999'), to_char(42, '"x"99"y"'), to_char(1.5::float4, '0.000'), to_char(-7, 'RN'), to_char(3999, 'FMRN'), to_char(12345678901, '99999999999'), to_char(5, 'FM00th')
SELECT to_number('(12)', '99PR'), to_number('1 2', '9 9'), to_number('12.', '99.'), to_number('.5', '9.9'), to_number('-1,000.50', 'S9,999.99'), to_number('$1', 'L9'), to_number('12abc', '99')
SELECT regexp_replace('abc', '(.)', '\1\1', 'g'), regexp_replace('a.b', '\.', '\\', 'g'), regexp_replace('abc', '', '-', 'g'), regexp_match('ab12', '([a-z]+)(\d+)'), regexp_matches('aab', 'a*?b'), regexp_split_to_array('abc', ''), regexp_split_to_table(',a,', ','), regexp_count('aaa', '(?=a)'), regexp_instr('hello', 'l+', 1, 1, 1), regexp_substr('k=v', '=(.)', 1, 1, '', 1)
SELECT 'abc' ~ '^(?:a|b)+c?$', 'ABC' ~ '(?i)abc', 'a1' ~ '[[:alpha:]][[:digit:]]', 'tab	x' ~ '\t', 'aXbX' ~ '(.)X\1', 'xyz' ~ 'x.*?z', 'foo.bar' ~ '^\w+\.\w+$', 'é' ~ '^.$', 'ab' SIMILAR TO '(a|b)*', 'a\' LIKE 'a\\', 'a_b' LIKE 'a\_b', 'AB' ILIKE 'a_'
SELECT 'a' LIKE 'a\'
SELECT 'a' ~ '(a'
SELECT 'a' ~ '[a'
SELECT 'a' ~ 'a**'
SELECT regexp_replace('a', 'a', 'b', 'z')
SELECT 'a' LIKE 'a' ESCAPE 'xx'
SELECT 0.1::numeric(3,2), 1e-5::numeric, 1.0e3, 5e-1::numeric::text, 1/0.3, 2::numeric ^ -2, sqrt(16::numeric), exp(0::numeric), round(1e15 + 0.5), 10.0 ^ 20, mod(-7.5, 2), 12.5 % 5, power(0::numeric, 0), ln(1::numeric), log(10, 1000::numeric), trunc(-1.99), round(123.456, -1), 1e-30::numeric * 3
SELECT 1e131072::numeric
SELECT 10::numeric ^ 200000
SELECT 0 ^ -1
SELECT (-8) ^ (1.0/3)
SELECT 'Infinity'::numeric / 'Infinity', 'Infinity'::float8 - 'Infinity', 1 / 'Infinity'::float8, 'NaN'::numeric = 'NaN', 'Infinity'::numeric > 1e100, -'Infinity'::numeric
SELECT 'Infinity'::numeric % 0
SELECT 1.5::int8, -2.5::int8, 32767.4::int2, 2147483647.4::int4, 9.5e18::float8::int8
SELECT 32767.5::int2
SELECT 9223372036854775807::float8::int8
SELECT '{1,2,3}'::int[] @> '{}', array[1,2,3] = '{1,2,3}', array_prepend(NULL, '{1}'::int[]), array_append('{}'::int[], NULL), array_cat('{1}', '{2}'::int[]), array_position('{1,2,3}'::int[], 2, 3), array_positions('{1,1}'::int[], 1), array_replace('{1,NULL}'::int[], NULL, 0), array_to_string('{}'::int[], ','), string_to_array('', ','), string_to_array('abc', NULL), trim_array('{1,2}'::int[], 2)
SELECT trim_array('{1,2}'::int[], 3)
SELECT array_fill(1, '{2}', '{5}')
SELECT array_upper('[2:3]={1,2}'::int[], 1), ('[2:3]={7,8}'::int[])[2]
SELECT unnest('{a,NULL}'::text[]), generate_series(1, 3)
SELECT jsonb_build_object('a', x, 'b', jsonb_agg(y ORDER BY y)) FROM (VALUES (1, 'p'), (1, 'q'), (2, NULL)) t(x, y) GROUP BY x ORDER BY x
SELECT jsonb_object_agg(k, v ORDER BY k) FILTER (WHERE v > 1) FROM (VALUES ('a', 1), ('b', 2)) t(k, v)
SELECT '{"a":"1","b":[{"c":null}]}'::jsonb #>> '{b,0,c}', '{"a":null}'::jsonb ->> 'a', '{"a":null}'::json -> 'a', '[1,[2,3]]'::jsonb #> '{1,1}', '{"a":{"b":1}}'::jsonb ? 'b', '{"a":1}'::jsonb @> '{"a":1.0}', '["1"]'::jsonb ? '1', '[1]'::jsonb ? '1'
SELECT jsonb_path_query_array(doc, '$.items[*] ? (@.sku == "t" && @.n < 2).n'), jsonb_path_exists(doc, '$.city ? (@ like_regex "^o" flag "i")') FROM docs ORDER BY id LIMIT 2
SELECT jsonb_path_query('{"t":["2024-01-02","2024-02-03"]}', '$.t[*].datetime() ? (@ > "2024-01-15".datetime())'), jsonb_path_query('[1,2,3]', '$[*] ? (@ > 1 && @ < 3 || @ == 3)'), jsonb_path_query('{"a":{"b":[1,2]}}', '$.a.b[*] * 10')
BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs ORDER BY id; FETCH FORWARD 3 FROM c; SAVEPOINT s; SELECT 1/0; ROLLBACK TO s; FETCH NEXT FROM c; COMMIT
BEGIN; SELECT count(*) FROM docs; SAVEPOINT a; SET LOCAL work_mem = '2MB'; ROLLBACK TO a; SHOW work_mem; RELEASE a; COMMIT
SET work_mem = '3MB'; BEGIN; SET work_mem = '5MB'; ROLLBACK; SHOW work_mem; RESET work_mem; SHOW ALL LIMIT
SELECT set_config('work_mem', '7MB', true), current_setting('work_mem'); SHOW work_mem
COPY (SELECT doc->'city', id, NULL::int, ARRAY[1,2], true, 1.50, date '2024-01-01' FROM docs ORDER BY id LIMIT 1) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *)
COPY (SELECT 1 AS "a b", E'x\ty') TO STDOUT (HEADER)
EXPLAIN (ANALYZE false, COSTS off, BUFFERS off, TIMING maybe) SELECT 1
-- parameters: ["{\"city\": \"Oslo\", \"paid\": true}", "2"]
SELECT count(*) FROM docs WHERE doc @> $1 AND doc->'qty' >= $2::text::jsonb
-- parameters: ["2", "5"]
SELECT count(*) FROM docs WHERE doc->'qty' = $1 OR doc->'qty' = $2
-- parameters: ["{\"a\":1}", "[\"b\", 2]", "null"]
SELECT count(*) FROM docs WHERE doc->'v' IN ($1, $2, $3)
-- parameters: ["1.0"]
SELECT id FROM docs WHERE doc->'v' = $1 ORDER BY id
-- parameters: ["\"a\""]
SELECT $1::jsonb || '[1]', to_jsonb($1::jsonb), jsonb_typeof($1)
-- parameters: ["{items,0}", "sku"]
SELECT doc#>$1->>$2 FROM docs ORDER BY id LIMIT 2
-- parameters: ["2024-02-30"]
SELECT $1::timestamp
-- parameters: ["10", "3"]
SELECT $1::numeric / $2, $1 % $2::numeric, round($1 / $2, 3)
-- parameters: ["{\"x\",\"y,z\",NULL}"]
SELECT array_length($1::text[], 1), unnest($1)
-- parameters: ["1 day", "2"]
SELECT $1::interval * $2, $2 * interval '1 hour', date '2024-01-01' + $2::int
-- parameters: [null, null]
SELECT $1::int + 1, coalesce($2, 'd'), $1 IS NULL
-- parameters: ["x%", "y"]
SELECT id FROM docs WHERE id LIKE $1 OR doc->>'city' ILIKE $2 OR id SIMILAR TO $1 LIMIT 1
