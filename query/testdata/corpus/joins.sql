-- Joins of documents and views with each other, with VALUES, functions and the catalogue, by a hash table, by id or key, and without equalities.
SELECT a.id, b.key FROM docs a JOIN by.arr b ON a.id = b.id ORDER BY 1
SELECT a.id, b.id FROM docs a, docs b WHERE a.id = b.id AND a.id < 'd05' ORDER BY 1
SELECT a.id, b.id FROM docs a CROSS JOIN docs b WHERE a.id < 'd03' AND b.id >= 'd40' ORDER BY 1, 2
SELECT count(*) FROM docs a CROSS JOIN docs b CROSS JOIN (VALUES (1), (2)) v(x)
SELECT a.id, b.id FROM docs a JOIN docs b ON (b.doc->>'i')::int = (a.doc->>'i')::int * 10 ORDER BY 1, 2
SELECT a.id, b.id FROM docs a LEFT JOIN docs b ON (b.doc->>'i')::int = (a.doc->>'i')::int * 10 WHERE a.id < 'd09' ORDER BY 1, 2
SELECT a.id, b.id FROM docs a RIGHT JOIN docs b ON (b.doc->>'i')::int = (a.doc->>'i')::int * 10 WHERE b.id < 'd31' ORDER BY 1, 2
SELECT a.id, b.id FROM docs a FULL JOIN docs b ON (b.doc->>'i')::int = (a.doc->>'i')::int * 10 ORDER BY 1, 2
SELECT a.id, b.id FROM docs a LEFT JOIN by.v b ON a.id = b.id AND b.key = '1' WHERE a.id < 'd05' ORDER BY 1
SELECT a.id, b.id FROM docs a LEFT JOIN by.v b ON a.id = b.id WHERE b.key IS NULL OR b.key = '1' ORDER BY 1
SELECT a.id, b.id FROM docs a LEFT JOIN docs b ON false WHERE a.id < 'd03' ORDER BY 1
SELECT a.id, b.id FROM docs a LEFT JOIN docs b ON a.id = b.id AND a.id = 'd01' WHERE a.id < 'd03' ORDER BY 1
SELECT a.id, b.id FROM docs a LEFT JOIN docs b ON NULL WHERE a.id < 'd02' ORDER BY 1
-- views and keys
SELECT a.id, b.id FROM by.v a JOIN by.v b ON a.key = b.key AND a.id < b.id ORDER BY 1, 2
SELECT a.id, b.id FROM docs a JOIN by.v b ON b.key = a.doc->'v' ORDER BY 1, 2
SELECT a.id, b.id FROM docs a JOIN by.v b ON b.key = a.doc->'i' ORDER BY 1, 2
SELECT a.id, b.id FROM docs a LEFT JOIN by.v b ON b.key = a.doc->'i' ORDER BY 1, 2
SELECT a.id, b.id FROM by.v b RIGHT JOIN docs a ON b.key = a.doc->'i' ORDER BY 1, 2
SELECT a.id, b.id FROM docs a LEFT JOIN by.arr b ON b.key = jsonb_build_array('n1', a.doc->'i') ORDER BY 1, 2
SELECT a.id, b.id FROM docs a JOIN by.v b ON b.key = a.doc->'nested'->'v' AND b.id > a.id ORDER BY 1, 2
SELECT a.id, b.value FROM docs a JOIN by.arr b ON b.key->>0 = 'n' || (a.doc->>'i') ORDER BY 1, 2
SELECT v.x->>0, b.id FROM (VALUES ('1'::jsonb), ('"1"'), ('{"b": 2, "a": 1}'), ('"é"'), ('[]'), (NULL), ('1.50'), ('1.5')) v(x) JOIN by.v b ON b.key = v.x ORDER BY 2, 1
SELECT v.x, b.id FROM (VALUES ('1'::jsonb), ('"x"'), (NULL), ('{}')) v(x) LEFT JOIN by.v b ON b.key = v.x ORDER BY v.x::text, 2
SELECT v.x, b.id FROM (VALUES ('1'::jsonb), ('"x"'), (NULL)) v(x) FULL JOIN by.v b ON b.key = v.x ORDER BY v.x::text, 2
-- values, functions and the catalogue
SELECT v.x, d.doc->'i' FROM (VALUES ('d01'), ('d07'), ('nobody'), (NULL), ('d01')) v(x) JOIN docs d ON d.id = v.x ORDER BY 1
SELECT v.x, d.doc->'i' FROM (VALUES ('d01'), ('d07'), ('nobody'), (NULL), ('d01')) v(x) LEFT JOIN docs d ON d.id = v.x ORDER BY 1
SELECT v.x, d.doc->'i' FROM docs d RIGHT JOIN (VALUES ('d01'), ('d07'), ('nobody'), (NULL), ('d01')) v(x) ON d.id = v.x ORDER BY 1
SELECT g, d.id FROM generate_series(1, 5) g LEFT JOIN docs d ON d.id = 'd0' || g AND (d.doc->>'i')::int % 2 = 0 ORDER BY 1
SELECT d.id, g FROM docs d, generate_series(1, (d.doc->>'i')::int) g WHERE d.id < 'd04' ORDER BY 1, 2
SELECT d.id, n.nspname FROM docs d JOIN pg_namespace n ON n.nspname = 'public' WHERE d.id < 'd03' ORDER BY 1
SELECT x.k, count(*) FROM docs d JOIN LATERAL jsonb_object_keys(CASE jsonb_typeof(d.doc->'v') WHEN 'object' THEN d.doc->'v' ELSE '{}' END) x(k) ON true GROUP BY 1 ORDER BY 1
-- USING and NATURAL
SELECT id, a.key, b.key FROM by.v a JOIN by.arr b USING (id) WHERE id < 'd03' ORDER BY 1
SELECT id, a.i, b.i FROM (SELECT id, doc->'i' AS i FROM docs WHERE id < 'd05') a FULL JOIN (SELECT id, value AS i FROM by.v WHERE id > 'd02' AND id < 'd08') b USING (id) ORDER BY 1
SELECT * FROM (SELECT id, value AS i FROM by.v) a NATURAL JOIN (SELECT doc->'i' AS i, doc->>'v' AS v FROM docs) b WHERE id < 'd04' ORDER BY 1
SELECT * FROM (SELECT id, value FROM by.v WHERE id < 'd03') a NATURAL LEFT JOIN (SELECT id, key FROM by.arr WHERE id > 'd01') b ORDER BY 1
-- several
SELECT a.id, b.id, c.id FROM docs a, docs b, docs c WHERE a.id = b.id AND (c.doc->>'i')::int = (b.doc->>'i')::int + 1 AND a.id < 'd04' ORDER BY 1
SELECT a.id, b.id, c.id FROM docs a LEFT JOIN (by.v b JOIN by.arr c ON b.id = c.id AND b.key = '2') ON a.id = c.id WHERE a.id < 'd05' ORDER BY 1
SELECT a.id, b.id, c.id FROM docs a LEFT JOIN by.v b ON a.id = b.id AND b.key = '2' LEFT JOIN by.arr c ON c.id = b.id WHERE a.id < 'd05' ORDER BY 1
SELECT a.id, b.id, c.id FROM docs a LEFT JOIN docs b ON b.id = 'd' || (a.doc->>'v') LEFT JOIN docs c ON c.id = 'd' || (b.doc->>'v') ORDER BY 1
SELECT count(*), count(b.id), count(DISTINCT b.doc->>'i') FROM docs a LEFT JOIN docs b ON b.id = 'd' || (a.doc->>'v')
SELECT b.doc->>'i', count(*) FROM docs a JOIN docs b ON b.id = 'd0' || ((a.doc->>'i')::int % 3) GROUP BY 1 ORDER BY 1
SELECT a.id FROM docs a JOIN docs b ON b.id = a.id WHERE b.doc->>'v' = '1' OR a.doc->>'v' = '2' ORDER BY 1
SELECT a.id, row_number() OVER (ORDER BY b.id DESC) FROM docs a JOIN docs b ON b.id = a.id WHERE a.id < 'd03' ORDER BY 1
SELECT a.id, a.tableoid = b.tableoid IS NOT NULL FROM (SELECT id, 1 AS tableoid FROM docs) a JOIN (SELECT id, 1 AS tableoid FROM by.v) b USING (id) WHERE id < 'd02' ORDER BY 1
SELECT a.id, b FROM (SELECT id FROM docs) a LEFT JOIN (SELECT id, 1 AS one FROM by.v WHERE key = '2') b ON a.id = b.id WHERE a.id < 'd04' ORDER BY 1
-- lateral
SELECT a.id, s.id FROM docs a, LATERAL (SELECT b.id FROM docs b WHERE b.id > a.id ORDER BY b.id LIMIT 2) s WHERE a.id > 'd38' ORDER BY 1, 2
SELECT a.id, s.n FROM docs a LEFT JOIN LATERAL (SELECT count(*) AS n FROM by.v b WHERE b.key = a.doc->'i') s ON s.n > 0 ORDER BY 1
SELECT a.id, s.id FROM docs a LEFT JOIN LATERAL (SELECT b.id FROM docs b WHERE b.id = 'd' || (a.doc->>'v')) s ON true ORDER BY 1
SELECT v.x, s.* FROM (VALUES ('d01'), ('d05')) v(x) CROSS JOIN LATERAL (SELECT id, doc->'i' FROM docs WHERE id IN (v.x, 'd02')) s ORDER BY 1, 2
-- WITH over documents, used twice
WITH x AS (SELECT id, (doc->>'i')::int AS i FROM docs) SELECT a.id, b.id FROM x a JOIN x b ON a.i = b.i + 40 ORDER BY 1
WITH x AS (SELECT id, (doc->>'i')::int AS i FROM docs) SELECT count(*) FROM x WHERE i > (SELECT avg(i) FROM x)
WITH x AS MATERIALIZED (SELECT id FROM docs WHERE id < 'd03') SELECT x.id, d.doc->'i' FROM x JOIN docs d USING (id) ORDER BY 1
WITH RECURSIVE r AS (SELECT id, doc FROM docs WHERE id = 'd01' UNION ALL SELECT d.id, d.doc FROM r JOIN docs d ON d.id = 'd' || lpad(((r.doc->>'i')::int * 2)::text, 2, '0')) SELECT id FROM r
-- errors
SELECT id FROM docs a JOIN docs b ON a.id = b.id
SELECT * FROM docs a JOIN docs a ON true
SELECT a.id FROM docs a JOIN docs b ON c.id = b.id
SELECT a.id FROM docs a JOIN docs b USING (nothing)
SELECT a.id FROM docs a RIGHT JOIN LATERAL (SELECT id FROM docs b WHERE b.id = a.id) s ON true
SELECT a.id FROM docs a JOIN docs b ON a.id
SELECT a.id FROM docs a JOIN docs b ON count(*) > 1
SELECT a.id / 0 FROM docs a JOIN docs b ON a.id = b.id
SELECT a.id FROM docs a JOIN by.v b ON (b.value->>'x')::int / 0 = 1 AND a.id = b.id
SELECT a.id FROM docs a JOIN by.v b ON a.id = b.id AND (a.doc->>'i')::int / 0 = 1
-- More of the same, together.
SELECT a.x, b.y FROM generate_series(1,3) a(x) FULL JOIN (VALUES (2,'b'),(4,'d')) b(x,y) USING (x) ORDER BY 1 NULLS LAST, 2
SELECT x, b.* FROM (VALUES (1),(2)) a(x) LEFT JOIN LATERAL (SELECT x * 2 AS d WHERE x > 1) b ON true ORDER BY 1
-- unordered
SELECT * FROM (VALUES (1,2)) a(x,y) JOIN (VALUES (1,3)) b(x,z) USING (x) JOIN (VALUES (1,4)) c(x,w) USING (x)
-- unordered
SELECT * FROM (VALUES (1)) a(x) NATURAL JOIN (VALUES (1)) b(x), (VALUES (5)) c(z)
-- unordered
SELECT * FROM (VALUES (1)) a(x) JOIN (VALUES (1)) b(x) ON a.x = b.x AND a.x = c.x JOIN (VALUES (1)) c(x) ON true
SELECT docs.id FROM docs JOIN by.v ON v.id = docs.id WHERE v.key = '1' ORDER BY 1
SELECT a.x, b.x FROM (VALUES (1), (NULL), (2)) a(x) JOIN (VALUES (2), (NULL), (3)) b(x) ON a.x IS NOT DISTINCT FROM b.x ORDER BY 1, 2
SELECT a.x, b.x FROM (VALUES (1), (NULL), (2)) a(x) LEFT JOIN (VALUES (2), (NULL), (3)) b(x) ON a.x IS NOT DISTINCT FROM b.x ORDER BY 1, 2
SELECT a.x, b.x FROM (VALUES (1), (NULL), (2)) a(x) JOIN (VALUES (2.0), (NULL), (3)) b(x) ON a.x IS NOT DISTINCT FROM b.x ORDER BY 1, 2
SELECT a.x FROM (VALUES (1), (NULL), (2)) a(x) WHERE EXISTS (SELECT 1 FROM (VALUES (2), (NULL), (3)) b(x) WHERE a.x IS NOT DISTINCT FROM b.x) ORDER BY 1
SELECT a.x FROM (VALUES (1), (NULL), (2)) a(x) WHERE NOT EXISTS (SELECT 1 FROM (VALUES (2), (NULL), (3)) b(x) WHERE a.x IS NOT DISTINCT FROM b.x) ORDER BY 1
SELECT a.x, (SELECT count(*) FROM (VALUES (2), (NULL), (3)) b(x) WHERE a.x IS NOT DISTINCT FROM b.x) FROM (VALUES (1), (NULL), (2)) a(x) ORDER BY 1
SELECT d.id, (SELECT min(e.id) FROM docs e WHERE e.doc->'v' IS NOT DISTINCT FROM d.doc->'v') FROM docs d ORDER BY 1
SELECT d.id, e.id FROM docs d JOIN docs e ON d.doc->'tags' IS NOT DISTINCT FROM e.doc->'tags' AND d.id < e.id ORDER BY 1, 2
SELECT d.id FROM docs d WHERE d.id IN (SELECT e.id FROM docs e WHERE e.doc->>'v' IS NOT DISTINCT FROM d.doc->>'v') ORDER BY 1
SELECT d.id FROM docs d WHERE d.id NOT IN (SELECT e.id FROM docs e WHERE e.doc->>'tags' IS NOT DISTINCT FROM d.doc->>'city') ORDER BY 1
SELECT a.x, b.x FROM (VALUES ('a'::varchar), (NULL)) a(x) JOIN (VALUES ('a '::char(3)), (NULL)) b(x) ON a.x IS NOT DISTINCT FROM b.x ORDER BY 1
SELECT a.x, b.x FROM (VALUES (1,2), (NULL,2), (2,NULL)) a(x,y) JOIN (VALUES (2,NULL), (NULL,2), (3,1)) b(x,y) ON (a.x,a.y) IS NOT DISTINCT FROM (b.x,b.y) ORDER BY 1, 2
