-- Recursive queries over documents, LATERAL in every place, chains of USING and NATURAL, ANY and ALL of sub-queries,
-- EXISTS in select lists, and correlated sub-queries in ORDER BY, HAVING, CASE, GROUP BY and windows.
-- alone
WITH RECURSIVE r(id, n) AS (SELECT id, 0 FROM docs WHERE id = 'd01' UNION ALL SELECT d.id, n + 1 FROM r JOIN docs d ON d.doc->'i' = to_jsonb(n + 2) WHERE n < 5) SELECT * FROM r ORDER BY n
WITH RECURSIVE r AS (SELECT id, (doc->>'i')::int AS i FROM docs WHERE id = 'd03' UNION SELECT d.id, (d.doc->>'i')::int FROM docs d, r WHERE (d.doc->>'i')::int = r.i * 2 % 40) SELECT * FROM r ORDER BY i
WITH RECURSIVE r AS (SELECT key->>0 AS k, value FROM by.arr WHERE value = '0' UNION ALL SELECT a.key->>0, a.value FROM by.arr a JOIN r ON (a.value)::int = (r.value)::int + 5) SELECT k, count(*), max(value::int) FROM r GROUP BY k
WITH RECURSIVE r(i, path) AS (SELECT 0, ARRAY['d00'] UNION ALL SELECT i + 7, path || d.id FROM r, LATERAL (SELECT id FROM docs WHERE (doc->>'i')::int = r.i + 7) d) SELECT i, path FROM r ORDER BY i
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 6) SELECT r.n, d.id FROM r LEFT JOIN docs d ON (d.doc->>'i')::int = r.n * 9 ORDER BY 1
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 6) SELECT id FROM docs WHERE (doc->>'i')::int IN (SELECT n * 7 FROM r) ORDER BY 1
WITH RECURSIVE r AS (SELECT id, doc FROM docs WHERE id = 'd00' UNION ALL SELECT d.id, d.doc FROM r, docs d WHERE d.doc->>'i' = ((r.doc->>'i')::int + 11)::text), s AS (SELECT count(*) AS c FROM r) SELECT id, c FROM r, s ORDER BY id
WITH RECURSIVE t AS (SELECT id, doc->'items' AS items, 1 AS depth FROM docs WHERE id < 'd04' UNION ALL SELECT id, items #- '{0}', depth + 1 FROM t WHERE jsonb_array_length(items) > 0) SELECT id, depth, jsonb_array_length(items) FROM t ORDER BY 1, 2
WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE EXISTS (SELECT FROM docs WHERE (doc->>'i')::int = n + 38)) SELECT n FROM r ORDER BY 1
WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n * 2 FROM r WHERE n < 30) SELECT n, (SELECT id FROM docs WHERE (doc->>'i')::int = n) FROM r ORDER BY 1
WITH RECURSIVE a(x) AS (SELECT 0 UNION ALL SELECT x + 10 FROM a WHERE x < 40), b(y) AS (SELECT id FROM docs, a WHERE (doc->>'i')::int = x) SELECT y FROM b ORDER BY 1
WITH RECURSIVE r AS (SELECT id, doc FROM docs WHERE id = 'd01' UNION ALL SELECT d.id, d.doc FROM docs d JOIN r USING (id) WHERE false) SELECT id FROM r
WITH RECURSIVE r(id, level) AS (SELECT id, 1 FROM docs WHERE doc->>'city' = 'Oslo' AND id < 'd11' UNION ALL SELECT d.id, level + 1 FROM r LEFT JOIN docs d ON d.id > r.id AND d.id < r.id || 'z' AND level < 2 WHERE d.id IS NOT NULL) SELECT level, count(*) FROM r GROUP BY 1
-- LATERAL
SELECT d.id, x.* FROM docs d, LATERAL (SELECT d.doc->>'city' AS c, (d.doc->>'i')::int + 1 AS n) x WHERE d.id < 'd05' ORDER BY 1
SELECT d.id, e.value->'n' FROM docs d, jsonb_array_elements(d.doc->'items') e WHERE d.id < 'd04' ORDER BY 1, 2
SELECT d.id, e.value->>'sku', o FROM docs d CROSS JOIN LATERAL jsonb_array_elements(d.doc->'items') WITH ORDINALITY AS e(value, o) WHERE d.id < 'd04' ORDER BY 1, 3
SELECT d.id, t FROM docs d LEFT JOIN LATERAL jsonb_array_elements_text(CASE jsonb_typeof(d.doc->'tags') WHEN 'array' THEN d.doc->'tags' END) t ON true WHERE d.id < 'd08' ORDER BY 1, 2
SELECT d.id, s.n, s.m FROM docs d, LATERAL (SELECT count(*) AS n, max(value::int) AS m FROM by.arr a WHERE a.key->>0 = 'n' || (d.doc->>'i')) s WHERE d.id < 'd07' ORDER BY 1
SELECT d.id, s.id, s.i FROM docs d CROSS JOIN LATERAL (SELECT e.id, e.doc->>'i' AS i FROM docs e WHERE e.doc->>'city' = d.doc->>'city' AND e.id > d.id ORDER BY e.id LIMIT 2) s WHERE d.id < 'd06' ORDER BY 1, 2
SELECT d.id, s.id FROM docs d LEFT JOIN LATERAL (SELECT e.id FROM docs e WHERE e.doc->>'city' = d.doc->>'city' AND e.id > d.id ORDER BY e.id DESC LIMIT 1) s ON s.id < 'd42' ORDER BY 1
SELECT a.id, b.id, c.n FROM docs a, LATERAL (SELECT id FROM docs WHERE id > a.id ORDER BY id LIMIT 1) b, LATERAL (SELECT count(*) AS n FROM by.v v WHERE v.id IN (a.id, b.id)) c WHERE a.id < 'd05' ORDER BY 1
SELECT a.id, u.x FROM docs a, LATERAL (SELECT a.id AS x UNION ALL SELECT a.doc->>'city' UNION ALL SELECT b.id FROM docs b WHERE b.id = 'd' || (a.doc->>'v')) u WHERE a.id < 'd05' ORDER BY 1, 2
SELECT a.id, w.r FROM docs a, LATERAL (SELECT b.id, row_number() OVER (ORDER BY b.id) AS r FROM docs b WHERE b.doc->'paid' = a.doc->'paid') w WHERE w.id = a.id AND a.id < 'd09' ORDER BY 1
SELECT x, y FROM generate_series(1, 3) x, LATERAL generate_series(1, x) y ORDER BY 1, 2
SELECT x, y, id FROM generate_series(1, 3) x, LATERAL generate_series(x, 3) y LEFT JOIN docs ON (doc->>'i')::int = y ORDER BY 1, 2
SELECT x, d.id FROM generate_series(1, 4) x LEFT JOIN LATERAL (SELECT id FROM docs WHERE (doc->>'i')::int = x * 20) d ON true ORDER BY 1
SELECT v.id, l.* FROM by.v v CROSS JOIN LATERAL (SELECT d.id, d.doc->'i' AS i FROM docs d WHERE d.id = v.id) l WHERE v.key = '1' ORDER BY 1
SELECT v.id, l.id FROM (SELECT * FROM docs WHERE id < 'd03') v, LATERAL (SELECT w.id FROM by.v w WHERE w.key = v.doc->'v') l ORDER BY 1, 2
SELECT v.id, l.c FROM docs v, LATERAL (SELECT count(*) AS c FROM by.v w WHERE w.key = v.doc->'v' AND w.id <> v.id) l WHERE l.c > 0 ORDER BY 1
SELECT d.id, k FROM docs d, LATERAL jsonb_object_keys(d.doc) k WHERE d.id = 'd01' AND k < 'd' ORDER BY 2
SELECT d.id, r.* FROM docs d, LATERAL jsonb_to_record(d.doc) AS r(city text, qty int, amount numeric) WHERE d.id < 'd04' ORDER BY 1
SELECT d.id, r.sku, r.n FROM docs d, LATERAL jsonb_to_recordset(d.doc->'items') AS r(sku text, n int) WHERE d.id < 'd04' ORDER BY 1, 2, 3
SELECT (SELECT string_agg(r.sku, ',' ORDER BY r.sku) FROM jsonb_to_recordset(d.doc->'items') AS r(sku text, n int)) FROM docs d WHERE id < 'd04' ORDER BY id
SELECT d.id, s.k FROM docs d JOIN LATERAL (SELECT key->>0 AS k FROM by.arr a WHERE a.id = d.id AND a.key->>0 <> 'n1') s ON true WHERE d.id < 'd05' ORDER BY 1
SELECT d.id, s.x, t.y FROM docs d, LATERAL (SELECT (d.doc->>'i')::int AS x) s, LATERAL (SELECT s.x * 2 AS y) t WHERE t.y > 80 ORDER BY 1
SELECT d.id FROM docs d, LATERAL (VALUES (d.doc->>'city'), (d.doc->>'status')) v(t) WHERE v.t = 'paid' AND d.id < 'd10' ORDER BY 1
SELECT id, (SELECT max(t) FROM LATERAL (VALUES (d.doc->>'city'), (d.doc->>'status')) v(t)) FROM docs d WHERE id < 'd05' ORDER BY 1
SELECT a.id, b.x FROM docs a INNER JOIN LATERAL (SELECT a.doc->>'city' AS x) b ON b.x = 'Oslo' ORDER BY 1
SELECT d.id, g.n FROM docs d LEFT JOIN LATERAL (SELECT e.doc->>'status' AS s, count(*) AS n FROM docs e WHERE e.doc->>'city' = d.doc->>'city' GROUP BY 1) g ON g.s = d.doc->>'status' WHERE d.id < 'd05' ORDER BY 1
SELECT d.id, g.s FROM docs d, LATERAL (SELECT DISTINCT e.doc->>'status' AS s FROM docs e WHERE e.doc->>'city' = d.doc->>'city' AND e.doc->'qty' = d.doc->'qty') g WHERE d.id < 'd05' ORDER BY 1, 2
SELECT d.id, l.a FROM docs d, LATERAL (WITH x AS (SELECT d.doc->>'i' AS a) SELECT a FROM x) l WHERE d.id < 'd03' ORDER BY 1
SELECT d.id, l.n FROM docs d, LATERAL (WITH RECURSIVE x(n) AS (SELECT (d.doc->>'i')::int UNION ALL SELECT n - 1 FROM x WHERE n > 0) SELECT count(*) AS n FROM x) l WHERE d.id < 'd05' ORDER BY 1
SELECT d.id, j.id FROM docs d, LATERAL (SELECT e.id FROM docs e JOIN by.v v ON v.id = e.id WHERE v.value = d.doc->'i') j WHERE d.id < 'd05' ORDER BY 1
SELECT d.id, j.id FROM docs d LEFT JOIN LATERAL (SELECT e.id FROM docs e LEFT JOIN by.v v ON v.id = e.id AND v.value = d.doc->'i' WHERE v.id IS NOT NULL) j ON true WHERE d.id < 'd05' ORDER BY 1
-- chains of USING and NATURAL
SELECT id, key, value FROM docs JOIN by.v USING (id) WHERE id < 'd04' ORDER BY 1
SELECT id, v.key, a.key FROM docs JOIN by.v v USING (id) JOIN by.arr a USING (id) WHERE id < 'd04' ORDER BY 1
SELECT id, v.key, a.key FROM docs LEFT JOIN (SELECT * FROM by.v WHERE value::int > 2) v USING (id) LEFT JOIN by.arr a USING (id, value) WHERE id < 'd06' ORDER BY 1
SELECT * FROM (SELECT id, key FROM by.v WHERE value::int < 3) a NATURAL JOIN (SELECT id, value FROM by.arr) b ORDER BY 1
SELECT * FROM (SELECT id, value FROM by.v) a NATURAL JOIN (SELECT id, value FROM by.arr) b NATURAL JOIN (SELECT id FROM docs WHERE id < 'd03') c ORDER BY 1
SELECT * FROM (SELECT id, value FROM by.v WHERE id < 'd03') a NATURAL LEFT JOIN (SELECT id, key FROM by.arr WHERE id > 'd00') b ORDER BY 1
SELECT * FROM (SELECT id, value AS x FROM by.v WHERE id < 'd03') a NATURAL FULL JOIN (SELECT id, value AS y FROM by.arr WHERE id > 'd00' AND id < 'd05') b ORDER BY 1
SELECT id, x, y, z FROM (SELECT id, value AS x FROM by.v WHERE id < 'd03') a FULL JOIN (SELECT id, value AS y FROM by.arr WHERE id > 'd00' AND id < 'd05') b USING (id) FULL JOIN (SELECT id, doc->'qty' AS z FROM docs WHERE id > 'd02' AND id < 'd08') c USING (id) ORDER BY 1
SELECT id, a.id, b.id FROM (SELECT id FROM docs WHERE id < 'd03') a RIGHT JOIN (SELECT id FROM docs WHERE id > 'd01' AND id < 'd05') b USING (id) ORDER BY 1
SELECT count(*) FROM docs a JOIN docs b USING (id) JOIN docs c USING (id) JOIN docs d USING (id)
SELECT count(*) FROM docs a JOIN docs b USING (id, rev) LEFT JOIN docs c USING (id, rev)
SELECT id FROM docs a FULL JOIN docs b USING (id) WHERE id > 'd40' ORDER BY id
SELECT id IS NULL, count(*) FROM (SELECT id FROM docs WHERE id < 'd10') a FULL JOIN (SELECT id FROM docs WHERE id > 'd05') b USING (id) GROUP BY 1
SELECT a.*, b.* FROM (VALUES (1, 'x'), (2, 'y')) a(n, t) FULL JOIN (VALUES (2, 'z'), (3, 'w')) b(n, t) USING (n) ORDER BY n
SELECT n, a.t, b.t, c.t FROM (VALUES (1, 'x'), (2, 'y')) a(n, t) FULL JOIN (VALUES (2, 'z'), (3, 'w')) b(n, t) USING (n) LEFT JOIN (VALUES (3, 'q'), (1, 'p')) c(n, t) USING (n) ORDER BY n
SELECT n FROM (VALUES (1), (2)) a(n) FULL JOIN (VALUES (2), (3)) b(n) USING (n) FULL JOIN (VALUES (3), (4)) c(n) USING (n) WHERE n <> 2 ORDER BY 1
SELECT n + 1, count(*) FROM (VALUES (1), (2)) a(n) FULL JOIN (VALUES (2), (3)) b(n) USING (n) GROUP BY n HAVING n > 1 ORDER BY 1
SELECT * FROM (VALUES (1, 2)) a(x, y) NATURAL JOIN (VALUES (1, 2, 3)) b(x, y, z)
SELECT * FROM (VALUES (1, 2)) a(x, y) NATURAL JOIN (VALUES (3)) b(z)
SELECT * FROM (VALUES (1, 2)) a(x, y) NATURAL JOIN (VALUES (1, 2)) b(x, x)
SELECT * FROM (VALUES (1, 2)) a(x, y) JOIN (VALUES (1, 2)) b(x, x) USING (x)
SELECT x FROM (VALUES (1)) a(x) JOIN (VALUES (1)) b(x) ON true
SELECT * FROM (VALUES (1)) a(x) JOIN (VALUES ('1')) b(x) USING (x)
SELECT * FROM (VALUES (1)) a(x) JOIN (VALUES (1.0)) b(x) USING (x)
SELECT pg_typeof(x) FROM (VALUES (1)) a(x) FULL JOIN (VALUES (2.5)) b(x) USING (x) ORDER BY x
-- differs: aliases of joins are refused
SELECT j.x, j.y FROM (VALUES (1)) a(x) JOIN (VALUES (1, 5)) b(x, y) USING (x) AS j
-- ANY and ALL
SELECT id FROM docs WHERE (doc->>'i')::int = ANY (SELECT value::int FROM by.v WHERE key = '1' OR key = '0') ORDER BY 1
SELECT id FROM docs WHERE (doc->>'i')::int > ALL (SELECT value::int FROM by.v WHERE value::int < 40) ORDER BY 1
SELECT id FROM docs WHERE (doc->>'i')::int <> ALL (SELECT value::int FROM by.v WHERE value::int > 3) ORDER BY 1
SELECT id FROM docs WHERE NOT (doc->>'i')::int > ANY (SELECT value::int FROM by.v WHERE value::int > 1) ORDER BY 1
SELECT id FROM docs WHERE NOT (doc->>'i')::int < ALL (SELECT value::int FROM by.v WHERE value::int > 38) ORDER BY 1
SELECT id FROM docs WHERE doc->>'city' LIKE ANY (SELECT substr(doc->>'city', 1, 1) || '%' FROM docs WHERE id < 'd02') AND id < 'd10' ORDER BY 1
SELECT id, (doc->>'i')::int >= ALL (SELECT (doc->>'i')::int FROM docs e WHERE e.doc->>'city' = d.doc->>'city') FROM docs d WHERE id > 'd35' ORDER BY 1
SELECT id FROM docs d WHERE (doc->>'i')::int >= ALL (SELECT (doc->>'i')::int FROM docs e WHERE e.doc->>'city' = d.doc->>'city') ORDER BY 1
SELECT id FROM docs d WHERE (doc->>'amount')::numeric > ALL (SELECT (e.doc->>'amount')::numeric FROM docs e WHERE e.doc->>'city' = d.doc->>'city' AND e.id <> d.id) ORDER BY 1
SELECT id FROM docs d WHERE (doc->>'amount')::numeric < ANY (SELECT avg((e.doc->>'amount')::numeric) FROM docs e WHERE e.doc->>'city' = d.doc->>'city') AND id < 'd10' ORDER BY 1
SELECT id FROM docs d WHERE (doc->>'city', doc->>'status') IN (SELECT e.doc->>'city', e.doc->>'status' FROM docs e WHERE e.id > 'd30') AND id < 'd12' ORDER BY 1
SELECT id FROM docs d WHERE (doc->>'city', doc->>'none') NOT IN (SELECT e.doc->>'city', e.doc->>'status' FROM docs e WHERE e.id > 'd41') AND id < 'd12' ORDER BY 1
SELECT id FROM docs d WHERE (doc->>'city', (doc->>'i')::int) < ANY (SELECT e.doc->>'city', 3 FROM docs e WHERE e.id < 'd03') ORDER BY 1 LIMIT 4
SELECT id FROM docs d WHERE (doc->>'city', id) = (SELECT e.doc->>'city', min(e.id) FROM docs e WHERE e.doc->>'city' = d.doc->>'city' GROUP BY 1) ORDER BY 1
SELECT 1 WHERE 1 = ANY (SELECT generate_series(1, 3)) AND 4 <> ALL (SELECT generate_series(1, 3))
SELECT NULL = ANY (SELECT id FROM docs), NULL = ALL (SELECT id FROM docs WHERE false), NULL = ANY (SELECT id FROM docs WHERE false)
SELECT 'd01' = ANY (SELECT id FROM docs), 'x' = ANY (SELECT NULLIF(id, 'd01') FROM docs), 'x' <> ALL (SELECT NULLIF(id, 'd01') FROM docs)
SELECT id, doc->'v' = ANY (SELECT key FROM by.v WHERE value::int > (d.doc->>'i')::int) FROM docs d WHERE id < 'd08' ORDER BY 1
SELECT ARRAY(SELECT id FROM docs e WHERE e.doc->>'city' = d.doc->>'city' ORDER BY id LIMIT 2) FROM docs d WHERE id < 'd03' ORDER BY id
SELECT count(*) FROM docs WHERE id IN (SELECT id FROM by.v UNION SELECT 'none') AND id NOT IN (SELECT id FROM by.v WHERE value::int % 2 = 0 EXCEPT SELECT 'd04')
SELECT id FROM docs WHERE id IN (SELECT max(id) FROM docs GROUP BY doc->>'city') ORDER BY 1
SELECT id FROM docs WHERE id IN (SELECT id FROM docs ORDER BY doc->>'amount' LIMIT 3) ORDER BY 1
SELECT id FROM docs WHERE id IN (SELECT DISTINCT ON (doc->>'city') id FROM docs ORDER BY doc->>'city', id DESC) ORDER BY 1
SELECT id FROM docs WHERE id IN (VALUES ('d03'), ('d07')) ORDER BY 1
SELECT id FROM docs WHERE id IN (SELECT 'd' || lpad(n::text, 2, '0') FROM generate_series(5, 7) n) ORDER BY 1
SELECT id FROM docs WHERE id IN (SELECT (SELECT 'd05')) OR id = (SELECT min(id) FROM docs) ORDER BY 1
SELECT id FROM docs WHERE id IN (SELECT id, rev FROM docs)
SELECT id FROM docs WHERE id = (SELECT id FROM docs)
SELECT id FROM docs WHERE 1 IN (SELECT id FROM docs)
-- EXISTS
SELECT id, EXISTS (SELECT FROM docs e WHERE e.doc->>'city' = d.doc->>'city' AND e.id < d.id) FROM docs d WHERE id < 'd08' ORDER BY 1
SELECT id, NOT EXISTS (SELECT FROM docs e WHERE e.doc->>'city' = d.doc->>'city' AND e.id < d.id) AS first FROM docs d ORDER BY first DESC, id LIMIT 7
SELECT EXISTS (SELECT FROM docs WHERE id = 'd01'), EXISTS (SELECT FROM docs WHERE id = 'none'), (SELECT EXISTS (SELECT 1 WHERE false))
SELECT count(*) FILTER (WHERE EXISTS (SELECT FROM by.v v WHERE v.id = d.id AND v.value::int < 10)) FROM docs d
SELECT doc->>'city', bool_or(EXISTS (SELECT FROM by.v v WHERE v.id = d.id AND v.key = '1')) FROM docs d GROUP BY 1 ORDER BY 1
SELECT EXISTS (SELECT FROM by.v v WHERE v.key = d.doc->'i') AS e, count(*) FROM docs d GROUP BY 1 ORDER BY 1
SELECT CASE WHEN EXISTS (SELECT FROM by.v v WHERE v.key = d.doc->'i') THEN 'yes' ELSE d.doc->>'city' END FROM docs d WHERE id < 'd06' ORDER BY id
SELECT id FROM docs d WHERE (EXISTS (SELECT FROM by.v v WHERE v.key = d.doc->'i')) = (d.doc->'paid' = 'true') AND id < 'd12' ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM docs e WHERE e.doc->>'city' = d.doc->>'city' GROUP BY e.doc->>'status' HAVING count(*) > 2) ORDER BY 1 LIMIT 5
SELECT id FROM docs d WHERE EXISTS (SELECT FROM docs e WHERE e.id > d.id AND e.doc->>'city' = d.doc->>'city' UNION SELECT FROM docs WHERE false) ORDER BY 1 DESC LIMIT 3
SELECT id FROM docs d WHERE EXISTS (SELECT FROM jsonb_array_elements(d.doc->'items') e WHERE e->>'sku' = 's3') ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM jsonb_array_elements(d.doc->'items') e JOIN by.v v ON v.value = e->'n' WHERE v.key = '"Oslo"' OR v.id = 'd03') ORDER BY 1 LIMIT 5
SELECT id FROM docs d WHERE NOT EXISTS (SELECT FROM docs e WHERE e.doc->>'city' = d.doc->>'city' AND (e.doc->>'i')::int > (d.doc->>'i')::int) ORDER BY 1
SELECT id FROM docs d WHERE EXISTS (SELECT FROM docs e WHERE e.id = d.id AND EXISTS (SELECT FROM docs f WHERE f.doc->>'city' = e.doc->>'city' AND f.id > d.id AND f.doc->'qty' = d.doc->'qty')) ORDER BY 1
-- correlated sub-queries in ORDER BY, HAVING, CASE, GROUP BY, aggregates and windows
SELECT id FROM docs d WHERE id < 'd10' ORDER BY (SELECT count(*) FROM docs e WHERE e.doc->>'city' = d.doc->>'city' AND e.id < d.id), id DESC
SELECT id FROM docs d ORDER BY (SELECT max(e.id) FROM docs e WHERE e.doc->>'city' = d.doc->>'city') DESC, id LIMIT 4
SELECT id FROM docs d ORDER BY EXISTS (SELECT FROM by.v v WHERE v.key = d.doc->'i') DESC, id LIMIT 5
SELECT id FROM docs d WHERE id < 'd09' ORDER BY CASE WHEN (SELECT count(*) FROM by.v v WHERE v.key = d.doc->'i') > 0 THEN 0 ELSE 1 END, id
SELECT doc->>'city', count(*) FROM docs GROUP BY 1 HAVING count(*) > (SELECT count(*) FROM by.v WHERE value::int < 9) ORDER BY 1
SELECT doc->>'city' AS c, max(id) FROM docs d GROUP BY 1 HAVING max(id) IN (SELECT id FROM docs WHERE id > 'd40') ORDER BY 1
SELECT doc->>'city' AS c, count(*) FROM docs d GROUP BY 1 HAVING EXISTS (SELECT FROM docs e WHERE e.doc->>'city' = d.doc->>'city' AND e.doc->>'status' = 'paid' AND e.id > 'd38') ORDER BY 1
SELECT doc->>'city' AS c, (SELECT count(*) FROM docs e WHERE e.doc->>'city' = d.doc->>'city') FROM docs d GROUP BY doc->>'city' ORDER BY 1
SELECT doc->>'city' AS c, (SELECT min(e.id) FROM docs e WHERE e.doc->>'city' = d.doc->>'city' AND e.id > max(d.id)) FROM docs d WHERE id < 'd30' GROUP BY doc->>'city' ORDER BY 1
SELECT d.c, (SELECT count(*) FROM docs e WHERE e.doc->>'city' = d.c) FROM (SELECT doc->>'city' AS c FROM docs) d GROUP BY d.c ORDER BY 1
SELECT d.c, sum(n), (SELECT count(*) FROM docs e WHERE e.doc->>'city' = d.c AND (e.doc->>'i')::int < sum(d.n) / 10) FROM (SELECT doc->>'city' AS c, (doc->>'i')::int AS n FROM docs) d GROUP BY d.c ORDER BY 1
SELECT (d.doc->>'i')::int % 3 AS k, (SELECT min(id) FROM docs e WHERE (e.doc->>'i')::int % 3 = (d.doc->>'i')::int % 3) FROM docs d GROUP BY (d.doc->>'i')::int % 3 ORDER BY 1
SELECT d.doc->>'city', (SELECT d.doc->>'i') FROM docs d GROUP BY d.doc->>'city'
SELECT d.c, (SELECT d.n) FROM (SELECT doc->>'city' AS c, doc->>'i' AS n FROM docs) d GROUP BY d.c
SELECT d.c FROM (SELECT doc->>'city' AS c, doc->>'i' AS n FROM docs) d GROUP BY d.c HAVING EXISTS (SELECT FROM docs e WHERE e.doc->>'i' = d.n)
SELECT d.c FROM (SELECT doc->>'city' AS c, (doc->>'i')::int AS n FROM docs) d GROUP BY d.c ORDER BY (SELECT max(e.id) FROM docs e WHERE (e.doc->>'i')::int <= min(d.n)), 1
SELECT d.c, count(*) OVER (), (SELECT count(*) FROM docs e WHERE e.doc->>'city' = d.c) FROM (SELECT doc->>'city' AS c FROM docs) d GROUP BY d.c ORDER BY 1
SELECT c, s, count(*), (SELECT max(e.id) FROM docs e WHERE e.doc->>'city' = d.c AND e.doc->>'status' = d.s) FROM (SELECT doc->>'city' AS c, doc->>'status' AS s FROM docs) d GROUP BY ROLLUP (c, s) ORDER BY 1, 2
SELECT c, grouping(c), (SELECT count(*) FROM docs e WHERE e.doc->>'city' = d.c) FROM (SELECT doc->>'city' AS c FROM docs) d GROUP BY CUBE (c) ORDER BY 1
SELECT sum((SELECT count(*) FROM by.v v WHERE v.key = d.doc->'i')) FROM docs d
SELECT doc->>'city', sum((SELECT v.value::int FROM by.v v WHERE v.id = d.id)) FROM docs d GROUP BY 1 ORDER BY 1
SELECT doc->>'city', array_agg((SELECT a.key->>0 FROM by.arr a WHERE a.id = d.id) ORDER BY id) FROM docs d WHERE id < 'd10' GROUP BY 1 ORDER BY 1
SELECT id, rank() OVER (ORDER BY (SELECT count(*) FROM docs e WHERE e.doc->>'city' = d.doc->>'city' AND e.id < d.id)) FROM docs d WHERE id < 'd08' ORDER BY 2, 1
SELECT id, sum((SELECT v.value::int FROM by.v v WHERE v.id = d.id)) OVER (PARTITION BY doc->>'city' ORDER BY id) FROM docs d WHERE id < 'd08' ORDER BY 1
SELECT id, CASE doc->>'city' WHEN (SELECT doc->>'city' FROM docs WHERE id = 'd01') THEN 1 WHEN (SELECT 'Rome') THEN 2 ELSE 0 END FROM docs WHERE id < 'd05' ORDER BY 1
SELECT id, COALESCE((SELECT e.id FROM docs e WHERE e.id = 'd' || (d.doc->>'v')), (SELECT max(e.id) FROM docs e WHERE e.doc->>'city' = d.doc->>'city')) FROM docs d WHERE id < 'd12' ORDER BY 1
SELECT id, (SELECT (SELECT count(*) FROM docs f WHERE f.doc->>'city' = d.doc->>'city' AND f.id < e.id) FROM docs e WHERE e.id = d.id) FROM docs d WHERE id < 'd12' ORDER BY 1
SELECT DISTINCT (SELECT count(*) FROM docs e WHERE e.doc->>'city' = d.doc->>'city') FROM docs d ORDER BY 1
SELECT DISTINCT ON ((SELECT a.key->>0 FROM by.arr a WHERE a.id = d.id)) id FROM docs d ORDER BY (SELECT a.key->>0 FROM by.arr a WHERE a.id = d.id), id DESC
SELECT id FROM docs d WHERE id < 'd05' UNION ALL SELECT (SELECT max(id) FROM docs e WHERE e.doc->>'city' = d.doc->>'city') FROM docs d WHERE id < 'd03' ORDER BY 1
SELECT id FROM docs d LIMIT (SELECT count(*) FROM by.v WHERE value::int < 2) OFFSET (SELECT 1)
SELECT (SELECT id FROM docs WHERE id = d.id), (SELECT rev = d.rev FROM docs WHERE id = d.id) FROM docs d WHERE id < 'd02' ORDER BY 1
SELECT (SELECT ROW(e.id, e.doc->>'city') FROM docs e WHERE e.id = d.id) FROM docs d WHERE id < 'd03' ORDER BY id
SELECT (SELECT e FROM (SELECT id, doc->>'city' AS c FROM docs) e WHERE e.id = d.id) FROM docs d WHERE id < 'd03' ORDER BY id
SELECT (SELECT id, rev FROM docs LIMIT 1)
SELECT (SELECT id FROM docs e WHERE e.doc->>'city' = d.doc->>'city') FROM docs d
-- joins of documents, views and functions
SELECT d.id, v.key, n FROM docs d JOIN by.v v ON v.id = d.id JOIN generate_series(0, 3) n ON n = (d.doc->>'i')::int ORDER BY 1
SELECT d.id, v.id FROM docs d JOIN by.v v ON v.key = d.doc->'v' WHERE d.id < v.id ORDER BY 1, 2
SELECT d.id, v.id FROM docs d JOIN by.v v ON v.key = d.doc->'nested'->'v' AND v.value <> d.doc->'i' ORDER BY 1, 2
SELECT a.key->>0 AS k, count(*), sum(v.value::int) FROM by.arr a JOIN by.v v USING (id) GROUP BY 1 ORDER BY 1
SELECT a.key->>0 AS k, count(v.id) FROM by.arr a LEFT JOIN by.v v ON v.id = a.id AND v.value::int > 20 GROUP BY 1 ORDER BY 1
SELECT a.id, b.id FROM by.arr a JOIN by.arr b ON a.key->>0 = b.key->>0 AND (a.key->>1)::int + 5 = (b.key->>1)::int WHERE a.value::int < 4 ORDER BY 1
SELECT a.id, b.id FROM docs a JOIN docs b ON b.id = 'd' || lpad((a.doc->>'qty'), 2, '0') WHERE a.id < 'd10' ORDER BY 1
SELECT a.id, b.id FROM docs a LEFT JOIN docs b ON b.id = 'd' || lpad((a.doc->>'qty'), 2, '0') AND b.doc->'paid' = 'true' WHERE a.id < 'd10' ORDER BY 1
SELECT a.id, b.id FROM docs a RIGHT JOIN docs b ON a.id = 'd' || lpad((b.doc->>'qty'), 2, '0') AND a.doc->'paid' = 'true' WHERE b.id < 'd10' ORDER BY 2
SELECT a.id, b.id FROM (SELECT * FROM docs WHERE id < 'd04') a FULL JOIN (SELECT * FROM docs WHERE id < 'd10') b ON a.id = 'd' || lpad((b.doc->>'qty'), 2, '0') ORDER BY 2, 1
-- differs: PostgreSQL cannot do this one
SELECT a.id, b.id FROM (SELECT * FROM docs WHERE id < 'd04') a FULL JOIN (SELECT * FROM docs WHERE id < 'd04') b ON a.id < b.id
SELECT a.id, b.id FROM (SELECT * FROM docs WHERE id < 'd04') a FULL JOIN (SELECT * FROM docs WHERE id < 'd04') b ON a.id = b.id AND a.doc->>'city' = 'Oslo' ORDER BY 1, 2
SELECT a.id, b.id FROM (SELECT * FROM docs WHERE id < 'd04') a FULL JOIN (SELECT * FROM docs WHERE id < 'd04') b ON a.id = b.id AND a.id < 'd02' AND b.id > 'd00' ORDER BY 1, 2
SELECT a.id, b.id FROM docs a CROSS JOIN docs b WHERE a.id < 'd02' AND b.id > 'd40' ORDER BY 1, 2
SELECT count(*) FROM docs a, docs b WHERE a.doc->'qty' = b.doc->'qty' AND a.doc->>'city' < b.doc->>'city'
SELECT count(*) FROM docs a, by.v b, by.arr c WHERE a.id = b.id AND b.id = c.id AND c.key->>0 = 'n1'
SELECT count(*) FROM docs a JOIN by.v b ON a.id = b.id OR a.doc->'v' = b.key
SELECT a.id, t.t FROM docs a JOIN (VALUES ('Oslo', 1), ('Rome', 2)) t(c, t) ON t.c = a.doc->>'city' WHERE a.id < 'd10' ORDER BY 1
SELECT a.id, t.t FROM (VALUES ('d01', 1), ('d05', 2), ('x', 3)) t(id, t) LEFT JOIN docs a USING (id) ORDER BY 2
SELECT t.id, a.doc->>'city' FROM unnest(ARRAY['d03', 'd01', NULL, 'd01']) WITH ORDINALITY t(id, o) LEFT JOIN docs a ON a.id = t.id ORDER BY o
SELECT d.id, u FROM docs d JOIN unnest(ARRAY['a', 'b']) u ON d.doc->'tags' ? u WHERE d.id < 'd06' ORDER BY 1, 2
SELECT d.id, x.* FROM docs d JOIN ROWS FROM (generate_series(0, 2), unnest(ARRAY['p', 'q'])) AS x(n, t) ON x.n = (d.doc->>'i')::int ORDER BY 1
SELECT (a.doc->>'i')::int, (b.doc->>'i')::int FROM docs a LEFT JOIN docs b ON (b.doc->>'i')::int BETWEEN (a.doc->>'i')::int + 1 AND (a.doc->>'i')::int + 2 WHERE a.id > 'd38' ORDER BY 1, 2
SELECT a.id FROM docs a LEFT JOIN by.v b ON a.id = b.id WHERE b.id IS NULL OR b.key = '1' ORDER BY 1
SELECT a.id, b.key FROM docs a LEFT JOIN by.v b ON a.id = b.id AND a.id < 'd02' WHERE a.id < 'd04' ORDER BY 1
SELECT a.id, b.key, c.key FROM docs a LEFT JOIN (by.v b JOIN by.arr c ON b.id = c.id AND c.key->>0 = 'n2') ON a.id = b.id WHERE a.id < 'd08' ORDER BY 1
SELECT a.id, b.id FROM docs a LEFT JOIN (docs b CROSS JOIN (VALUES (1)) x(n)) ON b.doc->'i' = to_jsonb((a.doc->>'i')::int + x.n) WHERE a.id > 'd40' ORDER BY 1
WITH x AS (SELECT id, doc->>'city' AS c FROM docs WHERE id < 'd10'), y AS (SELECT c, count(*) AS n FROM x GROUP BY c) SELECT x.id, y.n FROM x JOIN y USING (c) WHERE x.id IN (SELECT min(id) FROM x GROUP BY c) ORDER BY 1
WITH x AS NOT MATERIALIZED (SELECT id, doc->>'city' AS c FROM docs) SELECT a.id, b.id FROM x a JOIN x b ON a.c = b.c AND a.id < b.id WHERE a.id < 'd03' AND b.id < 'd12' ORDER BY 1, 2
SELECT DISTINCT a.doc->>'city', b.doc->>'status' FROM docs a JOIN docs b ON a.doc->>'city' = b.doc->>'city' WHERE a.id < 'd02' ORDER BY 1, 2
SELECT a.id, count(*) OVER (PARTITION BY b.doc->>'status') FROM docs a JOIN docs b ON a.doc->>'city' = b.doc->>'city' WHERE a.id = 'd01' AND b.id < 'd20' ORDER BY b.id
SELECT a.doc->>'city', string_agg(b.id, ',' ORDER BY b.id) FROM docs a JOIN docs b ON b.doc->>'city' = a.doc->>'city' WHERE a.id < 'd03' AND b.id < 'd15' GROUP BY 1 ORDER BY 1
SELECT a.id FROM docs a JOIN docs b ON a.id = b.id AND b.doc->>'city' = 'Oslo' JOIN docs c ON c.id = a.id AND c.doc->>'status' = 'paid' ORDER BY a.id
SELECT d.id FROM docs d JOIN docs e ON d.doc->'v' = e.doc->'v' AND d.id <> e.id ORDER BY 1, e.id
SELECT d.id, e.id FROM docs d JOIN docs e ON d.doc->'v' = e.doc->'nested'->'v' AND d.doc->>'v' <> e.doc->>'v' ORDER BY 1, 2
SELECT d.id, e.id FROM docs d JOIN docs e ON (d.doc->'v') @> (e.doc->'v') AND d.id <> e.id ORDER BY 1, 2
SELECT d.id FROM docs d WHERE (SELECT count(*) FROM docs e WHERE e.doc @> jsonb_build_object('city', d.doc->'city', 'status', d.doc->'status')) > 2 ORDER BY 1 LIMIT 4
SELECT id, doc->>'at' FROM docs d WHERE (doc->>'at')::timestamptz = (SELECT max((doc->>'at')::timestamptz) FROM docs e WHERE e.doc->>'city' = d.doc->>'city') ORDER BY 1
-- joins whose sides refer to items before the join
SELECT x, y, i FROM generate_series(1, 3) x, LATERAL generate_series(x, 3) y JOIN (VALUES (2), (3)) d(i) ON d.i = y ORDER BY 1, 2
SELECT x, y, i FROM generate_series(1, 3) x CROSS JOIN (generate_series(x, 3) y LEFT JOIN (VALUES (2), (3)) d(i) ON d.i = y) ORDER BY 1, 2
SELECT x, y, i FROM generate_series(1, 3) x LEFT JOIN (generate_series(x, 3) y JOIN (VALUES (3)) d(i) ON d.i = y) ON y > x ORDER BY 1, 2
SELECT x, y, i FROM generate_series(1, 3) x JOIN ((VALUES (2), (3)) d(i) CROSS JOIN LATERAL (SELECT x + i AS y) s) ON y < 6 ORDER BY 1, 2
SELECT d.id, e.n, f.id FROM docs d, LATERAL (SELECT (d.doc->>'qty')::int AS n) e LEFT JOIN docs f ON f.id = 'd0' || e.n WHERE d.id < 'd05' ORDER BY 1
SELECT d.id, e.value->>'sku', f.id FROM docs d, jsonb_array_elements(d.doc->'items') e JOIN docs f ON f.doc->'qty' = e.value->'n' AND f.id < 'd05' WHERE d.id < 'd05' ORDER BY 1, 2, 3
SELECT d.id, x, y FROM docs d RIGHT JOIN generate_series(40, 44) x ON (d.doc->>'i')::int = x LEFT JOIN generate_series(1, 2) y ON y = x - 40 ORDER BY 2
SELECT d.id, x FROM (SELECT * FROM docs WHERE id > 'd40') d FULL JOIN generate_series(42, 44) x ON (d.doc->>'i')::int = x ORDER BY 1, 2
SELECT d.id, x FROM docs d RIGHT JOIN jsonb_array_elements(d.doc->'items') x ON true
SELECT a.x, s.n FROM (VALUES (1), (2)) a(x) RIGHT JOIN LATERAL (SELECT 2 AS n) s ON s.n = a.x
SELECT n, a.t, b.t, c.t FROM (VALUES (1, 'x'), (2, 'y')) a(n, t) FULL JOIN (VALUES (2, 'z'), (3, 'w')) b(n, t) USING (n) RIGHT JOIN (VALUES (3, 'q'), (4, 'p')) c(n, t) USING (n) ORDER BY n
SELECT n, a.n, b.n, c.n FROM (VALUES (3), (4)) a(n) JOIN ((VALUES (1), (3)) b(n) FULL JOIN (VALUES (3), (4)) c(n) USING (n)) USING (n) ORDER BY n
SELECT * FROM (VALUES (1, 'x'), (2, 'y')) a(n, t) FULL JOIN (VALUES (2, 'z'), (3, 'w')) b(n, u) USING (n) NATURAL JOIN (VALUES (3, 'q'), (1, 'p')) c(n, v) ORDER BY n
SELECT n, (SELECT count(*) FROM generate_series(1, n)) FROM (VALUES (1), (2)) a(n) FULL JOIN (VALUES (2), (3)) b(n) USING (n) ORDER BY n
SELECT n FROM (VALUES (1), (2)) a(n) FULL JOIN (VALUES (2), (3)) b(n) USING (n) WHERE EXISTS (SELECT FROM docs WHERE (doc->>'i')::int = n + 40) ORDER BY n
SELECT n, s.m FROM (VALUES (1), (2)) a(n) FULL JOIN (VALUES (2), (3)) b(n) USING (n), LATERAL (SELECT n * 2 AS m) s ORDER BY n
SELECT x, pg_typeof(x) FROM (VALUES (1), (2)) a(x) LEFT JOIN (VALUES (1.0)) b(x) USING (x) ORDER BY x
SELECT x, a.x, b.x FROM (VALUES (1)) a(x) RIGHT JOIN (VALUES (1.0), (2.5)) b(x) USING (x) ORDER BY x
SELECT x, pg_typeof(x) FROM (VALUES (1.0)) a(x) RIGHT JOIN (VALUES (1), (2)) b(x) USING (x) ORDER BY x
-- aggregates of an enclosing query
SELECT (SELECT max(d.n) + e.i FROM (VALUES (1)) e(i)) FROM (VALUES (1), (2)) d(n)
SELECT (SELECT sum(e.i) FROM (VALUES (1), (5)) e(i) WHERE e.i < max(d.n) + 1) FROM (VALUES (1), (2)) d(n)
SELECT c, (SELECT count(d.n) FILTER (WHERE d.n > 1)) FROM (VALUES ('a', 1), ('a', 2), ('b', 3)) d(c, n) GROUP BY c ORDER BY 1
SELECT c, (SELECT array_agg(e.i ORDER BY e.i) FROM generate_series(1, 3) e(i) WHERE e.i <= sum(d.n)) FROM (VALUES ('a', 1), ('b', 2)) d(c, n) GROUP BY c ORDER BY 1
SELECT c, (SELECT sum(d.n + e.i) FROM (VALUES (1), (2)) e(i)) FROM (VALUES ('a', 1), ('b', 2)) d(c, n) GROUP BY c, n ORDER BY 1
SELECT c, (SELECT sum(d.n + e.i) FROM (VALUES (1), (2)) e(i)) FROM (VALUES ('a', 1), ('b', 2)) d(c, n) GROUP BY c ORDER BY 1
SELECT c FROM (VALUES ('a', 1), ('b', 2)) d(c, n) GROUP BY c HAVING (SELECT sum(d.n) > 1) ORDER BY 1
SELECT c FROM (VALUES ('a', 1), ('b', 2)) d(c, n) GROUP BY c ORDER BY (SELECT -sum(d.n))
SELECT (SELECT (SELECT sum(d.n) + max(e.i) FROM (VALUES (7)) f(k)) FROM (VALUES (1), (2)) e(i)) FROM (VALUES (1), (2)) d(n)
SELECT sum((SELECT sum(d.n))) FROM (VALUES (1), (2)) d(n)
SELECT d.n FROM (VALUES (1), (2)) d(n) WHERE (SELECT sum(d.n)) > 1
SELECT d.n FROM (VALUES (1), (2)) d(n) JOIN (VALUES (1)) e(i) ON (SELECT sum(d.n)) > 1
SELECT 1 FROM (VALUES (1), (2)) d(n), LATERAL (SELECT sum(d.n)) s
SELECT (SELECT count(*) FROM docs e WHERE e.id < max(d.id)), count(*) FROM docs d
SELECT (SELECT d.n) FROM (VALUES (1), (2)) d(n) GROUP BY 1 ORDER BY 1
SELECT (SELECT d.n), count(*) FROM (VALUES (1), (2), (2)) d(n) GROUP BY d.n ORDER BY 1
SELECT d.n + 1, (SELECT d.n + 1) FROM (VALUES (1), (2)) d(n) GROUP BY d.n + 1
SELECT d.id, (SELECT d.doc->>'city'), count(*) FROM docs d JOIN by.v v ON v.id = d.id WHERE d.id < 'd03' GROUP BY d.id ORDER BY 1
SELECT d.n, sum(d.n) OVER (ORDER BY (SELECT -d.n)), (SELECT max(e) FROM generate_series(1, d.n) e) FROM (VALUES (1), (2), (2)) d(n) GROUP BY d.n ORDER BY 1
SELECT d.n, rank() OVER (ORDER BY (SELECT count(d.*))) FROM (VALUES (1), (2), (2)) d(n) GROUP BY d.n ORDER BY 1
SELECT generate_series(1, (SELECT d.n::int)) FROM (VALUES (1), (2)) d(n) GROUP BY d.n ORDER BY 1
SELECT grouping(n), (SELECT coalesce(d.n, 9)), count(*) FROM (VALUES (1), (2), (2)) d(n) GROUP BY ROLLUP (n) ORDER BY 2
-- Outer joins whose NULLs a condition drops.
SELECT a, b FROM generate_series(1, 4) a LEFT JOIN generate_series(3, 6) b ON a = b WHERE b > 0 ORDER BY 1
SELECT a, b FROM generate_series(1, 4) a LEFT JOIN generate_series(3, 6) b ON a = b WHERE coalesce(b, 9) > 0 ORDER BY 1
SELECT a, b FROM generate_series(1, 4) a LEFT JOIN generate_series(3, 6) b ON a = b WHERE NOT b = ANY ('{}'::int[]) ORDER BY 1
SELECT a, b FROM generate_series(1, 4) a LEFT JOIN generate_series(3, 6) b ON a = b WHERE b = ANY ('{3,4}'::int[]) ORDER BY 1
SELECT a, b FROM generate_series(1, 4) a LEFT JOIN generate_series(3, 6) b ON a = b WHERE NOT b <> ALL ('{}'::int[]) OR a = 1 ORDER BY 1
SELECT a, b FROM generate_series(1, 4) a LEFT JOIN generate_series(3, 6) b ON a = b WHERE b IS NOT NULL OR a = 1 ORDER BY 1
SELECT a, b FROM generate_series(1, 4) a LEFT JOIN generate_series(3, 6) b ON a = b WHERE b = 3 OR b + 1 = 5 ORDER BY 1
SELECT a, b FROM generate_series(1, 4) a FULL JOIN generate_series(3, 6) b ON a = b WHERE a > 2 ORDER BY 1, 2
SELECT a, b FROM generate_series(1, 4) a FULL JOIN generate_series(3, 6) b ON a = b WHERE b > 3 ORDER BY 1, 2
SELECT a, b FROM generate_series(1, 4) a FULL JOIN generate_series(3, 6) b ON a = b WHERE a + b > 6 ORDER BY 1, 2
SELECT * FROM generate_series(1, 4) g(a) FULL JOIN generate_series(3, 6) h(a) USING (a) WHERE a > 1 ORDER BY 1
SELECT * FROM generate_series(1, 4) g(a) RIGHT JOIN generate_series(3, 6) h(a) USING (a) WHERE g.a > 1 ORDER BY 1
SELECT a, b, c FROM generate_series(1, 4) a LEFT JOIN generate_series(3, 6) b ON a = b LEFT JOIN generate_series(2, 9) c ON c = b ORDER BY 1
SELECT a, b, c FROM generate_series(1, 4) a LEFT JOIN generate_series(3, 6) b ON a = b LEFT JOIN generate_series(2, 9) c ON c = b WHERE c > 1 ORDER BY 1
SELECT a, b, c FROM generate_series(1, 4) a LEFT JOIN generate_series(3, 6) b ON a = b RIGHT JOIN generate_series(2, 9) c ON c = b WHERE a > 1 ORDER BY 1
SELECT a, b, c FROM (generate_series(1, 4) a CROSS JOIN generate_series(3, 6) b) RIGHT JOIN generate_series(2, 9) c ON c = b WHERE a = b ORDER BY 1, 2, 3
SELECT a, b, c FROM generate_series(1, 4) a LEFT JOIN (generate_series(3, 6) b LEFT JOIN generate_series(4, 9) c ON b = c) ON a = c ORDER BY 1
SELECT a, b, c FROM generate_series(1, 4) a JOIN (generate_series(3, 6) b LEFT JOIN generate_series(4, 9) c ON b = c) ON a = c ORDER BY 1
SELECT a, b, c FROM generate_series(1, 4) a LEFT JOIN (generate_series(3, 6) b FULL JOIN generate_series(4, 9) c ON b = c) ON a + b = 7 ORDER BY 1, 2, 3
SELECT a, x FROM generate_series(1, 4) a LEFT JOIN LATERAL (SELECT a + i AS x FROM generate_series(1, a - 2) i) s ON true WHERE x > 0 ORDER BY 1, 2
SELECT q1.id, q3.id FROM docs q1 CROSS JOIN docs q2 RIGHT JOIN docs q3 ON q1.doc->>'i' = q3.doc->>'i' WHERE q1.doc->>'i' = q2.doc->>'i' AND q2.id = 'd03' ORDER BY 1, 2
