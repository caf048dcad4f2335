-- FETCH FIRST ... WITH TIES.
SELECT id, doc->>'qty' FROM docs ORDER BY (doc->>'qty')::int, id FETCH FIRST 2 ROWS WITH TIES
SELECT doc->>'qty' FROM docs ORDER BY (doc->>'qty')::int FETCH FIRST 2 ROWS WITH TIES
SELECT doc->>'city' AS c FROM docs ORDER BY c DESC OFFSET 3 FETCH NEXT 5 ROWS WITH TIES
SELECT x FROM (VALUES (1),(1),(2),(2),(3)) v(x) ORDER BY x FETCH FIRST 3 ROWS WITH TIES
VALUES (3),(1),(1),(2) ORDER BY 1 FETCH FIRST ROW WITH TIES
VALUES (3),(1),(1),(2) ORDER BY column1 + 0 FETCH FIRST 2 ROWS WITH TIES
SELECT x FROM generate_series(1, 9) x ORDER BY x / 4 FETCH FIRST 1 ROWS WITH TIES
SELECT x / 4 AS g, count(*) FROM generate_series(1, 9) x GROUP BY 1 ORDER BY count(*) DESC FETCH FIRST 1 ROWS WITH TIES
SELECT x FROM generate_series(1, 4) x UNION ALL SELECT x FROM generate_series(2, 6) x ORDER BY x FETCH FIRST 2 ROWS WITH TIES
SELECT DISTINCT x % 3 FROM generate_series(1, 9) x ORDER BY 1 FETCH FIRST 2 ROWS WITH TIES
SELECT x, null::int FROM generate_series(1, 3) x ORDER BY 2 FETCH FIRST 1 ROWS WITH TIES
SELECT x FROM (VALUES (1.0),(1.00),(null),(2)) v(x) ORDER BY x NULLS FIRST FETCH FIRST 2 ROWS WITH TIES
SELECT x FROM generate_series(1, 3) x ORDER BY x FETCH FIRST 0 ROWS WITH TIES
SELECT x FROM generate_series(1, 3) x ORDER BY x OFFSET 10 FETCH FIRST 1 ROWS WITH TIES
SELECT x FROM generate_series(1, 3) x FETCH FIRST 1 ROWS WITH TIES
SELECT x FROM generate_series(1, 3) x ORDER BY x FETCH FIRST NULL ROWS WITH TIES
SELECT x FROM generate_series(1, 3) x ORDER BY x FETCH FIRST (SELECT null::int) ROWS WITH TIES
SELECT x FROM generate_series(1, 3) x ORDER BY x FETCH FIRST -1 ROWS WITH TIES
SELECT x FROM generate_series(1, 3) x ORDER BY x FETCH FIRST (-1) ROWS WITH TIES
SELECT count(*) FROM (SELECT doc->>'city' FROM docs ORDER BY doc->>'city' FETCH FIRST 1 ROW WITH TIES) t
SELECT id FROM docs WHERE doc->>'city' IN (SELECT doc->>'city' FROM docs ORDER BY doc->>'city' FETCH FIRST 1 ROW WITH TIES) ORDER BY id
SELECT EXISTS (SELECT 1 FROM docs ORDER BY 1 FETCH FIRST 1 ROW WITH TIES), (SELECT x FROM generate_series(1, 3) x ORDER BY x FETCH FIRST 1 ROW WITH TIES)
SELECT (SELECT x FROM generate_series(1, 3) x ORDER BY x / 9 FETCH FIRST 1 ROW WITH TIES)
SELECT x, row_number() OVER (ORDER BY x) FROM generate_series(1, 6) x ORDER BY x / 3 FETCH FIRST 1 ROW WITH TIES
SELECT DISTINCT ON (x / 2) x FROM generate_series(1, 6) x ORDER BY x / 2, x FETCH FIRST 2 ROWS WITH TIES
SELECT key, id FROM by.v ORDER BY id FETCH FIRST 3 ROWS WITH TIES
SELECT id FROM docs ORDER BY id FETCH FIRST 3 ROWS WITH TIES FOR UPDATE SKIP LOCKED
SELECT id FROM docs ORDER BY id FETCH FIRST 3 ROWS WITH TIES FOR UPDATE
WITH t AS (SELECT x FROM generate_series(1, 6) x ORDER BY x % 2 FETCH FIRST 1 ROW WITH TIES) SELECT a.x, b.x FROM t a JOIN t b ON a.x < b.x ORDER BY 1, 2
SELECT v.k, l.x FROM (VALUES (1), (2)) v(k), LATERAL (SELECT x FROM generate_series(1, 6) x ORDER BY x / v.k FETCH FIRST 1 ROW WITH TIES) l ORDER BY 1, 2

-- LIMIT and OFFSET of a sub-query may depend on the row around it, and DISTINCT ON comes before functions that return rows.
SELECT g.i, (SELECT n FROM generate_series(1, 5) n ORDER BY n DESC LIMIT 1 OFFSET g.i) FROM generate_series(0, 6) g(i)
SELECT g.i, ARRAY(SELECT n FROM generate_series(1, 5) n ORDER BY n LIMIT g.i OFFSET g.i - 1) FROM generate_series(1, 6) g(i)
SELECT g.i, ARRAY(SELECT n FROM generate_series(1, 5) n ORDER BY n LIMIT g.i) FROM generate_series(-1, 1) g(i)
SELECT g.i, x.n FROM generate_series(0, 4) g(i), LATERAL (SELECT n FROM (VALUES (3),(1),(2)) v(n) ORDER BY n LIMIT g.i) x ORDER BY 1, 2
SELECT g.i, x.n FROM generate_series(1, 4) g(i), LATERAL (SELECT n/2 AS n FROM generate_series(0, 9) n ORDER BY n/2 FETCH FIRST (g.i) ROWS WITH TIES) x ORDER BY 1, 2
SELECT g.i, ARRAY(SELECT id FROM docs ORDER BY id LIMIT g.i OFFSET 2 * g.i) FROM generate_series(1, 4) g(i)
SELECT g.i, ARRAY(SELECT 1 UNION SELECT 2 UNION SELECT 3 ORDER BY 1 LIMIT g.i) FROM generate_series(1, 4) g(i)
SELECT g.i, ARRAY(VALUES (1), (2), (3) ORDER BY 1 DESC LIMIT g.i) FROM generate_series(1, 4) g(i)
SELECT i, EXISTS (SELECT FROM docs WHERE id > 'd40' LIMIT i) FROM generate_series(0, 1) i
SELECT i, i IN (SELECT n FROM generate_series(1, 3) n LIMIT i - 1) FROM generate_series(1, 4) i
SELECT 1 LIMIT n FROM (VALUES (1)) v(n)
SELECT n FROM (VALUES (1)) v(n) LIMIT n
SELECT (SELECT m FROM (VALUES (1)) w(m) LIMIT m + n) FROM (VALUES (1)) v(n)
