-- Conditions of one WHERE, of which the cheapest comes first, so that casts do not see the rows that others leave out.
SELECT x FROM (VALUES ('1'), ('a'), ('22')) v(x) WHERE x::int > 0 AND x <> 'a' ORDER BY 1
SELECT x FROM (VALUES ('1'), ('a'), ('22')) v(x) WHERE x::int > 0 AND x LIKE '2%' ORDER BY 1
SELECT x FROM (VALUES ('1'), ('a'), ('22')) v(x) WHERE x::int BETWEEN 1 AND 30 AND x IN ('1', '22') ORDER BY 1
SELECT x FROM (VALUES ('1'), ('a'), (NULL)) v(x) WHERE x::int > 0 AND x IS NULL
SELECT x FROM (VALUES (0), (2)) v(x) WHERE 1 / x >= 0 AND x <> 0
SELECT x FROM (VALUES ('1'), ('a')) v(x) WHERE x <> 'b' AND x::int > 0
SELECT x FROM (VALUES ('a')) v(x) WHERE x::int > 0 AND length(lower(upper(lower(x)))) > 1
SELECT x FROM (VALUES ('{"n": 1}'::jsonb), ('{"n": 1e30}')) v(x) WHERE (x->>'n')::int > 0 AND x->>'n' = '1'
SELECT id FROM docs WHERE (doc->>'city')::int > 0 AND id LIKE 'nosuch%'
SELECT id FROM docs WHERE (doc #>> '{city}')::bigint BETWEEN 1 AND 9 AND id = 'nosuch'
SELECT x FROM (VALUES ('1', 'a'), ('b', NULL)) v(x, y) WHERE x::int > 0 AND y = 'a'
SELECT x FROM (VALUES ('1', 'a'), ('b', NULL)) v(x, y) WHERE (x::int > 0 AND y = 'a') IS NOT NULL
SELECT x FROM (VALUES ('1', true), ('b', NULL)) v(x, y) WHERE y AND x::int > 0
SELECT x FROM (VALUES ('1', true), ('b', NULL)) v(x, y) GROUP BY x, y HAVING y AND x::int > 0
SELECT id FROM docs WHERE doc->>'nosuch' = 'a' AND id::int > 5
SELECT v.x, w.z FROM (VALUES ('1', 1), ('b', NULL)) v(x, y) JOIN (VALUES (1), (2)) w(z) ON v.y < w.z AND (v.x || w.z)::int > 0
SELECT v.x, w.z FROM (VALUES ('1', 1), ('b', NULL)) v(x, y) LEFT JOIN (VALUES (1), (2)) w(z) ON v.y < w.z AND (v.x || w.z)::int > 0
SELECT v.x FROM (VALUES ('1', 1), ('b', NULL)) v(x, y) WHERE EXISTS (SELECT FROM (VALUES (1), (2)) w(z) WHERE v.y < w.z AND (v.x || w.z)::int > 0)
-- Conditions of a sub-query on the row around it alone.
SELECT v.x, (SELECT count(*) FROM docs WHERE v.x > 1) > 0, ARRAY(SELECT DISTINCT 1 FROM docs WHERE v.x > 1) FROM (VALUES (1), (2), (NULL)) v(x) ORDER BY 1
SELECT v.x, (SELECT max(id) FROM docs WHERE v.x > 1 AND 1 / (v.x - 1) > 0) IS NULL FROM (VALUES (1), (2), (NULL)) v(x) ORDER BY 1
SELECT v.x, w.n FROM (VALUES (1), (2), (NULL)) v(x) LEFT JOIN LATERAL (SELECT count(*) n FROM generate_series(1, 3) g WHERE v.x = 2 GROUP BY () HAVING v.x = 2) w ON true ORDER BY 1
SELECT v.x, (SELECT id FROM docs WHERE v.x = 2 ORDER BY id LIMIT 1) IS NULL FROM (VALUES (1), (2)) v(x) ORDER BY 1
-- A list of some items is cheaper than a cast, one of many is not.
SELECT x FROM (VALUES ('1', 'a'), ('b', 'c')) v(x, y) WHERE x::int > 0 AND y = ANY (ARRAY['a', 'q', 'r', 's'])
SELECT x FROM (VALUES ('1', 'a'), ('b', 'c')) v(x, y) WHERE x::int > 0 AND y = ANY (ARRAY['a', 'q', 'r', 's', 't', 'u'])
SELECT x FROM (VALUES ('1', 'a'), ('b', 'c')) v(x, y) WHERE x::int > 0 AND y || '' = ANY ('{a,q,r}')
SELECT x FROM (VALUES ('1', 'a'), ('b', 'c')) v(x, y) WHERE x::int > 0 AND lower(y) = ANY (ARRAY['a'])
SELECT x FROM (VALUES ('1', 'a'), ('b', 'c')) v(x, y) WHERE x::int > 0 AND y <> ALL (ARRAY['c', 'd', 'e', 'f', 'g'])
-- What PostgreSQL counts: arrays, subscripts, what the parts of an OR have in common; equalities are last of one cost.
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->'t')::numeric = 4 AND doc->'k'->>'x' IN ('y','1e1') ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE doc->'k'->>'x' IN ('y','1e1') AND (doc->'t')::numeric = 4 ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->'t')::numeric > 3 AND doc->'k'->>'x' = '1e1' ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->'t')::numeric <> 0.1 AND (doc->>'c'='zz' OR doc->>'c'='zz') ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->'t')::numeric <> 0.1 AND (doc->>'c'='zz' OR doc->>'c'='zz' OR doc->>'d'='zz') ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->'t')::numeric <> 0.1 AND ((doc->>'c'='zz' AND id = 'a') OR (id = 'b' AND doc->>'c'='zz')) ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->'t')::numeric <> 0.1 AND ((doc->>'c'='zz' AND id = 'a') OR doc->>'c'='zz') ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->'t')::numeric <> 0.1 AND ((doc->>'c'='zz' AND id = 'a' AND id < 'x') OR (id = 'b' AND doc->>'c'='zz' AND id < 'x') OR (doc->>'c'='zz' AND id < 'x')) ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE ((doc->>'c'='q' AND (doc->'t')::numeric > 1) OR (id = 'b' AND doc->>'c'='q')) AND id = 'b' ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int = 3 AND doc['k']['x']['y'] = '1' ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'t')::int = 3 AND (doc#>>'{c}'='NO' OR doc['c']#>>'{}' = ANY(ARRAY['FI',NULL])) ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int = 3 AND (ARRAY['a', id])[1] = 'b' ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND doc->>'c' IN ('1', '2', '3', '4', '5', '6', '7', '8') ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND doc->>'c' IN ('1', '2', '3', '4', '5', '6', '7', '8', '9') ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND doc->>'c' NOT IN ('1', '2', '3', '4', '5', '6', '7', '8', 'q') ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND doc->>'c' IN ('1', '2', id) ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND doc->>'c' IN ('1', id, id) ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND doc->>'c' = ANY (NULL::text[]) ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND greatest(greatest(doc->>'c', '4'), '5') = '4' ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND coalesce(coalesce(doc->>'c', '4'), '5') = '4' ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND row(id, doc->>'c', '4') < row('1', id, id) ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND nullif(doc->>'c', 'q') = '4' ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND doc->>'nosuch' IS DISTINCT FROM NULL ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->'t')::numeric > 0 AND doc->>'c' LIKE ANY (ARRAY['1', '2', '3']) ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND (doc->>'c')::varchar(3) = '1' ORDER BY 1
SELECT id FROM (VALUES ('a', '{"t":null,"k":{"x":"z"},"c":"q"}'::jsonb), ('b', '{"t":4,"k":{"x":"1e1"},"c":"q"}')) d(id, doc) WHERE (doc->>'c')::int > 3 AND ARRAY[doc->>'c', id]::varchar[] = '{}' ORDER BY 1
-- A function that is stable costs, although it is computed once.
SELECT g FROM (VALUES ('1700000000', 2), ('x', 3)) v(g, b) WHERE to_timestamp(g::float8) > now() AND (b::text)::int = 1
SELECT g FROM (VALUES ('1700000000', '2'), ('1', 'x')) v(g, b) WHERE to_timestamp(g::float8) > now() - interval '1 day' AND b::int = 1
SELECT g FROM (VALUES ('1700000000', '2'), ('x', '3')) v(g, b) WHERE to_timestamp(g::float8) > now() AND b::int = 1
SELECT g FROM (VALUES ('x', '3')) v(g, b) WHERE g::float8 > 7 - 2 AND b::int = 1 * 1
SELECT g FROM (VALUES ('x', '{"b":1}'::jsonb), ('1', '{"b":1}')) v(g, d) WHERE to_timestamp(g::float8) > now() AND (d->>'b')::int > 1
SELECT g FROM (VALUES ('x', '{"b":1}'::jsonb), ('1', '{"b":1}')) v(g, d) WHERE to_timestamp(g::float8) > now() - interval '1 day' AND (d->>'b')::int + 1 > 2
