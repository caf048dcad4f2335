-- Type modifiers of results, which tools show as numeric(10,2) and varchar(5). PostgreSQL computes constant conditions
-- before it describes a result; these have none.
SELECT CASE WHEN i > 0 THEN 1::numeric(10,2) END, CASE WHEN i > 0 THEN 1::numeric(10,2) ELSE 2::numeric(10,2) END, CASE WHEN i > 0 THEN 1::numeric(10,2) ELSE 2::numeric(10,3) END, CASE WHEN i > 0 THEN 1::numeric(10,2) ELSE NULL END FROM generate_series(1,1) i
SELECT CASE i WHEN 1 THEN a WHEN 2 THEN a ELSE b END, COALESCE(a, b), COALESCE(a, 'b'), COALESCE(a, c), GREATEST(a, b), LEAST(a, c), NULLIF(d, 1), NULLIF(d, d), NULLIF(a, 'x') FROM (SELECT i, i::text::varchar(5) a, i::text::varchar(5) b, i::text::varchar(6) c, i::numeric(4,1) d FROM generate_series(1,2) i) t
SELECT (SELECT d), ARRAY[d, d], (ARRAY[d])[1], (ARRAY[d])[1:1], ARRAY(SELECT d), -d, +d, d + 1, d::numeric, d::numeric(6,2), abs(d), (d) FROM (SELECT i::numeric(4,1) d FROM generate_series(1,2) i) t
SELECT min(d), max(d), sum(d), array_agg(d), first_value(min(d)) OVER () FROM (SELECT i::numeric(4,1) d FROM generate_series(1,2) i) t
SELECT lag(a) OVER (ORDER BY a), a || 'b', lower(a), a::text, a::varchar, a::varchar(2), a COLLATE "C" FROM (SELECT i::text::varchar(5) a FROM generate_series(1,2) i) t
VALUES (1::numeric(10,2)), (2::numeric(10,2))
VALUES ('a'::varchar(3)), ('b')
VALUES ('a'::varchar(3)), ('b'::varchar(4))
SELECT d FROM (VALUES (1::numeric(10,2)), (2::numeric(10,2))) t(d) UNION ALL SELECT 3::numeric(10,2) ORDER BY 1
SELECT 1::numeric(10,2) UNION ALL SELECT 2
SELECT d, (t).d, (t).* FROM (SELECT i::numeric(4,1) d FROM generate_series(1,1) i) t
SELECT a.d, d FROM (SELECT i::numeric(4,1) d FROM generate_series(1,1) i) a JOIN (SELECT i::numeric(4,1) d FROM generate_series(1,1) i) b USING (d)
SELECT d FROM (SELECT i::numeric(4,1) d FROM generate_series(1,1) i) a FULL JOIN (SELECT i::numeric(5,1) d FROM generate_series(1,2) i) b USING (d) ORDER BY 1
SELECT d, count(*) FROM (SELECT i::numeric(4,1) d FROM generate_series(1,1) i) t GROUP BY d
WITH c AS (SELECT i::numeric(4,1) d FROM generate_series(1,1) i) SELECT d, (SELECT max(c.d) OVER () FROM c) FROM c
SELECT '2020-01-01 00:00:00.123456'::timestamp(3), '10:00:00.123456'::time(2), '1 day'::interval day, '1.234 s'::interval(1), '1 day'::interval day to second(2), current_timestamp(2) IS NULL, 'a'::char(3), 'a'::char, 'a'::bpchar
-- A modifier of an array's type is that of its items.
SELECT ARRAY[1.25, 2]::numeric(8,1)[], '{1.25,NULL}'::numeric(10,1)[], ARRAY['abc', 'd']::varchar(2)[], ARRAY['abc', 'd']::char(2)[], '{10:00:00.5678}'::time(1)[], ARRAY['abc', 'd']::text[]::varchar(1)[]
SELECT ARRAY[12345]::numeric(4,1)[]
SELECT ARRAY[a, b]::varchar(1)[] FROM (VALUES ('ab', 'cd')) t(a, b)
-- NULLIF has the type that the comparison gives its first argument.
SELECT NULLIF(1, 2.5), NULLIF(1::smallint, 3), NULLIF(1, 2::bigint), NULLIF('a'::varchar(3), 'b'), NULLIF('a'::char(3), 'b'), NULLIF('a', 'b'), NULLIF(1.5::real, 2), NULLIF(1.5::real, 2.5::float8), NULLIF(date '2020-01-01', timestamp '2020-01-02'), NULLIF('x'::name, 'y')
SELECT NULLIF(NULL, 1), NULLIF(1, NULL), NULLIF(x, 2.0) FROM (VALUES (1), (2)) t(x)
SELECT NULLIF(1::real, 1), NULLIF(2::bigint, 1.0), NULLIF('{"a":1}'::jsonb, '{}'), NULLIF('a'::char(3), 'b'::varchar), NULLIF('a'::text, 'b'::char(2)), NULLIF('1 day'::interval, '2 days'), NULLIF(ARRAY[1], '{2}'), NULLIF(true, false), NULLIF(ROW(1), ROW(1)) IS NULL
-- Type modifiers of parameters.
-- parameters: ["abcdef"]
SELECT $1::varchar(3), $1::varchar
-- parameters: ["ab"]
SELECT $1::char(3)
-- parameters: ["1.2345"]
SELECT $1::numeric(5,2), $1
-- parameters: ["1234.5"]
SELECT $1::numeric(5,2)
-- parameters: ["2020-01-01 12:00:00.987654"]
SELECT $1::timestamp(0)
-- parameters: ["1 day 02:03:04.567"]
SELECT $1::interval hour to minute
-- parameters: ["{1.2345,2.3}"]
SELECT $1::numeric(5,2)[]
-- parameters: ["1"]
SELECT CASE $1 WHEN 1 THEN 'a' ELSE 'b' END
SELECT format_type(1043, 104), format_type(1042, 5), format_type(1700, 655366), format_type(1114, 3), format_type(1184, 0), format_type(1083, 2), format_type(1266, 6), format_type(25, 10), format_type(1700, 4)
SELECT format_type(1186, 2147418115), format_type(1186, 327679), format_type(1186, 268435459), format_type(1186, 470286338), format_type(1186, 458751), format_type(1186, 402718719), format_type(1186, 67698687)
SELECT format_type(1042, -1), format_type(1042, NULL), format_type(18, NULL), format_type(18, -1), format_type(1043, 0), format_type(1042, 3), format_type(1700, -5), format_type(1114, 9), format_type(1700, 329730)
SELECT format_type(1015, 14), format_type(1231, 655366), format_type(1182, 3), format_type(1005, 3), format_type(23, 5), format_type(19, 5), format_type(1014, -1)
SELECT format_type(1186, 3)
