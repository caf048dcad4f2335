-- Sub-queries over documents and views in expressions: IN, EXISTS, ANY, ALL, ARRAY, rows and scalars.
SELECT id FROM docs WHERE id IN (SELECT id FROM by.v WHERE key = '1') ORDER BY 1
SELECT id FROM docs WHERE id NOT IN (SELECT id FROM by.v WHERE key = '0' OR key = '2') ORDER BY 1
SELECT id FROM docs WHERE doc->>'v' IN (SELECT doc->>'i' FROM docs) ORDER BY 1
SELECT id FROM docs WHERE doc->>'v' NOT IN (SELECT doc->>'i' FROM docs) ORDER BY 1
SELECT id FROM docs WHERE doc->>'v' NOT IN (SELECT doc->>'none' FROM docs) ORDER BY 1
SELECT id FROM docs WHERE doc->>'v' NOT IN (SELECT doc->>'none' FROM docs WHERE false) ORDER BY 1
SELECT id, doc->>'v' IN (SELECT doc->>'v' FROM docs WHERE id < 'd20') FROM docs ORDER BY 1
SELECT id, doc->>'v' NOT IN (SELECT doc->>'i' FROM docs WHERE id < 'd20') FROM docs ORDER BY 1
SELECT id, (doc->>'v' IN (SELECT id FROM docs WHERE false)) IS NULL FROM docs WHERE id > 'd17' AND id < 'd21' ORDER BY 1
SELECT id, doc->'v' IN (SELECT key FROM by.v WHERE id < 'd11') FROM docs ORDER BY 1
SELECT id FROM by.v WHERE key IN (SELECT doc->'i' FROM docs) ORDER BY 1
SELECT id FROM by.v WHERE key IN (SELECT doc->'v' FROM docs WHERE id > 'd20') ORDER BY 1
SELECT id FROM by.v WHERE key = (SELECT doc->'v' FROM docs WHERE id = 'd02')
SELECT id FROM docs WHERE id = (SELECT max(id) FROM by.v)
SELECT id FROM docs WHERE id > (SELECT max(id) FROM docs WHERE id < 'd40') ORDER BY 1
SELECT id FROM docs WHERE id = ANY (ARRAY(SELECT id FROM by.v WHERE key = '2')) ORDER BY 1
SELECT id FROM docs WHERE id = ANY (SELECT id FROM by.v WHERE key = '2') ORDER BY 1
SELECT id FROM docs WHERE id <> ALL (SELECT id FROM docs WHERE id > 'd02') ORDER BY 1
SELECT id FROM docs WHERE id >= ALL (SELECT id FROM docs) ORDER BY 1
SELECT id FROM docs WHERE id < ANY (SELECT id FROM docs WHERE id < 'd03') ORDER BY 1
SELECT id FROM docs WHERE (id, doc->'i') IN (SELECT id, value FROM by.v WHERE key = '2') ORDER BY 1
SELECT id FROM docs WHERE (id, doc->>'v') NOT IN (SELECT id, doc->>'i' FROM docs) ORDER BY 1
SELECT id FROM docs WHERE (id, doc->'i') = (SELECT id, value FROM by.v WHERE id = 'd03')
-- EXISTS
SELECT id FROM docs d WHERE EXISTS (SELECT 1 FROM by.v v WHERE v.id = d.id AND v.key = '1') ORDER BY 1
SELECT id FROM docs d WHERE NOT EXISTS (SELECT 1 FROM by.v v WHERE v.id = d.id) ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT 1 FROM docs e WHERE e.id = 'd' || (d.doc->>'v')) ORDER BY 1
SELECT id FROM docs d WHERE NOT EXISTS (SELECT 1 FROM docs e WHERE e.id = 'd' || (d.doc->>'v')) ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT 1 FROM by.v v WHERE v.key = d.doc->'i' AND v.id <> d.id) ORDER BY 1
SELECT id FROM docs d WHERE NOT EXISTS (SELECT 1 FROM by.v v WHERE v.key = d.doc->'i' AND v.id <> d.id) ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM by.v v WHERE v.value = d.doc->'v' LIMIT 1) ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM by.v v WHERE v.value = d.doc->'v' LIMIT 0) ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM by.v v WHERE v.value = d.doc->'v' OFFSET 1) ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT count(*) FROM by.v v WHERE v.value = d.doc->'none') AND id < 'd02' ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM docs e WHERE (e.doc->>'i')::int > (d.doc->>'i')::int + 39) ORDER BY 1
SELECT id FROM docs d WHERE NOT EXISTS (SELECT FROM docs e WHERE (e.doc->>'i')::int > (d.doc->>'i')::int) ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM by.v v JOIN by.arr a ON a.id = v.id WHERE v.key = d.doc->'i' AND a.key->>0 = 'n1') ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM by.v v WHERE v.key = d.doc->'i' AND d.id < 'd20') OR id = 'd42' ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM docs) AND id < 'd02' ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM docs WHERE false) AND id < 'd02' ORDER BY 1
SELECT d.id FROM docs d LEFT JOIN by.v v ON v.key = d.doc->'i' WHERE EXISTS (SELECT FROM docs e WHERE e.id = v.id) ORDER BY 1
SELECT d.id FROM docs d LEFT JOIN by.v v ON v.key = d.doc->'i' WHERE NOT EXISTS (SELECT FROM docs e WHERE e.id = v.id) AND d.id < 'd12' ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM docs e WHERE e.id = d.id AND EXISTS (SELECT FROM by.v v WHERE v.key = e.doc->'i' AND v.id <> d.id)) ORDER BY 1
SELECT id FROM docs d WHERE d.doc->>'v' IN (SELECT e.doc->>'i' FROM docs e WHERE e.id < d.id) ORDER BY 1
SELECT id FROM docs d WHERE d.doc->>'v' NOT IN (SELECT e.doc->>'i' FROM docs e WHERE e.id < d.id) ORDER BY 1
SELECT id, EXISTS (SELECT FROM by.v v WHERE v.key = d.doc->'i') FROM docs d WHERE id < 'd05' ORDER BY 1
SELECT count(*) FROM docs d WHERE EXISTS (SELECT FROM by.v v WHERE v.id = d.id)
SELECT doc->'i' IS NULL, count(*) FROM docs d WHERE 'd' || (doc->>'v') IN (SELECT id FROM docs) GROUP BY 1
-- scalars
SELECT id, (SELECT count(*) FROM by.v v WHERE v.key = d.doc->'i') FROM docs d WHERE id < 'd12' ORDER BY 1
SELECT id, (SELECT e.doc->'i' FROM docs e WHERE e.id = 'd' || (d.doc->>'v')) FROM docs d ORDER BY 1
SELECT id, (SELECT max(e.id) FROM docs e WHERE e.id < d.id) FROM docs d WHERE id < 'd04' ORDER BY 1
SELECT (SELECT id FROM docs WHERE id = 'd01'), (SELECT id FROM docs WHERE id = 'nobody'), (SELECT count(*) FROM docs)
SELECT id FROM docs ORDER BY (SELECT v.value FROM by.v v WHERE v.id = docs.id) DESC LIMIT 3
SELECT (doc->>'i')::int % 3, (SELECT min(id) FROM docs e WHERE (e.doc->>'i')::int % 3 = (d.doc->>'i')::int % 3) FROM docs d GROUP BY 1, (d.doc->>'i')::int % 3 ORDER BY 1
SELECT sum((SELECT (v.value)::int FROM by.v v WHERE v.id = d.id)) FROM docs d
SELECT count(*) FROM docs d GROUP BY (SELECT v.key->0 FROM by.arr v WHERE v.id = d.id) ORDER BY 1
SELECT id FROM docs WHERE id < 'd05' LIMIT (SELECT 2 FROM docs WHERE id = 'd01')
SELECT ARRAY(SELECT id FROM docs WHERE id < 'd03' ORDER BY id DESC), CASE WHEN EXISTS (SELECT FROM docs WHERE id = 'd00') THEN 'yes' END
SELECT v.x, (SELECT d.doc->'i' FROM docs d WHERE d.id = v.x) FROM (VALUES ('d01'), ('d03'), (NULL), ('x')) v(x)
SELECT a.id, b.id FROM docs a JOIN docs b ON b.id = (SELECT max(v.id) FROM by.v v WHERE v.id < a.id) WHERE a.id < 'd04' ORDER BY 1
SELECT a.id, b.id FROM docs a LEFT JOIN docs b ON b.id IN (SELECT v.id FROM by.v v WHERE v.key = a.doc->'i') WHERE a.id < 'd04' ORDER BY 1, 2
-- errors
SELECT id, (SELECT e.id FROM docs e WHERE e.id < d.id) FROM docs d ORDER BY 1
SELECT id FROM docs WHERE id IN (SELECT id, rev FROM docs)
SELECT id FROM docs WHERE id = (SELECT id FROM docs WHERE id < 'd02')
SELECT id FROM docs WHERE (id, rev) IN (SELECT id FROM docs)
SELECT id FROM docs WHERE id IN (SELECT nothing FROM docs)
SELECT id FROM docs WHERE 1 IN (SELECT id FROM docs)
-- More of the same, together.
SELECT x IN (SELECT y FROM (VALUES (1),(NULL)) w(y)) FROM (VALUES (1),(2),(NULL)) v(x)
SELECT x NOT IN (SELECT y FROM (VALUES (1)) w(y)) FROM (VALUES (1),(2),(NULL)) v(x)
SELECT x = ALL (SELECT y FROM (VALUES (1),(NULL)) w(y)), x <> ANY (SELECT 1) FROM (VALUES (1),(2)) v(x)
SELECT ARRAY(SELECT x FROM generate_series(3,1,-1) x ORDER BY x), ARRAY(SELECT 1 WHERE false)
SELECT (SELECT sum(x) FROM generate_series(1,v.n) x), (SELECT array_agg(x ORDER BY x) FROM generate_series(1,v.n) x WHERE x <> v.n) FROM (VALUES (2),(3)) v(n)
SELECT EXISTS (SELECT 1 FROM docs d WHERE d.id = v.k) FROM (VALUES ('d01'),('nope')) v(k)
SELECT n FROM (VALUES (1),(2),(3)) v(n) WHERE n > (SELECT avg(m) FROM (VALUES (1),(2)) w(m))
SELECT id FROM docs WHERE id IN (SELECT id FROM by.v WHERE key IN ('1', '"1"')) ORDER BY id
SELECT max((SELECT x)) FROM (VALUES (1),(2)) t(x)
SELECT string_agg((SELECT x::text), ',' ORDER BY (SELECT -x)) FROM (VALUES (1),(2)) t(x)
SELECT (SELECT sum((SELECT t.x + u.y)) FROM (VALUES (10)) u(y)) FROM (VALUES (1),(2)) t(x)
SELECT (SELECT sum((SELECT t.x))) FROM (VALUES (1),(2)) t(x)
SELECT x, count(*) FILTER (WHERE (SELECT x > 1)) FROM (VALUES (1),(2)) t(x) GROUP BY x ORDER BY 1
SELECT (SELECT sum((SELECT t.x + u.y FROM (VALUES (1)) u(y)))) FROM (VALUES (1),(2)) t(x)
SELECT g, (SELECT sum((SELECT t.x))) FROM (VALUES (1,1),(2,1),(3,2)) t(x, g) GROUP BY g ORDER BY 1
SELECT (SELECT (SELECT sum((SELECT t.x + s.z))) FROM (VALUES (1)) s(z)) FROM (VALUES (1),(2)) t(x)
SELECT (SELECT array_agg((SELECT t.x) ORDER BY (SELECT -t.x))) FROM (VALUES (1),(2)) t(x)
SELECT (SELECT count((SELECT t.x)) FILTER (WHERE (SELECT t.x > 1))) FROM (VALUES (1),(2)) t(x)
-- Comparisons with ANY and ALL of rows of which one decides.
Select x, x::numeric >= all (select nullif(n,7) from generate_series(1,20) n) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x::numeric < some (select 1 where false) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x <= all (select 'x' where false) from (values ('a'),('b'),('C'),('z'),(null)) v(x) order by x
Select x, x::numeric <= some (values (null::int)) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x > any (values (array[1,2]),(array[1,null]),(array[0])) from (values (array[1,2]),(array[2])) v(x) order by x
Select x, x < any (values ('a'),(null),('é')) from (values ('a'),('b'),('C'),('z'),(null)) v(x) order by x
Select x, (x,1) < all (values (1,2),(null,1)) from (values (1),(2)) v(x) order by x
Select x, row(x) >= all (values (1),(null)) from (values (1),(2)) v(x) order by x
Select x, x >= some (select nullif(n,7) from generate_series(1,20) n) from (values (0),(1),(2),(3),(20),(21),(null)) v(x) order by x
Select x, x::numeric >= all (select n from generate_series(1,20) n) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x::numeric >= any (values (1),(2),(3)) from (values (0),(1),(2),(null)) v(x) order by x
Select x, (x,1) > all (values (1,2),(null,1)) from (values (1),(2)) v(x) order by x
Select x, x::numeric >= some (values (2)) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x <= any (values (array[1,2]),(array[1,null]),(array[0])) from (values (array[1,2]),(array[2])) v(x) order by x
Select x, x::numeric >= all (select 1 where false) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x > all (values (array[1,2]),(array[1,null]),(array[0])) from (values (array[1,2]),(array[2])) v(x) order by x
Select x, x::numeric > all (values (1),(2),(3)) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x < some (values (1),(null),(3)) from (values (0),(1),(2),(3),(20),(21),(null)) v(x) order by x
Select x, x > any (values (1),(null),(3)) from (values (0),(1),(2),(3),(20),(21),(null)) v(x) order by x
Select x, x::numeric >= some (values (null::int)) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x < any (select n from generate_series(1,20) n) from (values (0),(1),(2),(3),(20),(21),(null)) v(x) order by x
Select x, x <= all (values ('NaN'::float8),(1),(null)) from (values ('NaN'::float8),(1),(0),('Infinity')) v(x) order by x
Select x, x::numeric < any (values (2)) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x::numeric <= some (select n from generate_series(1,20) n) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x <= any (values (1),(null),(3)) from (values (0),(1),(2),(3),(20),(21),(null)) v(x) order by x
Select x, x <= any (select nullif(n,7) from generate_series(1,20) n) from (values (0),(1),(2),(3),(20),(21),(null)) v(x) order by x
Select x, (x,1) >= any (values (1,2),(null,1)) from (values (1),(2)) v(x) order by x
Select x, x::numeric <= any (values (1),(2),(3)) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x >= any (select 'x' where false) from (values ('a'),('b'),('C'),('z'),(null)) v(x) order by x
Select x, x::numeric >= any (select 1 where false) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x < all (values (2)) from (values (0),(1),(2),(3),(20),(21),(null)) v(x) order by x
Select x, x::numeric >= some (select 1 where false) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x >= some (values (1),(null),(3)) from (values (0),(1),(2),(3),(20),(21),(null)) v(x) order by x
Select x, x < any (values ('2024-01-01'::date),('2024-02-01')) from (values ('2024-01-15'::timestamp)) v(x) order by x
Select x, x::numeric <= any (values (2)) from (values (0),(1),(2),(null)) v(x) order by x
Select x, row(x) < all (values (1),(null)) from (values (1),(2)) v(x) order by x
Select x, (x,1) < any (values (1,2),(null,1)) from (values (1),(2)) v(x) order by x
Select x, x <= some (values (1),(2),(3)) from (values (0),(1),(2),(3),(20),(21),(null)) v(x) order by x
Select x, x::numeric <= all (values (1),(null),(3)) from (values (0),(1),(2),(null)) v(x) order by x
Select x, x >= all (select nullif(n,7) from generate_series(1,20) n) from (values (0),(1),(2),(3),(20),(21),(null)) v(x) order by x
