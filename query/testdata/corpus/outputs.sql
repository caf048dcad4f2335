-- Output styles that a session chooses, as drivers do.
SELECT interval 'P1Y2M3DT4H5M6.789S', interval 'PT-1H', interval 'P-1Y-2M3D', interval 'P2W', interval 'P0D', interval 'PT0.5S'
SELECT interval 'P'
SELECT interval 'P1H'
SELECT interval 'PT1D'
SELECT interval 'P1'
SELECT interval 'PT'
SELECT interval '@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs ago'
SET intervalstyle = 'iso_8601'
SELECT interval '1 year 2 months 3 days 04:05:06.789', interval '0', interval '-1 day -00:00:01.5', interval '1 day -1 hour', interval '-13 months', interval '25 hours', interval '0.000001 s'
SELECT x::text || '!', to_char(x, 'HH24') FROM (SELECT interval '26 hours' AS x) s
SET intervalstyle = 'sql_standard'
SELECT interval '1 year 2 months 3 days 04:05:06.789', interval '0', interval '-1 day -00:00:01.5', interval '1 day -1 hour', interval '-13 months', interval '25 hours', interval '3 days', interval '1 year'
SET intervalstyle = 'postgres_verbose'
SELECT interval '1 year 2 months 3 days 04:05:06.789', interval '0', interval '-1 day -00:00:01.5', interval '1 day -1 hour', interval '-13 months', interval '25 hours', interval '1 second', interval '-1 second', interval '-0.5 second', interval '1 year -1 second'
SET intervalstyle = 'Postgres'
SHOW intervalstyle
SET intervalstyle = 'roman'
RESET intervalstyle
SELECT '\x00005c41ff7e7f20'::bytea
SET bytea_output = escape
SELECT '\x00005c41ff7e7f20'::bytea, '\x'::bytea, '\x41'::bytea::text
RESET bytea_output
SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE
SHOW timezone
SELECT '2024-01-01 00:00:00+00'::timestamptz
SET TIME ZONE INTERVAL '+05:30' HOUR TO MINUTE
SELECT '2024-01-01 00:00:00+00'::timestamptz
SHOW timezone
SET TIME ZONE -3.5
SELECT '2024-01-01 00:00:00+00'::timestamptz
SET TIME ZONE INTERVAL '1 month'
SET TIME ZONE INTERVAL '1 day'
SET TIME ZONE 'UTC'
SELECT ('1 2'::int2vector)[0], ('1 2'::int2vector)::int2[], array_lower('1 2'::int2vector, 1), generate_subscripts('1 2'::int2vector, 1)
SELECT i.idx, i.v[i.idx] FROM (SELECT '3 5'::int2vector AS v, generate_subscripts('3 5'::int2vector, 1) AS idx) i ORDER BY 1
SELECT '[0:1]={1,2}'::int2[]
SELECT array_to_string('3 5'::int2vector, ','), 3 = ANY('3 5'::int2vector), unnest('3 5'::oidvector)
-- A subscript of a name selects a character.
SELECT ('abc'::name)[0], ('abc'::name)[2], ('abc'::name)[3], ('abc'::name)[-1], ('abc'::name)[64], ('abc'::name)[0] = 'a', ('_a'::name)[0] = '_'
-- Messages show names and values as they are.
select 'a"b\c'::int, 1
select * from "a""b"
select "x""y\z" from docs
select 'a	b'::date
select 'é'::bool
select '"\x'::numeric
select '{"o": 1}'::int
select jsonb_set('[1]', '{"a\"b"}', '2')
select 'x"y'::regclass
select nosuch('a"b')
select current_setting('a"b')
select 'a"\b'::interval
select '"\b'::jsonpath
select '\b"'::uuid
set timezone = 'a"b'
set work_mem = 'a"b'
select '99999999999'::int, repeat('9', 200)::int
select (repeat('x', 300) || '"')::int
select repeat('é', 300)::timestamp
select repeat('é', 300)::float8
select ('{' || repeat('é', 300))::int[]
select ('"' || repeat('é', 300))::int[]
