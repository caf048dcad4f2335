-- GROUPING SETS, ROLLUP and CUBE.
SELECT a, b, sum(n), GROUPING(a), GROUPING(b), GROUPING(a, b) FROM (VALUES (1, 'x', 10), (1, 'y', 20), (2, 'x', 30)) v(a, b, n) GROUP BY ROLLUP (a, b) ORDER BY GROUPING(a, b), a, b
SELECT a, b, sum(n), GROUPING(a, b) FROM (VALUES (1, 'x', 10), (1, 'y', 20), (2, 'x', 30)) v(a, b, n) GROUP BY CUBE (a, b) ORDER BY 4, a, b
SELECT a, b, count(*) FROM (VALUES (1, 'x', 10), (1, 'y', 20), (2, 'x', 30)) v(a, b, n) GROUP BY GROUPING SETS ((a), (b), ()) ORDER BY a, b
SELECT a, b, count(*) FROM (VALUES (1, 'x'), (1, NULL), (NULL, 'x')) v(a, b) GROUP BY GROUPING SETS ((a, b), (a), ()) ORDER BY GROUPING(a, b), a, b
SELECT a, b, count(*) FROM (VALUES (1, 'x'), (1, 'y'), (2, 'x')) v(a, b) GROUP BY a, ROLLUP (b) ORDER BY a, b
SELECT a, b, c, count(*) FROM (VALUES (1, 'x', true), (1, 'y', false), (2, 'x', true)) v(a, b, c) GROUP BY ROLLUP (a, (b, c)) ORDER BY a, b, c
SELECT a, b, c, count(*), GROUPING(a, b, c) g FROM (VALUES (1, 'x', true), (1, 'y', false), (2, 'x', true)) v(a, b, c) GROUP BY CUBE ((a, b), c) ORDER BY g, a, b, c
SELECT a, b, count(*) FROM (VALUES (1, 'x'), (1, 'y'), (2, 'x')) v(a, b) GROUP BY ROLLUP (a), CUBE (b) ORDER BY a, b
-- unordered
SELECT a, b, count(*) FROM (VALUES (1, 'x'), (1, 'y'), (2, 'x')) v(a, b) GROUP BY GROUPING SETS (ROLLUP (a, b), CUBE (a, b))
-- unordered
SELECT a, b, count(*) FROM (VALUES (1, 'x'), (1, 'y'), (2, 'x')) v(a, b) GROUP BY DISTINCT ROLLUP (a, b), ROLLUP (b)
-- unordered
SELECT a, b, count(*) FROM (VALUES (1, 'x'), (1, 'y'), (2, 'x')) v(a, b) GROUP BY GROUPING SETS (a, GROUPING SETS (b, ()))
SELECT count(*), sum(n) FROM (SELECT 1 AS n WHERE false) x GROUP BY GROUPING SETS ((), ())
SELECT n, count(*) FROM (SELECT 1 AS n WHERE false) x GROUP BY ROLLUP (n)
SELECT n, count(*) FROM (SELECT 1 AS n WHERE false) x GROUP BY GROUPING SETS (n)
SELECT count(*) FROM generate_series(1, 3) GROUP BY ()
SELECT count(*) FROM generate_series(1, 3) n GROUP BY n, () ORDER BY 1
SELECT a + 1 AS k, sum(n) FROM (VALUES (1, 10), (2, 20)) v(a, n) GROUP BY ROLLUP (a + 1) ORDER BY k
SELECT a AS k, sum(n) FROM (VALUES (1, 10), (2, 20)) v(a, n) GROUP BY ROLLUP (1) ORDER BY k
SELECT a, sum(n) FROM (VALUES (1, 10), (2, 20)) v(a, n) GROUP BY ROLLUP (a) HAVING GROUPING(a) = 0 OR sum(n) > 5 ORDER BY a
SELECT a, sum(a), a + 1, coalesce(a::text, 'all') FROM (VALUES (1), (2)) v(a) GROUP BY ROLLUP (a) ORDER BY a
SELECT a, GROUPING(a), rank() OVER (PARTITION BY GROUPING(a) ORDER BY sum(n) DESC) FROM (VALUES (1, 10), (2, 20)) v(a, n) GROUP BY ROLLUP (a) ORDER BY a
SELECT GROUPING(a) FROM (VALUES (1), (2)) v(a) GROUP BY a ORDER BY 1
SELECT GROUPING(a) FROM (VALUES (1), (2)) v(a)
SELECT GROUPING(b) FROM (VALUES (1, 2)) v(a, b) GROUP BY a
SELECT a FROM (VALUES (1, 2)) v(a, b) WHERE GROUPING(a) = 1 GROUP BY a
SELECT b FROM (VALUES (1, 2)) v(a, b) GROUP BY ROLLUP (a)
SELECT a, b FROM (VALUES (1, 2)) v(a, b) GROUP BY (a, b)
SELECT count(*) FROM (VALUES (1,2,3,4,5,6,7,8,9,10,11,12,13)) v(a,b,c,d,e,f,g,h,i,j,k,l,m) GROUP BY CUBE(a,b,c,d,e,f,g,h,i,j,k,l,m)
SELECT count(*) FROM (SELECT a FROM (VALUES (1,2,3,4,5,6,7,8,9,10,11,12)) v(a,b,c,d,e,f,g,h,i,j,k,l) GROUP BY CUBE(a,b,c,d,e,f,g,h,i,j,k,l)) x
SELECT count(*) FROM (VALUES (1,2,3,4,5,6,7,8,9,10,11,12)) v(a,b,c,d,e,f,g,h,i,j,k,l) GROUP BY CUBE(a,b,c,d,e,f,g,h,i,j,k,l), CUBE (a)
SELECT doc->'key'->>0 AS k, count(*), sum((doc->>'i')::int) FROM docs GROUP BY ROLLUP (doc->'key'->>0) ORDER BY k
SELECT key->>0 AS k, count(*) FROM by.arr GROUP BY ROLLUP (key->>0) ORDER BY k
SELECT rollup FROM (SELECT 1 AS rollup) x
SELECT a, count(DISTINCT b), count(*) FILTER (WHERE b > 1), array_agg(b ORDER BY b DESC) FROM (VALUES (1, 2), (1, 2), (2, 1), (2, 3)) v(a, b) GROUP BY ROLLUP (a) ORDER BY a
-- DISTINCT ON.
SELECT DISTINCT ON (a) a, b FROM (VALUES (1, 3), (1, 2), (2, 5), (2, 6)) v(a, b) ORDER BY a, b
SELECT DISTINCT ON (a) a, b FROM (VALUES (1, 3), (1, 2), (2, 5), (2, 6)) v(a, b) ORDER BY a DESC, b DESC
SELECT DISTINCT ON (a % 2) a FROM (VALUES (1), (2), (3), (4)) v(a) ORDER BY a % 2, a
SELECT DISTINCT ON (1) a, b FROM (VALUES (1, 3), (1, 2), (2, 5)) v(a, b) ORDER BY 1, 2
SELECT DISTINCT ON (a, b) a, b, c FROM (VALUES (1, 3, 1), (1, 3, 0), (2, 5, 1)) v(a, b, c) ORDER BY b, a, c
SELECT DISTINCT ON (b) a, b FROM (VALUES (1, 3), (1, 2), (2, 5)) v(a, b) ORDER BY a
SELECT DISTINCT ON (a) a, count(*) FROM (VALUES (1, 3), (1, 2), (2, 5)) v(a, b) GROUP BY a ORDER BY a
SELECT DISTINCT ON (a) a, row_number() OVER (ORDER BY b) FROM (VALUES (1, 3), (1, 2), (2, 5)) v(a, b) ORDER BY a, 2 DESC
SELECT DISTINCT ON (a) a, b FROM (VALUES (1, 3), (1, 2), (2, 5), (2, 6)) v(a, b) ORDER BY a, b LIMIT 1 OFFSET 1
SELECT DISTINCT ON (3) a, b FROM (VALUES (1, 3)) v(a, b)
SELECT DISTINCT ON ('{}'::json) a FROM (VALUES (1, 3)) v(a, b)
SELECT DISTINCT '{}'::json FROM (VALUES (1, 3)) v(a, b)
SELECT DISTINCT ON (doc->'key'->>0) id FROM docs ORDER BY doc->'key'->>0, id DESC
SELECT DISTINCT ON (row_number() OVER (ORDER BY a)) a FROM (VALUES (1, 3), (1, 2)) v(a, b)
-- Columns that depend on the primary key in GROUP BY.
-- unordered: a group for each row
SELECT id, doc->'i' FROM docs WHERE id < 'd03' GROUP BY id
-- unordered: a group for each row
SELECT id FROM docs WHERE id < 'd03' GROUP BY id HAVING doc IS NOT NULL
SELECT id, rev IS NOT NULL, count(*), max(doc->>'i') FROM docs WHERE id < 'd03' GROUP BY id ORDER BY doc->'i' DESC
SELECT id, sum((doc->>'i')::int) OVER (ORDER BY id) FROM docs WHERE id < 'd03' GROUP BY id ORDER BY id
SELECT d.id, d.doc->'i', count(*) FROM docs d, generate_series(1, 2) g WHERE d.id < 'd03' GROUP BY d.id ORDER BY d.id
SELECT id, doc FROM docs GROUP BY ROLLUP (id)
SELECT rev FROM docs GROUP BY doc
SELECT id, value FROM by.v GROUP BY id
SELECT id, jsonb_object_keys(doc) FROM docs WHERE id = 'd01' GROUP BY id ORDER BY 2
-- More of the same, together.
SELECT y, percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FILTER (WHERE x > 1), mode() WITHIN GROUP (ORDER BY y DESC) FROM (VALUES (1,'a'),(2,'a'),(3,'b')) v(x,y) GROUP BY ROLLUP (y) ORDER BY y
SELECT x FROM (VALUES (1),(2)) v(x) GROUP BY GROUPING SETS ((), ()) ORDER BY 1
-- unordered
SELECT count(*) FROM (VALUES (1),(2)) v(x) GROUP BY ()
-- unordered
SELECT count(*) FROM (SELECT 1 WHERE false) v GROUP BY ()
-- unordered
SELECT count(*) FROM (SELECT 1 AS x WHERE false) v GROUP BY ROLLUP (x)
-- unordered
SELECT x, sum(y) FROM (VALUES (1,2),(1,3),(2,5)) v(x,y) GROUP BY x HAVING sum(y) > 4 AND count(*) > 1
SELECT x % 2 AS odd, array_agg(x ORDER BY x DESC) FROM generate_series(1,5) x GROUP BY odd ORDER BY odd
SELECT count(*) FILTER (WHERE x > 2 AND x IS NOT NULL) * 2 FROM generate_series(1,5) x
SELECT (doc->>'i')::int % 7 AS m, count(*) FILTER (WHERE doc->'v' = '1'), array_agg(id ORDER BY id DESC) FROM docs GROUP BY 1 HAVING count(*) > 5 ORDER BY 1
-- GROUPING of a query around
SELECT x, (SELECT grouping(x)) FROM (VALUES (1),(2)) t(x) GROUP BY ROLLUP(x) ORDER BY 1
SELECT x, (SELECT grouping(x, y) + 1 WHERE x IS NULL) FROM (VALUES (1,2),(2,3)) t(x,y) GROUP BY CUBE(x,y) ORDER BY 1, 2
SELECT x+y, (SELECT grouping(x+y)) FROM (VALUES (1,2),(2,3)) t(x,y) GROUP BY x+y ORDER BY 1, 2
SELECT x, (SELECT grouping(y)) FROM (VALUES (1,2),(2,3)) t(x,y) GROUP BY x ORDER BY 1, 2
SELECT x, (SELECT grouping(x)) FROM (VALUES (1,2),(2,3)) t(x,y)
SELECT x FROM (VALUES (1,2),(2,3)) t(x,y) WHERE (SELECT grouping(x)) = 1 GROUP BY x
SELECT x, sum((SELECT grouping(x))) FROM (VALUES (1,2),(2,3)) t(x,y) GROUP BY x
SELECT x, count(*) FROM (VALUES (1,2),(2,3)) t(x,y) GROUP BY ROLLUP(x) HAVING (SELECT grouping(x)) = 1
SELECT x, count(*) FROM (VALUES (1,2),(2,3)) t(x,y) GROUP BY ROLLUP(x) ORDER BY (SELECT grouping(x)) DESC, x
SELECT x, (SELECT (SELECT grouping(x) + max(z)) FROM (VALUES (5)) u(z)) FROM (VALUES (1,2),(2,3)) t(x,y) GROUP BY ROLLUP(x) ORDER BY 1
SELECT x, (SELECT grouping(x)+grouping(y)*10), (SELECT grouping(y)), rank() OVER (ORDER BY (SELECT grouping(x)), x) FROM (VALUES (1,2),(2,3)) t(x,y) GROUP BY GROUPING SETS ((x),(y),()) ORDER BY 1, 2, 3, 4
SELECT grouping(x) FROM (VALUES (1)) t(x) WHERE grouping(x) = 0 GROUP BY x
SELECT EXISTS (SELECT 1 WHERE grouping(x) = 1), x FROM (VALUES (1),(2)) t(x) GROUP BY ROLLUP(x) ORDER BY 2
-- A subscript of a jsonb is not the expression that computes the same with an operator.
SELECT doc->'v', doc['v'], count(*), GROUPING(doc->'v', doc['v']) FROM docs WHERE id < 'd04' GROUP BY GROUPING SETS ((doc->'v'), (doc['v'])) ORDER BY 4, 3, doc->>'v', doc['v']#>>'{}'
SELECT doc['v'], count(*) FROM docs GROUP BY doc->'v'
SELECT count(*) FROM (SELECT doc['v'], max(id) FROM docs GROUP BY doc['v']) x
SELECT DISTINCT doc['v'] FROM docs ORDER BY doc->'v'
