-- The WINDOW clause.
SELECT n, sum(n) OVER w, count(*) OVER (w ORDER BY n) FROM generate_series(1, 4) n WINDOW w AS (PARTITION BY n % 2) ORDER BY n
SELECT n, rank() OVER v FROM generate_series(1, 3) n WINDOW w AS (), v AS (w ORDER BY n DESC) ORDER BY n
SELECT sum(1) OVER w FROM (SELECT 1) x WINDOW v AS ()
SELECT sum(1) OVER (v PARTITION BY 1) FROM (SELECT 1) x WINDOW v AS (PARTITION BY 1)
SELECT sum(1) OVER (v ORDER BY 1) FROM (SELECT 1) x WINDOW v AS (ORDER BY 1)
SELECT sum(1) OVER (v) FROM (SELECT 1) x WINDOW v AS (ORDER BY 1 ROWS 1 PRECEDING)
SELECT sum(1) OVER v FROM (SELECT 1) x WINDOW v AS (), v AS ()
SELECT sum(1) OVER v FROM (SELECT 1) x WINDOW v AS (u), u AS ()
-- Window functions that are not aggregates.
SELECT n, row_number() OVER (ORDER BY n DESC), rank() OVER (ORDER BY n / 2), dense_rank() OVER (ORDER BY n / 2), percent_rank() OVER (ORDER BY n / 2), cume_dist() OVER (ORDER BY n / 2) FROM generate_series(1, 7) n ORDER BY n
SELECT n, ntile(3) OVER (ORDER BY n), ntile(10) OVER (ORDER BY n), ntile(1) OVER (ORDER BY n), ntile(NULL) OVER (ORDER BY n) FROM generate_series(1, 8) n ORDER BY n
SELECT ntile(0) OVER () FROM generate_series(1, 2) n
SELECT ntile(-1) OVER () FROM generate_series(1, 2) n
SELECT n, lag(n) OVER (ORDER BY n), lead(n) OVER (ORDER BY n), lag(n, 2) OVER (ORDER BY n), lead(n, 2, -1) OVER (ORDER BY n), lag(n, 0) OVER (ORDER BY n), lag(n, -1) OVER (ORDER BY n), lag(n, NULL) OVER (ORDER BY n) FROM generate_series(1, 5) n ORDER BY n
SELECT n, lag(n, n) OVER (ORDER BY n), lag(n::text, 1, 'none') OVER (ORDER BY n), lead(n, 1, n * 1.5) OVER (ORDER BY n), lag(n::int8, 1, 0) OVER (ORDER BY n) FROM generate_series(1, 4) n ORDER BY n
SELECT n, first_value(n) OVER w, last_value(n) OVER w, nth_value(n, 2) OVER w, nth_value(n, 20) OVER w, nth_value(n, NULL) OVER w FROM generate_series(1, 5) n WINDOW w AS (ORDER BY n) ORDER BY n
SELECT n, first_value(n) OVER w, last_value(n) OVER w, nth_value(n, 2) OVER w FROM generate_series(1, 6) n WINDOW w AS (PARTITION BY n % 2 ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) ORDER BY n
SELECT nth_value(n, 0) OVER () FROM generate_series(1, 2) n
SELECT lag(n, 1, 'x') OVER (ORDER BY n) FROM generate_series(1, 2) n
SELECT lag() OVER () FROM generate_series(1, 2) n
SELECT rank(1) OVER () FROM generate_series(1, 2) n
SELECT rank() FROM generate_series(1, 2) n
SELECT row_number()
SELECT lower('A') OVER ()
SELECT nosuch(1) OVER ()
SELECT generate_series(1, 2) OVER ()
-- ROWS frames.
SELECT n, sum(n) OVER (ORDER BY n ROWS 1 PRECEDING), sum(n) OVER (ORDER BY n ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING), sum(n) OVER (ORDER BY n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM generate_series(1, 6) n ORDER BY n
SELECT n, count(*) OVER (ORDER BY n ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING), sum(n) OVER (ORDER BY n ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING), array_agg(n) OVER (ORDER BY n ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM generate_series(1, 6) n ORDER BY n
SELECT n, sum(n * 1.5) OVER w, avg(n) OVER w, min(n) OVER w, max(n) OVER w, string_agg(n::text, '-') OVER w FROM generate_series(1, 6) n WINDOW w AS (ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) ORDER BY n
SELECT x, sum(x) OVER (ORDER BY x ROWS 1 PRECEDING), avg(x) OVER (ORDER BY x ROWS 1 PRECEDING) FROM (VALUES (1.5), (2), (3.25), (4.125), (5), (6)) v(x) ORDER BY x
SELECT x, sum(x) OVER (ORDER BY x ROWS 1 PRECEDING), count(x) OVER (ORDER BY x ROWS 1 PRECEDING) FROM (VALUES (1), (NULL), (2), (NULL), (3)) v(x) ORDER BY x
SELECT x, sum(x) OVER (ORDER BY x ROWS 1 PRECEDING) FROM (VALUES (0.1::float8), (0.2), (0.3), (1e20), (1)) v(x) ORDER BY x
SELECT n, sum(n) FILTER (WHERE n % 2 = 0) OVER (ORDER BY n ROWS 2 PRECEDING), count(*) FILTER (WHERE n > 3) OVER (ORDER BY n) FROM generate_series(1, 6) n ORDER BY n
SELECT n, sum(n) OVER (ORDER BY n ROWS BETWEEN 2147483648 PRECEDING AND 9223372036854775807 FOLLOWING) FROM generate_series(1, 3) n ORDER BY n
SELECT sum(n) OVER (ORDER BY n ROWS -1 PRECEDING) FROM generate_series(1, 3) n
SELECT sum(n) OVER (ORDER BY n ROWS NULL PRECEDING) FROM generate_series(1, 3) n
SELECT sum(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND -1 FOLLOWING) FROM generate_series(1, 3) n
SELECT sum(n) OVER (ORDER BY n ROWS n PRECEDING) FROM generate_series(1, 3) n
SELECT sum(n) OVER (ORDER BY n ROWS 'x' PRECEDING) FROM generate_series(1, 3) n
SELECT sum(n) OVER (ORDER BY n ROWS true PRECEDING) FROM generate_series(1, 3) n
SELECT sum(n) OVER (ORDER BY n ROWS 1.4 PRECEDING) FROM generate_series(1, 3) n ORDER BY n
SELECT n, sum(n) OVER (ORDER BY n ROWS '1' PRECEDING) FROM generate_series(1, 3) n ORDER BY n
SELECT sum(n) OVER (ORDER BY n ROWS sum(1) PRECEDING) FROM generate_series(1, 3) n
SELECT sum(n) OVER (ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM generate_series(1, 3) n
-- parameters: ["2"]
SELECT n, sum(n) OVER (ORDER BY n ROWS $1 PRECEDING) FROM generate_series(1, 4) n ORDER BY n
-- GROUPS frames.
SELECT n, g, sum(n) OVER (ORDER BY g GROUPS 1 PRECEDING), sum(n) OVER (ORDER BY g GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING), sum(n) OVER (ORDER BY g GROUPS BETWEEN 2 PRECEDING AND 1 PRECEDING), sum(n) OVER (ORDER BY g GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) FROM (SELECT n, n / 3 AS g FROM generate_series(1, 10) n) x ORDER BY n
SELECT n, count(*) OVER (ORDER BY n / 2 GROUPS BETWEEN 5 FOLLOWING AND 6 FOLLOWING) FROM generate_series(1, 4) n ORDER BY n
SELECT sum(n) OVER (GROUPS 1 PRECEDING) FROM generate_series(1, 3) n
-- RANGE frames.
SELECT n, sum(n) OVER (ORDER BY n RANGE 2 PRECEDING), sum(n) OVER (ORDER BY n DESC RANGE 2 PRECEDING), sum(n) OVER (ORDER BY n RANGE BETWEEN 1 FOLLOWING AND 3 FOLLOWING) FROM (VALUES (1), (2), (4), (7), (7), (8)) v(n) ORDER BY n
SELECT x, sum(x) OVER (ORDER BY x RANGE BETWEEN 0.5 PRECEDING AND 0.5 FOLLOWING) FROM (VALUES (1.0), (1.5), (2.1), (3), ('NaN'::numeric), ('Infinity'), ('-Infinity')) v(x) ORDER BY x
SELECT x, count(*) OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM (VALUES (1.0::float8), (1.5), (2.1), (3), ('NaN'), ('Infinity'), ('-Infinity')) v(x) ORDER BY x
SELECT x, count(*) OVER (ORDER BY x RANGE BETWEEN 'inf' PRECEDING AND 'inf' FOLLOWING) FROM (VALUES (1.0::float8), (1.5), ('NaN'), ('Infinity'), ('-Infinity')) v(x) ORDER BY x
SELECT x, count(*) OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING), count(*) OVER (ORDER BY x NULLS FIRST RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING), count(*) OVER (ORDER BY x DESC RANGE BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING) FROM (VALUES (1), (2), (NULL), (NULL), (4)) v(x) ORDER BY x
SELECT d, count(*) OVER (ORDER BY d RANGE '1 month' PRECEDING), count(*) OVER (ORDER BY d RANGE BETWEEN '1 day' PRECEDING AND interval '2 days' FOLLOWING) FROM (VALUES (date '2024-01-31'), ('2024-02-01'), ('2024-02-29'), ('2024-03-01'), ('2024-03-31')) v(d) ORDER BY d
SELECT t, count(*) OVER (ORDER BY t RANGE BETWEEN '30 minutes' PRECEDING AND '30 minutes' FOLLOWING) FROM (VALUES (timestamp '2024-01-31 10:00'), ('2024-01-31 10:20'), ('2024-01-31 10:45'), ('2024-01-31 12:00')) v(t) ORDER BY t
SELECT t, count(*) OVER (ORDER BY t DESC RANGE BETWEEN '1 hour' PRECEDING AND CURRENT ROW) FROM (VALUES (timestamptz '2024-01-31 10:00+00'), ('2024-01-31 10:20+00'), ('2024-01-31 11:45+00')) v(t) ORDER BY t
SELECT t, count(*) OVER (ORDER BY t RANGE BETWEEN '1 hour' PRECEDING AND CURRENT ROW) FROM (VALUES (interval '1 hour'), ('90 minutes'), ('3 hours')) v(t) ORDER BY t
SELECT sum(n) OVER (ORDER BY n RANGE -1 PRECEDING) FROM generate_series(1, 3) n
SELECT sum(n) OVER (ORDER BY n RANGE NULL PRECEDING) FROM generate_series(1, 3) n
SELECT sum(n) OVER (ORDER BY n, n RANGE 1 PRECEDING) FROM generate_series(1, 3) n
SELECT sum(n) OVER (RANGE 1 PRECEDING) FROM generate_series(1, 3) n
SELECT count(*) OVER (ORDER BY x RANGE 1 PRECEDING) FROM (VALUES ('a'), ('b')) v(x)
SELECT count(*) OVER (ORDER BY d RANGE 1 PRECEDING) FROM (VALUES (date '2024-01-01')) v(d)
SELECT count(*) OVER (ORDER BY n RANGE 1.5 PRECEDING) FROM generate_series(1, 3) n
SELECT count(*) OVER (ORDER BY n RANGE true PRECEDING) FROM generate_series(1, 3) n
SELECT count(*) OVER (ORDER BY d RANGE '-1 day' PRECEDING) FROM (VALUES (date '2024-01-01')) v(d)
SELECT n, sum(n) OVER (ORDER BY n::int8 RANGE 1::int2 PRECEDING), sum(n) OVER (ORDER BY n::int2 RANGE 1::int8 PRECEDING), sum(n) OVER (ORDER BY n RANGE 9223372036854775807 PRECEDING) FROM generate_series(1, 3) n ORDER BY n
-- EXCLUDE.
SELECT n, sum(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW), sum(n) OVER (ORDER BY n / 2 ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP), sum(n) OVER (ORDER BY n / 2 RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES), sum(n) OVER (ORDER BY n ROWS 1 PRECEDING EXCLUDE NO OTHERS) FROM generate_series(1, 6) n ORDER BY n
SELECT n, first_value(n) OVER w, last_value(n) OVER w, nth_value(n, 2) OVER w, nth_value(n, 3) OVER w, count(*) OVER w FROM generate_series(1, 6) n WINDOW w AS (ORDER BY n ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW) ORDER BY n
SELECT n, array_agg(n) OVER w, first_value(n) OVER w, last_value(n) OVER w, nth_value(n, 2) OVER w, nth_value(n, 4) OVER w FROM generate_series(1, 7) n WINDOW w AS (ORDER BY n / 3 GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES) ORDER BY n
SELECT n, array_agg(n) OVER w, first_value(n) OVER w, last_value(n) OVER w, nth_value(n, 2) OVER w FROM generate_series(1, 7) n WINDOW w AS (ORDER BY n / 3 GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP) ORDER BY n
-- Where window functions are allowed.
SELECT n % 3 AS k, sum(n), sum(sum(n)) OVER (ORDER BY n % 3), rank() OVER (ORDER BY count(*) DESC, n % 3) FROM generate_series(1, 10) n GROUP BY n % 3 ORDER BY k
SELECT n % 3 AS k, sum(count(*)) FILTER (WHERE count(*) > 3) OVER () FROM generate_series(1, 10) n GROUP BY 1 ORDER BY 1
SELECT n FROM generate_series(1, 5) n ORDER BY row_number() OVER (ORDER BY n DESC)
SELECT n, row_number() OVER (ORDER BY n) AS a FROM generate_series(1, 5) n ORDER BY row_number() OVER (ORDER BY -n)
SELECT DISTINCT count(*) OVER (PARTITION BY n % 2) FROM generate_series(1, 5) n ORDER BY 1
SELECT n, 1 + sum(n) OVER (ORDER BY n) * 2, CASE WHEN rank() OVER (ORDER BY n) > 2 THEN 'x' END FROM generate_series(1, 4) n ORDER BY n
SELECT * FROM (SELECT n, row_number() OVER (PARTITION BY n % 2 ORDER BY n DESC) r FROM generate_series(1, 6) n) x WHERE r = 1 ORDER BY n
SELECT n FROM generate_series(1, 3) n WHERE row_number() OVER () = 1
SELECT count(*) FROM generate_series(1, 3) n GROUP BY row_number() OVER ()
SELECT count(*) FROM generate_series(1, 3) n HAVING row_number() OVER () = 1
SELECT sum(row_number() OVER ()) FROM generate_series(1, 3) n
SELECT sum(sum(n) OVER ()) OVER () FROM generate_series(1, 3) n
SELECT sum(n) OVER (ORDER BY sum(n) OVER ()) FROM generate_series(1, 3) n
SELECT n FROM generate_series(1, 3) n LIMIT row_number() OVER ()
SELECT sum(DISTINCT n) OVER () FROM generate_series(1, 3) n
SELECT rank() FILTER (WHERE true) OVER () FROM generate_series(1, 3) n
SELECT array_agg(n ORDER BY n) OVER () FROM generate_series(1, 3) n
SELECT sum(n) OVER (PARTITION BY m) FROM generate_series(1, 3) n
SELECT n, sum(n) OVER (PARTITION BY 'a' ORDER BY NULL) FROM generate_series(1, 3) n ORDER BY n
SELECT sum(1) OVER (ORDER BY '{}'::json)
SELECT sum(1) OVER (PARTITION BY '{}'::json)
SELECT id, row_number() OVER (ORDER BY doc->'i'), lag(id) OVER (ORDER BY id), sum((doc->>'i')::int) OVER (ORDER BY id ROWS 2 PRECEDING) FROM docs ORDER BY id LIMIT 10
SELECT doc->'key'->>0 AS k, id, rank() OVER (PARTITION BY doc->'key'->>0 ORDER BY id DESC), max(id) OVER (PARTITION BY doc->'key'->>0) FROM docs ORDER BY k, id
SELECT n, stddev(n) OVER w, var_pop(n) OVER w, bool_and(n > 1) OVER w, bit_or(n) OVER w FROM generate_series(1, 5) n WINDOW w AS (ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) ORDER BY n
SELECT row_number() OVER (ORDER BY n DESC), n FROM generate_series(1, 4) n
SELECT i, sum(i) OVER (ORDER BY i ROWS 1 PRECEDING), avg(i) OVER (ORDER BY i ROWS 1 PRECEDING) FROM (VALUES (interval '1 hour'), ('90 minutes'), ('3 hours')) v(i) ORDER BY i
-- the last of equal values
SELECT max(x), min(x) FROM (VALUES (1.0),(1.00)) v(x)
SELECT max(x), min(x) FROM (VALUES (1.00),(1.0)) v(x)
-- Definitions of windows that nothing uses are checked all the same.
SELECT x FROM (VALUES (1),(2)) t(x) WINDOW w AS (ORDER BY nope)
SELECT x FROM (VALUES (1),(2)) t(x) WINDOW w AS (PARTITION BY nope)
SELECT x FROM (VALUES (1),(2)) t(x) WINDOW w AS (ORDER BY sum(x))
SELECT x FROM (VALUES (1),(2)) t(x) WINDOW w AS (ORDER BY rank() OVER ())
SELECT x FROM (VALUES (1),(2)) t(x) WINDOW w AS (ORDER BY x RANGE 'a' PRECEDING)
SELECT x FROM (VALUES (1),(2)) t(x) WINDOW w AS (ORDER BY x GROUPS x PRECEDING)
SELECT x FROM (VALUES (1),(2)) t(x) WINDOW w AS (ORDER BY x), v AS (w ROWS 1 PRECEDING)
-- Definitions that no call uses.
SELECT count(*) FROM (VALUES (1,2)) v(a,b) GROUP BY a WINDOW w AS (ORDER BY b)
SELECT count(*) FROM (VALUES (1,2)) v(a,b) WINDOW w AS (PARTITION BY b)
SELECT count(*) FROM (VALUES (1,2)) v(a,b) WINDOW w AS (ORDER BY c)
SELECT a FROM (VALUES (1,2)) v(a,b) WINDOW w AS (ORDER BY sum(b))
SELECT sum(a) FROM (VALUES (1,2)) v(a,b) WINDOW w AS (ORDER BY sum(b))
SELECT a FROM (VALUES (1,2)) v(a,b) WINDOW w AS (ORDER BY b), w AS (ORDER BY a)
SELECT a FROM (VALUES (1,2)) v(a,b) WINDOW w AS (ORDER BY b ROWS BETWEEN a PRECEDING AND CURRENT ROW)
SELECT a FROM (VALUES (1,2)) v(a,b) WINDOW w AS (RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)
SELECT a FROM (VALUES (1,2)) v(a,b) WINDOW w AS (ORDER BY row_number() OVER ())
SELECT a FROM (VALUES (1,2)) v(a,b) WINDOW w AS (w2), w2 AS (ORDER BY a)
SELECT a FROM (VALUES (1,2)) v(a,b) GROUP BY a WINDOW w AS (ORDER BY a ROWS BETWEEN 'x' PRECEDING AND CURRENT ROW)
SELECT a FROM (VALUES (1,2)) v(a,b) GROUP BY a WINDOW w AS (PARTITION BY a + b)
-- More of the same, together.
SELECT x, y, rank() OVER (PARTITION BY y ORDER BY x DESC) r FROM (VALUES (1,'a'),(2,'a'),(2,'b'),(NULL,'b')) v(x,y) ORDER BY y, r, x
SELECT x, last_value(x) OVER (ORDER BY x RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM (VALUES (1),(2),(2),(3)) v(x)
SELECT x, nth_value(x, 2) OVER (ORDER BY x ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING) FROM generate_series(1,5) x
SELECT x, count(*) OVER (ORDER BY x DESC ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) FROM generate_series(1,5) x
SELECT x, sum(x) OVER w1, avg(x) OVER w2 FROM generate_series(1,4) x WINDOW w1 AS (ORDER BY x), w2 AS (w1 ROWS 1 PRECEDING)
SELECT x, sum(x) OVER (w ORDER BY x) FROM generate_series(1,4) x WINDOW w AS (PARTITION BY x % 2)
SELECT sum(x) OVER (w PARTITION BY x) FROM generate_series(1,4) x WINDOW w AS (ORDER BY x)
SELECT sum(x) OVER (w ORDER BY x) FROM generate_series(1,4) x WINDOW w AS (ORDER BY x)
SELECT sum(x) OVER (w) FROM generate_series(1,4) x WINDOW w AS (ORDER BY x ROWS 1 PRECEDING)
SELECT sum(x) OVER (nope) FROM generate_series(1,4) x
SELECT t, count(*) OVER (ORDER BY t RANGE '1 hour' PRECEDING) FROM (VALUES (time '10:00'),('10:30'),('12:00')) v(t)
SELECT t, count(*) OVER (ORDER BY t DESC RANGE BETWEEN '1 day' PRECEDING AND '1 day' FOLLOWING) FROM (VALUES (timestamptz '2020-01-01 00:00+00'),('2020-01-02 00:00+00'),('2020-01-05 00:00+00')) v(t)
SELECT x, bool_and(x > 1) OVER (ORDER BY x ROWS 1 PRECEDING), bit_or(x) OVER (ORDER BY x) FROM generate_series(1,4) x
SELECT x, max(x) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM generate_series(1,3) x
SELECT json_agg(x) OVER (ORDER BY x), jsonb_object_agg(x, -x) OVER (ORDER BY x ROWS 1 PRECEDING) FROM generate_series(1,3) x
SELECT grouping(x, y), x, y, count(*), sum(count(*)) OVER (PARTITION BY grouping(x, y)) FROM (VALUES (1,2),(1,3)) v(x,y) GROUP BY CUBE (x, y) ORDER BY 1, 2, 3
SELECT id, rank() OVER (ORDER BY (doc->>'i')::int DESC) FROM docs ORDER BY 2 LIMIT 3
