-- Types of casts, of arrays whose items are cast, and of operands with a common type; texts and numbers at their edges.
SELECT NULLIF('ab  '::bpchar, 'x'::text), NULLIF('ab  '::bpchar, 'x'::varchar), NULLIF('ab '::varchar, 'ab'::bpchar), NULLIF('x'::name, 'y'::text), NULLIF('x'::"char", 'y'::text), NULLIF('x'::text, 'y'::name)
SELECT NULLIF(time '12:34', timetz '12:34+02'), NULLIF(timetz '12:34+02', time '12:34'), NULLIF(time '12:34', interval '1 day'), NULLIF(time '12:34', interval '12:34')
SELECT NULLIF(7, '7'::jsonb)
SELECT NULLIF('7'::jsonb, 7)
SELECT NULLIF('7'::jsonb, '7'), NULLIF('7'::jsonb, '8'::jsonb)
SELECT COALESCE(date '2024-02-29', time '12:34')
SELECT CASE WHEN true THEN timestamp '2024-02-29' ELSE timetz '12:34+02' END
SELECT CASE WHEN true THEN 1 ELSE date '2024-02-29' END
SELECT GREATEST(time '12:34', timestamptz '2024-02-29')
SELECT date '2024-02-29' UNION SELECT time '12:34'
VALUES (date '2024-02-29'), (time '12:34')
SELECT ARRAY[time '12:34', date '2024-02-29']
SELECT true::name, false::text, true::varchar, 7::name, 'infinity'::timestamp::time(1), '-infinity'::timestamptz::time
SELECT 7::"char", 7::int8::"char"
SELECT true::"char"
SELECT 7::xid
SELECT '12'::xid::int8
SELECT '010'::xid, '0xff'::xid, '-1'::xid, ''::xid, 'z'::xid, '12z'::xid, '99999999999999999999'::xid, '4294967297'::xid
SELECT ARRAY[7, '8.5', NULL]::numeric[], ARRAY['x', 7]::text[], ARRAY['2024-02-30'::text, 'x']::varchar(3)[], ARRAY[1.26, '7']::numeric(5,1)[]
SELECT ARRAY[7, 'x']::int[]
SELECT ARRAY[7, true]::date[]
SELECT ARRAY[true, 'f']::int[], CAST(ARRAY[1, 2.7] AS int[]), ARRAY[NULL]::text[], ARRAY['{"a": 1}', 'null']::jsonb[]
SELECT id, (ARRAY[doc->'i', '7'])::text[] FROM docs WHERE id < 'd02' ORDER BY id
SELECT 7 = ANY (ARRAY['7', 8]::bigint[]), '8.0' = ANY (ARRAY[7, 8]::numeric[])
SELECT unistr('\d83d\de00 \+01f600 \U0001F600 \\ \0041\u00e9')
SELECT unistr('x \db99')
SELECT unistr('x \db99y')
SELECT unistr('x \db99\\')
SELECT unistr('x \dc00')
SELECT unistr('x \+00db99\u0061')
SELECT unistr('x \+2FFFFF')
SELECT unistr('x \0000')
SELECT unistr('x \12')
SELECT lower(a := 'x')
SELECT * FROM nothing_such(1, b => 'x'::text)
SELECT jsonb_set_lax('{"a": 1}', '{a}', null, null_value_treatment => 'delete_key'), jsonb_set_lax(path => '{b}', jsonb_in => '{"a": 1}', replacement => '2', create_if_missing => false)
SELECT '[]'::jsonb #- '{a}', '{}'::jsonb #- '{a}', '{"b": []}'::jsonb #- '{b,0}'
SELECT '{"b": []}'::jsonb #- '{b,x}'
SELECT ('[1]'::jsonb)[:]
SELECT make_interval(hours => 2147483647, mins => -2147483648), make_interval(secs => 9e12), make_interval(secs => -9223372036854), make_interval(weeks => 306783378, days => 1), make_interval(years => 178956970, months => 7)
SELECT make_interval(secs => 'inf')
SELECT power(-7::float8, 'NaN'), power('NaN'::float8, 0), power(1::float8, 'NaN'), (-1)::float8 ^ '-inf'
SELECT timestamptz(date '2024-02-29', time '12:34'), timestamptz(date '2024-02-29', timetz '12:34-03'), "timestamp"(date '2024-02-29', time '24:00'), timestamptz(date 'infinity', time '12:34')
SELECT to_regprocedure('nosuch.lower(text)'), to_regprocedure('pg_catalog.lower(text)') IS NULL
SELECT 'nosuch.lower(text)'::regprocedure
SELECT to_regrole('a.b')
SELECT to_regnamespace('a.b')
SELECT 'a.b'::regrole
SELECT 'a.b'::regnamespace
SELECT string_agg(DISTINCT v, ',' ORDER BY v DESC), array_agg(DISTINCT v ORDER BY v) FROM (VALUES ('b'::varchar), ('a'), ('b')) t(v)
SELECT string_agg(DISTINCT n::text, ',' ORDER BY n) FROM (VALUES (2), (1)) t(n)
SELECT to_char(1e-320::float8, '9.9'), 1e-320::float8::float4
SELECT trunc('7.5')
SELECT trunc(7.5), trunc('7.55'::numeric, 1), trunc('7.55', 1), bit_count('x'::bytea)
SELECT bit_count('x')
SELECT lead(NULL) OVER (ORDER BY i) FROM generate_series(1, 2) i
SELECT first_value('x') OVER (ORDER BY i), lag(NULL::int, 1, i) OVER (ORDER BY i) FROM generate_series(1, 2) i
SELECT n, c, pg_typeof(c) FROM (VALUES (1, 'x'), (2, 'y') EXCEPT ALL SELECT 1.0, 'x'::char(6)) x(n, c) ORDER BY n
SELECT c, pg_typeof(c) FROM (VALUES ('x') UNION SELECT 'y'::varchar(3)) x(c) ORDER BY c
SELECT n, pg_typeof(n) FROM (VALUES (NULL) UNION SELECT 7) x(n) ORDER BY n
VALUES (NULL), (NULL) UNION SELECT 7
VALUES ('7') UNION SELECT 7
VALUES ('7'), ('8') UNION SELECT 7
SELECT date_part('timezone_hour', timestamptz 'infinity'), extract(timezone_minute FROM timestamptz '-infinity'), extract(timezone FROM timestamptz 'infinity')
SELECT date_part('timezone', timestamp 'infinity')
SELECT extract(timezone_hour FROM timestamp 'infinity')
SELECT extract(timezone_hour FROM date 'infinity')
SELECT date_part('timezone_minute', timestamp 'infinity')
SELECT parse_ident('a.b[]', strict => false), parse_ident(str => 'A."B"')
SELECT parse_ident(str => 'a.b[]')
SELECT '12'::xid = 12, xmin = 7 IS NOT NULL FROM pg_class WHERE relname = 'pg_class'
SELECT '12'::xid::bigint
SELECT '12'::xid::int4
