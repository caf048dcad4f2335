-- Windows, grouping sets, ordered-set aggregates and recursive queries, with their errors.
-- alone
SELECT id, row_number() OVER (PARTITION BY doc->>'city' ORDER BY (doc->>'amount')::numeric DESC) FROM docs ORDER BY id LIMIT 6
SELECT id, rank() OVER w, dense_rank() OVER w, percent_rank() OVER w, cume_dist() OVER w, ntile(4) OVER w FROM docs WINDOW w AS (ORDER BY (doc->>'qty')::int, id) ORDER BY id LIMIT 8
SELECT x, sum(x) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM generate_series(1,5) x
SELECT x, array_agg(x) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM generate_series(1,4) x
SELECT x, array_agg(x) OVER (ORDER BY x/2 RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES) FROM generate_series(1,6) x
SELECT x, array_agg(x) OVER (ORDER BY x/2 GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE GROUP) FROM generate_series(1,6) x
SELECT x, array_agg(x) OVER (ORDER BY x DESC RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM generate_series(1,6) x
SELECT x, array_agg(x) OVER (ORDER BY x ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING) FROM generate_series(1,5) x
SELECT x, array_agg(x) OVER (ORDER BY x ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING) FROM generate_series(1,5) x
SELECT x, count(*) OVER (ORDER BY x RANGE BETWEEN interval '1 day' PRECEDING AND CURRENT ROW) FROM generate_series(timestamp '2024-01-01', '2024-01-05', '12 hours') x
SELECT x, count(*) OVER (ORDER BY x RANGE BETWEEN 1.5 PRECEDING AND 0.5 FOLLOWING) FROM generate_series(1.0, 4.0, 0.5) x
SELECT d, count(*) OVER (ORDER BY d RANGE BETWEEN '1 month' PRECEDING AND '1 month' FOLLOWING) FROM (VALUES (date '2024-01-31'), ('2024-02-29'), ('2024-03-31'), ('2024-05-01')) t(d)
SELECT x, first_value(x) OVER w, last_value(x) OVER w, nth_value(x, 2) OVER w FROM generate_series(1,5) x WINDOW w AS (ORDER BY x ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)
SELECT x, lag(x) OVER (ORDER BY x), lead(x, 2) OVER (ORDER BY x), lag(x, 1, -1) OVER (ORDER BY x DESC), lead(x, -1, 0) OVER (ORDER BY x) FROM generate_series(1,4) x
SELECT x, sum(x) FILTER (WHERE x % 2 = 0) OVER (ORDER BY x) FROM generate_series(1,5) x
SELECT x, avg(x) OVER (w ROWS 2 PRECEDING), max(x) OVER w FROM generate_series(1,5) x WINDOW w AS (ORDER BY x)
SELECT x, sum(x) OVER (w RANGE UNBOUNDED PRECEDING) FROM generate_series(1,3) x WINDOW w AS (ORDER BY x ROWS 1 PRECEDING)
SELECT x, sum(x) OVER (w ORDER BY x) FROM generate_series(1,3) x WINDOW w AS (ORDER BY x)
SELECT x, sum(x) OVER (w PARTITION BY x) FROM generate_series(1,3) x WINDOW w AS (ORDER BY x)
SELECT sum(x) OVER nosuch FROM generate_series(1,3) x
SELECT sum(x) OVER (ORDER BY x ROWS -1 PRECEDING) FROM generate_series(1,3) x
SELECT sum(x) OVER (ORDER BY x ROWS NULL PRECEDING) FROM generate_series(1,3) x
SELECT sum(x) OVER (ORDER BY x ROWS x PRECEDING) FROM generate_series(1,3) x
SELECT sum(x) OVER (ORDER BY x ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM generate_series(1,3) x
SELECT sum(x) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM generate_series(1,3) x
SELECT sum(x) OVER (RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM generate_series(1,3) x
SELECT sum(x) OVER (ORDER BY x, x RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM generate_series(1,3) x
SELECT sum(x) OVER (GROUPS 1 PRECEDING) FROM generate_series(1,3) x
SELECT count(*) OVER (ORDER BY t RANGE 1 PRECEDING) FROM (VALUES ('a'),('b')) v(t)
SELECT ntile(0) OVER (ORDER BY x) FROM generate_series(1,3) x
SELECT nth_value(x, 0) OVER (ORDER BY x) FROM generate_series(1,3) x
SELECT x FROM generate_series(1,3) x WHERE row_number() OVER () = 1
SELECT x FROM generate_series(1,3) x GROUP BY rank() OVER (ORDER BY x)
SELECT row_number() FROM generate_series(1,3) x
SELECT sum(sum(x)) OVER (ORDER BY x % 2) FROM generate_series(1,5) x GROUP BY x % 2
SELECT x % 2, rank() OVER (ORDER BY count(*) DESC) FROM generate_series(1,5) x GROUP BY 1 ORDER BY 1
SELECT sum(row_number() OVER ()) FROM generate_series(1,3) x
SELECT row_number() OVER (ORDER BY row_number() OVER ()) FROM generate_series(1,3) x
SELECT lag(x) FILTER (WHERE x > 1) OVER (ORDER BY x) FROM generate_series(1,3) x
SELECT count(DISTINCT x) OVER () FROM generate_series(1,3) x
SELECT string_agg(x::text, ',' ORDER BY x) OVER () FROM generate_series(1,3) x
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) OVER () FROM generate_series(1,3) x
SELECT abs(x) OVER () FROM generate_series(1,3) x
SELECT jsonb_agg(x) OVER (ORDER BY x), jsonb_object_agg(x, x*x) OVER (ORDER BY x) FROM generate_series(1,3) x
SELECT string_agg(x::text, ',') OVER (ORDER BY x ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) FROM generate_series(1,4) x
SELECT x, stddev(x) OVER (ORDER BY x ROWS 2 PRECEDING), var_pop(x) OVER (ORDER BY x) FROM generate_series(1,4) x
SELECT x, bool_and(x < 3) OVER (ORDER BY x), bit_or(x) OVER (ORDER BY x) FROM generate_series(1,4) x
SELECT x, last_value(x) OVER (ORDER BY x NULLS FIRST), count(x) OVER (ORDER BY x NULLS FIRST RANGE 1 PRECEDING) FROM (VALUES (1),(NULL),(2),(NULL)) t(x)
SELECT x, sum(x) OVER (ORDER BY x RANGE BETWEEN 'NaN' PRECEDING AND CURRENT ROW) FROM (VALUES (1.0),(2)) t(x)
SELECT x, sum(x) OVER (ORDER BY x RANGE BETWEEN 'infinity'::float8 PRECEDING AND CURRENT ROW) FROM (VALUES (1.0::float8),(2),('infinity')) t(x)
SELECT DISTINCT ON (doc->>'city') doc->>'city', id FROM docs ORDER BY doc->>'city', id DESC
SELECT DISTINCT ON (a) a, b FROM (VALUES (1,2),(1,1),(2,3)) t(a,b) ORDER BY b
SELECT DISTINCT a FROM (VALUES (1,2),(1,1)) t(a,b) ORDER BY b
SELECT city, status, count(*) FROM (SELECT doc->>'city' city, doc->>'status' status FROM docs) d GROUP BY GROUPING SETS ((city, status), (city), ()) ORDER BY city NULLS LAST, status NULLS LAST
SELECT city, status, grouping(city, status), sum(q) FROM (SELECT doc->>'city' city, doc->>'status' status, (doc->>'qty')::int q FROM docs) d GROUP BY ROLLUP (city, status) HAVING grouping(status) = 1 ORDER BY 1, 2
SELECT a, b, c, count(*), grouping(a), grouping(b,c) FROM (VALUES (1,1,1),(1,2,1),(2,1,2)) t(a,b,c) GROUP BY CUBE (a, (b, c)) ORDER BY 1,2,3,5,6
SELECT a, b, count(*) FROM (VALUES (1,1),(1,2),(2,1)) t(a,b) GROUP BY a, ROLLUP (b) ORDER BY 1, 2
SELECT a, count(*) FROM (VALUES (1,1),(1,2)) t(a,b) GROUP BY DISTINCT ROLLUP (a), ROLLUP (a) ORDER BY 1
SELECT a, count(*) FROM (VALUES (1,1),(1,2)) t(a,b) GROUP BY ALL ROLLUP (a), ROLLUP (a) ORDER BY 1
SELECT grouping(a) FROM (VALUES (1)) t(a)
SELECT a, grouping(b) FROM (VALUES (1,2)) t(a,b) GROUP BY a
SELECT a, b FROM (VALUES (1,2)) t(a,b) GROUP BY a
SELECT count(*) FROM (VALUES (1)) t(a) GROUP BY ()
SELECT count(*) FROM (SELECT 1 WHERE false) t(a) GROUP BY GROUPING SETS ((), ())
SELECT a FROM (VALUES (1)) t(a) HAVING a > 0
SELECT sum(a) FROM (VALUES (1),(2)) t(a) HAVING count(*) > 5
SELECT mode() WITHIN GROUP (ORDER BY doc->>'city') FROM docs
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY (doc->>'amount')::float8), percentile_disc(array[0.1,0.5,NULL]) WITHIN GROUP (ORDER BY (doc->>'qty')::int) FROM docs
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY x) FROM generate_series(1,3) x
SELECT percentile_cont(x) WITHIN GROUP (ORDER BY x) FROM generate_series(1,3) x
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x DESC), percentile_cont('{0.2,0.8}') WITHIN GROUP (ORDER BY x) FROM generate_series(1,3) x
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY i) FROM (VALUES (interval '1 day'), ('3 days')) t(i)
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM (VALUES ('a'), ('b')) v(t)
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY t) FROM (VALUES ('a'), ('b')) v(t)
SELECT percentile_cont(0.5, 0.6) WITHIN GROUP (ORDER BY x) FROM generate_series(1,3) x
SELECT percentile_cont(0.5) FROM generate_series(1,3) x
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x, x) FROM generate_series(1,3) x
SELECT sum(x) WITHIN GROUP (ORDER BY x) FROM generate_series(1,3) x
SELECT rank(2) WITHIN GROUP (ORDER BY x), dense_rank(2) WITHIN GROUP (ORDER BY x DESC), percent_rank(2.5) WITHIN GROUP (ORDER BY x), cume_dist(2) WITHIN GROUP (ORDER BY x) FROM generate_series(1,4) x
SELECT rank(1,2) WITHIN GROUP (ORDER BY x) FROM generate_series(1,3) x
SELECT mode() WITHIN GROUP (ORDER BY x) FILTER (WHERE x > 1) FROM (VALUES (1),(1),(2)) t(x)
SELECT stddev(x), stddev_pop(x), variance(x), var_pop(x), var_samp(x) FROM (VALUES (1.5),(2.25),(4)) t(x)
SELECT stddev(x::float8), variance(x::int), stddev_pop(x::real), var_samp(x::bigint) FROM (VALUES (1.5),(2.25),(4)) t(x)
SELECT corr(x,y), covar_pop(x,y), covar_samp(x,y), regr_slope(y,x), regr_intercept(y,x), regr_r2(y,x), regr_count(y,x), regr_sxx(y,x), regr_avgx(y,x) FROM (VALUES (1,2),(2,3),(3,5)) t(x,y)
SELECT bit_and(x), bit_or(x), bit_xor(x), bool_and(x>1), bool_or(x>1), every(x>0) FROM (VALUES (3),(6)) t(x)
SELECT array_agg(x ORDER BY x DESC NULLS LAST), array_agg(DISTINCT x), string_agg(DISTINCT x::text, '-' ORDER BY x::text DESC) FROM (VALUES (2),(1),(NULL),(2)) t(x)
SELECT string_agg(DISTINCT x::text, ',' ORDER BY x) FROM generate_series(1,2) x
SELECT sum(x), avg(x), min(x), max(x), count(x) FROM (SELECT NULL::numeric WHERE false) t(x)
SELECT sum(x) FROM (VALUES (9223372036854775807),(1)) t(x)
SELECT avg(x) FROM (VALUES (1),(2),(2)) t(x)
SELECT avg(x), sum(x) FROM (VALUES ('NaN'::numeric),(2)) t(x)
SELECT sum(i), avg(i), max(i) FROM (VALUES (interval '1 day 02:00'), ('3 hours')) t(i)
SELECT min(t), max(t) FROM (VALUES ('b'),('a'),(NULL)) v(t)
SELECT max(b) FROM (VALUES (true)) v(b)
SELECT max(a) FROM (VALUES (array[1,2]), (array[1,3])) v(a)
SELECT sum(t) FROM (VALUES ('a')) v(t)
SELECT avg(d) FROM (VALUES (date '2024-01-01')) v(d)
SELECT count(DISTINCT (a,b)) FROM (VALUES (1,2),(1,2),(1,NULL)) t(a,b)
SELECT count(*) FILTER (WHERE count(*) > 1) FROM docs
SELECT sum(count(*)) FROM docs
SELECT id FROM docs WHERE count(*) > 1
SELECT count(id, rev) FROM docs
SELECT count() FROM docs
SELECT max(DISTINCT x) FROM generate_series(1,3) x
SELECT upper(DISTINCT 'a')
SELECT upper('a' ORDER BY 1)
SELECT doc->>'city' c, array_agg(id ORDER BY id) FILTER (WHERE (doc->>'qty')::int > 3) FROM docs GROUP BY c ORDER BY c
SELECT 1 INTERSECT SELECT 1 EXCEPT SELECT 2
(SELECT 1 UNION ALL SELECT 2) EXCEPT ALL SELECT 1
SELECT 1 AS a UNION SELECT 'x'
SELECT 1, 2 UNION SELECT 1
SELECT 1 AS a UNION SELECT 2 ORDER BY b
SELECT 1 AS a UNION SELECT 2 ORDER BY a + 1
SELECT NULL UNION SELECT 1.5 UNION ALL SELECT 2 ORDER BY 1
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM t WHERE n < 5) SELECT sum(n) FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT sum(n) FROM t) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT count(*) + max(n) FROM t WHERE n < 5) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM t GROUP BY n HAVING max(n) < 3) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n+1.5 FROM t WHERE n < 5) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM t WHERE n < 5 ORDER BY 1) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT row_number() OVER () + n FROM t WHERE n < 5) SELECT n FROM t
WITH RECURSIVE t(n) AS (SELECT n FROM t UNION ALL SELECT 1) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT t.n FROM (SELECT 1) x LEFT JOIN t ON true) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT 1 WHERE EXISTS (SELECT FROM t)) SELECT * FROM t
WITH a AS (SELECT 1 x), b AS (SELECT x + 1 y FROM a) SELECT * FROM a, b
WITH a AS (SELECT 1), a AS (SELECT 2) SELECT 1
WITH a(x, y) AS (SELECT 1) SELECT * FROM a
WITH a AS MATERIALIZED (SELECT id FROM docs) SELECT count(*) FROM a WHERE id < 'd05'
