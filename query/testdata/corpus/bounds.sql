-- Lower bounds of arrays, slices, concatenation of bytes, and invalid self-references of recursive queries.
SELECT '[0:2]={1,2,3}'::int[] || 4, 4 || '[0:2]={1,2,3}'::int[], '[0:1]={1,2}'::int[] || '[5:6]={3,4}'::int[], '{}'::int[] || '[5:6]={3,4}'::int[]
SELECT array_append('[0:1]={1,2}'::int[], 3), array_cat('[0:1]={1,2}'::int[], '{3}'), array_append('{}'::int[], 1), array_append(null::int[], 1)
SELECT '[0:1]={1,2}'::int[] = '{1,2}'::int[], '[0:1]={1,2}'::int[] < '{1,2}', '[0:1]={1,2}'::int[] <> '{1,2}', '[0:1]={1,2}'::int[] @> '{1}', '[0:1]={1,2}'::int[] && '{2}'
SELECT count(DISTINCT x) FROM (VALUES ('[0:1]={1,2}'::int[]), ('{1,2}'), ('{1,2}'), ('[0:1]={1,2}')) v(x)
SELECT x, count(*) FROM (VALUES ('[0:1]={1,2}'::int[]), ('{1,2}'), ('{1,2}')) v(x) GROUP BY x ORDER BY x
SELECT array_remove('[0:2]={1,2,3}'::int[], 2), array_replace('[0:2]={1,2,3}'::int[], 2, 9)
SELECT '[0:1]={a,b}'::text[]::varchar[], '[0:1]={1,2}'::int[]::text[], '[0:1]={1,2}'::int[]::text, '[0:1]={1,2}'::int[]::bigint[]
SELECT ('{1,2,3}'::int[])[null], ('{1,2,3}'::int[])[null:2], ('{1,2,3}'::int[])[1:null], ('{1,2,3}'::int[])[:2], ('{1,2,3}'::int[])[2:], ('{1,2,3}'::int[])[:]
SELECT ('[0:2]={1,2,3}'::int[])[1:2], ('[0:2]={1,2,3}'::int[])[:0], ('{1,2,3}'::int[])[2:10], ('{1,2,3}'::int[])[3:2], ('{1,2,3}'::int[])[-1:1]
SELECT '\x61' || '\x62'::bytea, '\x61'::bytea || '\x62', '\x61'::bytea || '\x62'::bytea, '\x61'::bytea || null
SELECT '\x61'::bytea || 'b'::text
WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT 2 FROM t t1, t t2) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT t.n FROM (SELECT 1) x(a) LEFT JOIN t ON true) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT t.n + 1 FROM t LEFT JOIN (SELECT 1) x(a) ON true WHERE t.n < 3) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT t.n FROM t RIGHT JOIN (SELECT 1) x(a) ON true) SELECT * FROM t
