-- Joins and sub-queries by their plans: semi-joins, anti-joins, look-ups by id, key and hash, NULLs on either side.
-- USING and NATURAL
SELECT id, a.doc->>'city', v.value FROM docs a JOIN by.v v USING (id) WHERE v.value > '10' ORDER BY id
-- unordered
SELECT * FROM (SELECT id, doc->>'city' AS city FROM docs) a NATURAL JOIN (SELECT id, key FROM by.arr) b
-- unordered
SELECT * FROM (SELECT doc->>'city' AS city, id FROM docs WHERE id < 'd05') a NATURAL FULL JOIN (SELECT doc->>'city' AS city, id FROM docs WHERE id > 'd02' AND id < 'd08') b
SELECT id, a.n, b.n FROM (SELECT id, 1 AS n FROM docs WHERE id < 'd03') a FULL JOIN (SELECT id, 2 AS n FROM docs WHERE id > 'd01' AND id < 'd05') b USING (id) ORDER BY id
-- FULL with NULLs
-- unordered
SELECT a.x, b.y FROM (VALUES (1),(NULL),(3)) a(x) FULL JOIN (VALUES (NULL),(3),(4)) b(y) ON a.x = b.y
-- unordered
SELECT a.id, b.id FROM docs a FULL JOIN docs b ON a.doc->>'v' = b.doc->>'i' WHERE a.id IS NULL OR b.id IS NULL OR a.id < 'd10'
-- unordered
SELECT a.id, b.id FROM docs a FULL JOIN (SELECT id, doc FROM docs WHERE doc->>'paid' = 'true') b ON a.doc->'v' = b.doc->'v' AND a.id < b.id
-- lateral
SELECT a.id, q.n FROM docs a, LATERAL (SELECT count(*) AS n FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id < a.id) q ORDER BY 1
SELECT a.id, q.id, q.at FROM docs a LEFT JOIN LATERAL (SELECT b.id, b.doc->>'at' AS at FROM docs b WHERE b.doc->>'status' = a.doc->>'status' AND b.id > a.id ORDER BY b.doc->>'at', b.id LIMIT 2) q ON true ORDER BY 1, 3, 2
SELECT a.id, q.i FROM docs a, LATERAL (SELECT b.doc->>'i' AS i FROM docs b WHERE b.id = 'd' || lpad(a.doc->>'qty', 2, '0')) q ORDER BY 1
SELECT a.id, q.* FROM docs a CROSS JOIN LATERAL (SELECT max(v.key::text), count(*) FROM by.v v WHERE v.key = a.doc->'i') q ORDER BY 1
SELECT a.id, t.tag, q.n FROM docs a, LATERAL jsonb_array_elements_text(a.doc->'items') WITH ORDINALITY t(tag, o), LATERAL (SELECT count(*) n FROM docs b WHERE b.doc->'qty' = a.doc->'qty') q WHERE a.id < 'd06' ORDER BY 1, 2
SELECT a.id, q.n, r.m FROM docs a, LATERAL (SELECT b.doc->>'qty' AS n FROM docs b WHERE b.id = a.id) q, LATERAL (SELECT count(*) AS m FROM docs c WHERE c.doc->>'qty' = q.n) r ORDER BY 1
-- NOT IN with NULLs
SELECT id FROM docs WHERE doc->>'qty' NOT IN (SELECT doc->>'i' FROM docs WHERE id < 'd04') ORDER BY 1
SELECT id FROM docs WHERE doc->>'qty' NOT IN (SELECT doc->>'v' FROM docs WHERE id < 'd21') ORDER BY 1
SELECT id FROM docs WHERE doc->>'qty' NOT IN (SELECT doc->>'none' FROM docs) ORDER BY 1
SELECT id FROM docs WHERE doc->>'none' NOT IN (SELECT doc->>'qty' FROM docs) ORDER BY 1
SELECT count(*) FROM docs WHERE doc->>'none' NOT IN (SELECT doc->>'qty' FROM docs WHERE doc->>'city' = 'Nowhere')
SELECT count(*) FROM docs WHERE doc->>'none' IN (SELECT doc->>'qty' FROM docs WHERE doc->>'city' = 'Nowhere') IS FALSE
SELECT id FROM docs a WHERE doc->>'v' NOT IN (SELECT b.doc->>'i' FROM docs b WHERE b.doc->>'city' = a.doc->>'city') ORDER BY 1
SELECT id FROM docs a WHERE doc->>'v' NOT IN (SELECT b.doc->>'v' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id <> a.id) ORDER BY 1
SELECT id FROM docs WHERE NOT id <> ALL (SELECT id FROM by.v WHERE value > '20') ORDER BY 1
SELECT id FROM docs WHERE NOT id = ANY (SELECT id FROM by.v WHERE value > '20') ORDER BY 1
SELECT x FROM (VALUES (1),(2),(NULL)) v(x) WHERE x NOT IN (SELECT y FROM (VALUES (1),(NULL)) w(y))
SELECT x FROM (VALUES (1),(2),(NULL)) v(x) WHERE x NOT IN (SELECT y FROM (VALUES (1),(5)) w(y))
SELECT x FROM (VALUES (1),(2),(NULL)) v(x) WHERE x NOT IN (SELECT y FROM (VALUES (1)) w(y) WHERE y > 1) ORDER BY 1
SELECT x FROM (VALUES (1),(2),(NULL)) v(x) WHERE x IN (SELECT y FROM (VALUES (1),(1),(NULL)) w(y))
-- ANY and ALL with every operator
SELECT id FROM docs a WHERE a.doc->>'qty' = ANY (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id < a.id) ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'qty' <> ANY (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city') ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'qty' < ANY (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city') ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'qty' <= ANY (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id <> a.id) ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'qty' > ANY (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city') ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'qty' >= ANY (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id <> a.id) ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'qty' = ALL (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id > 'd30') ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'qty' <> ALL (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id < a.id) ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'qty' < ALL (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id <> a.id) ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'qty' <= ALL (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city') ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'qty' > ALL (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id <> a.id) ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'qty' >= ALL (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city') ORDER BY 1
SELECT id FROM docs a WHERE a.doc->>'v' > ALL (SELECT b.doc->>'v' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id < a.id) ORDER BY 1
SELECT id FROM docs a WHERE id LIKE ANY (SELECT 'd%' || (b.doc->>'qty') FROM docs b WHERE b.doc->>'city' = a.doc->>'city') ORDER BY 1
SELECT id FROM docs a WHERE NOT a.doc->>'qty' > ALL (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id <> a.id) ORDER BY 1
SELECT id FROM docs a WHERE NOT a.doc->>'qty' = ANY (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'status' = a.doc->>'status' AND b.id < a.id) ORDER BY 1
-- EXISTS
SELECT id FROM docs a WHERE EXISTS (SELECT * FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.doc->>'status' = a.doc->>'status' AND b.id > a.id) ORDER BY 1
SELECT id FROM docs a WHERE NOT EXISTS (SELECT 1 FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id > a.id LIMIT 1) ORDER BY 1
SELECT id FROM docs a WHERE EXISTS (SELECT 1 FROM docs b WHERE b.doc->>'city' = a.doc->>'city' LIMIT 0) ORDER BY 1
SELECT id FROM docs a WHERE EXISTS (SELECT count(*) FROM docs b WHERE b.doc->>'city' = a.doc->>'none') AND id < 'd04' ORDER BY 1
SELECT id FROM docs a WHERE EXISTS (SELECT b.doc->>'qty' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' GROUP BY 1 HAVING count(*) > 2) ORDER BY 1
SELECT id FROM docs a WHERE EXISTS (SELECT 1 FROM docs b JOIN by.v v ON v.id = b.id WHERE v.key = a.doc->'qty' AND b.id <> a.id) ORDER BY 1
SELECT id FROM docs a WHERE EXISTS (SELECT 1 FROM docs b WHERE b.id = a.id AND b.doc->>'qty' = '3' OR b.id = 'd99') ORDER BY 1
SELECT id FROM docs a WHERE EXISTS (SELECT 1 FROM generate_series(1, 3) g WHERE g = (a.doc->>'qty')::int) ORDER BY 1
SELECT id FROM docs a WHERE EXISTS (SELECT 1 UNION SELECT 2 WHERE a.id = 'd03') ORDER BY 1 LIMIT 3
SELECT a.id, b.id FROM docs a JOIN docs b ON b.doc->>'qty' = a.doc->>'qty' WHERE EXISTS (SELECT 1 FROM by.v v WHERE v.id = b.id AND v.value = a.doc->'i') ORDER BY 1, 2
SELECT a.id FROM docs a LEFT JOIN docs b ON b.doc->>'v' = a.doc->>'i' WHERE NOT EXISTS (SELECT 1 FROM docs c WHERE c.id = b.id) ORDER BY 1
SELECT doc->>'city', count(*) FROM docs a WHERE EXISTS (SELECT 1 FROM docs b WHERE b.doc->>'v' = a.doc->>'qty') GROUP BY 1 ORDER BY 1
SELECT id, row_number() OVER (ORDER BY id DESC) FROM docs a WHERE id IN (SELECT b.id FROM docs b WHERE b.doc->>'paid' = 'true') ORDER BY 1
SELECT id, jsonb_array_elements_text(doc->'tags') FROM docs a WHERE doc->>'tags' IS NOT NULL AND id IN (SELECT b.id FROM docs b WHERE b.doc->>'paid' = 'true' AND b.doc->>'status' <> 'new') ORDER BY 1, 2
-- two levels up
SELECT id FROM docs a WHERE EXISTS (SELECT 1 FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND EXISTS (SELECT 1 FROM docs c WHERE c.doc->>'status' = b.doc->>'status' AND c.doc->>'qty' = a.doc->>'qty' AND c.id > b.id)) ORDER BY 1
SELECT id, (SELECT max((SELECT count(*) FROM docs c WHERE c.doc->>'qty' = b.doc->>'qty' AND c.doc->>'city' = a.doc->>'city')) FROM docs b WHERE b.doc->>'status' = a.doc->>'status') FROM docs a ORDER BY 1
SELECT id FROM docs a WHERE id IN (SELECT b.id FROM docs b WHERE b.doc->>'qty' NOT IN (SELECT c.doc->>'qty' FROM docs c WHERE c.doc->>'city' = b.doc->>'city' AND c.id < a.id)) ORDER BY 1
SELECT id, array(SELECT b.id FROM docs b WHERE b.doc->>'city' = a.doc->>'city' AND b.id = ANY (SELECT v.id FROM by.v v WHERE v.value > a.doc->'i') ORDER BY 1) FROM docs a ORDER BY 1
SELECT id FROM docs a WHERE (SELECT count(*) FROM (SELECT b.id FROM docs b WHERE b.doc->>'city' = a.doc->>'city' ORDER BY b.id LIMIT 3) q WHERE q.id >= a.id) > 1 ORDER BY 1
-- aggregates of equal rows
SELECT id, (SELECT count(*) FROM docs b WHERE b.doc->>'city' = a.doc->>'city'), (SELECT sum((b.doc->>'amount')::numeric) FROM docs b WHERE b.doc->>'status' = a.doc->>'status' AND b.id <= a.id) FROM docs a ORDER BY 1
SELECT id FROM docs a WHERE (doc->>'amount')::numeric > (SELECT avg((b.doc->>'amount')::numeric) FROM docs b WHERE b.doc->>'city' = a.doc->>'city') ORDER BY 1
SELECT id, (SELECT string_agg(b.id, ',' ORDER BY b.doc->>'at', b.id) FROM docs b WHERE b.doc->>'qty' = a.doc->>'qty' AND b.doc->>'city' <> a.doc->>'city') FROM docs a ORDER BY 1
SELECT id, (SELECT b.doc->>'at' FROM docs b WHERE b.doc->>'city' = a.doc->>'city' ORDER BY b.doc->>'at' DESC, b.id LIMIT 1 OFFSET 1) FROM docs a ORDER BY 1
SELECT id, (SELECT DISTINCT b.doc->>'city' FROM docs b WHERE b.doc->>'city' = a.doc->>'city') FROM docs a ORDER BY 1
SELECT id, (SELECT b.id FROM docs b WHERE b.doc->>'city' = a.doc->>'city') FROM docs a ORDER BY 1
SELECT id, (SELECT max(b.id) FROM docs b WHERE b.doc->>'v' = a.doc->>'none') FROM docs a WHERE id < 'd03' ORDER BY 1
SELECT id, CASE WHEN doc->>'paid' = 'true' THEN (SELECT count(*) FROM docs b WHERE b.doc->>'qty' = a.doc->>'qty') END FROM docs a ORDER BY 1
-- rows
SELECT id FROM docs WHERE (doc->>'city', doc->>'status') IN (SELECT doc->>'city', doc->>'status' FROM docs WHERE id < 'd05') ORDER BY 1
SELECT id FROM docs WHERE (doc->>'city', doc->>'qty') NOT IN (SELECT doc->>'city', doc->>'i' FROM docs WHERE id < 'd08') ORDER BY 1
SELECT id FROM docs a WHERE (doc->>'city', doc->>'qty') = ANY (SELECT b.doc->>'city', b.doc->>'qty' FROM docs b WHERE b.doc->>'status' = a.doc->>'status' AND b.id <> a.id) ORDER BY 1
SELECT id FROM docs a WHERE (doc->>'qty', id) >= ALL (SELECT b.doc->>'qty', b.id FROM docs b WHERE b.doc->>'city' = a.doc->>'city') ORDER BY 1
SELECT id FROM docs a WHERE (doc->>'qty', id) < ANY (SELECT b.doc->>'qty', b.id FROM docs b WHERE b.doc->>'city' = a.doc->>'city') ORDER BY 1
SELECT id FROM docs a WHERE (id, doc->'i') = (SELECT v.id, v.value FROM by.v v WHERE v.id = a.id) ORDER BY 1
SELECT id FROM docs WHERE (doc->>'none', doc->>'qty') IN (SELECT doc->>'none', doc->>'qty' FROM docs) ORDER BY 1
-- WITH
WITH x AS (SELECT id, doc->>'city' AS city, doc->>'qty' AS qty FROM docs) SELECT a.id, count(b.id) FROM x a LEFT JOIN x b ON b.city = a.city AND b.qty = a.qty AND b.id <> a.id GROUP BY 1 ORDER BY 1
WITH x AS (SELECT id, doc->>'city' AS city FROM docs) SELECT id FROM x a WHERE EXISTS (SELECT 1 FROM x b WHERE b.city = a.city AND b.id > a.id) AND city NOT IN (SELECT city FROM x WHERE id = 'd02') ORDER BY 1
WITH x AS MATERIALIZED (SELECT id, doc->>'qty' AS qty FROM docs) SELECT a.id, (SELECT count(*) FROM x b WHERE b.qty = a.qty) FROM x a ORDER BY 1
WITH x AS NOT MATERIALIZED (SELECT id, doc->>'qty' AS qty FROM docs) SELECT a.id, (SELECT count(*) FROM x b WHERE b.qty = a.qty) FROM x a WHERE a.id IN (SELECT id FROM x WHERE qty > '3') ORDER BY 1
WITH RECURSIVE r(id, n) AS (SELECT id, 0 FROM docs WHERE id = 'd07' UNION SELECT d.id, r.n + 1 FROM r JOIN docs d ON d.doc->>'qty' = (SELECT e.doc->>'i' FROM docs e WHERE e.id = r.id) WHERE r.n < 3) SELECT * FROM r ORDER BY 2, 1
WITH RECURSIVE r(id) AS (SELECT 'd42' UNION SELECT 'd' || lpad((d.doc->>'qty'), 2, '0') FROM r JOIN docs d ON d.id = r.id) SELECT * FROM r ORDER BY 1
WITH RECURSIVE r(id, path) AS (SELECT id, ARRAY[id] FROM docs WHERE id = 'd05' UNION ALL SELECT d.id, r.path || d.id FROM r, LATERAL (SELECT id FROM docs WHERE id = 'd' || lpad((SELECT e.doc->>'qty' FROM docs e WHERE e.id = r.id), 2, '0')) d WHERE d.id <> ALL (r.path)) SELECT * FROM r ORDER BY 1
-- DISTINCT, ORDER BY and LIMIT inside
SELECT id FROM docs WHERE doc->>'qty' IN (SELECT DISTINCT doc->>'qty' FROM docs ORDER BY 1 LIMIT 3) ORDER BY 1
SELECT id FROM docs WHERE doc->>'qty' IN (SELECT doc->>'qty' FROM docs ORDER BY doc->>'at' DESC, id LIMIT 2 OFFSET 1) ORDER BY 1
SELECT id FROM docs WHERE doc->>'city' IN (SELECT doc->>'city' FROM docs GROUP BY 1 HAVING count(*) > 8) ORDER BY 1
SELECT id FROM docs WHERE doc->>'city' NOT IN (SELECT doc->>'city' FROM docs GROUP BY 1 HAVING count(*) > 8 UNION SELECT 'Rome') ORDER BY 1
SELECT id FROM docs WHERE id IN (SELECT max(id) FROM docs GROUP BY doc->>'city') ORDER BY id DESC LIMIT 3
SELECT id FROM docs WHERE id IN (SELECT id FROM by.arr WHERE value > '20') ORDER BY id LIMIT 4 OFFSET 2
-- views and functions
SELECT a.id, b.id FROM by.v a JOIN by.arr b ON b.value = a.key ORDER BY 1, 2
SELECT a.id, d.doc->>'city' FROM by.arr a JOIN docs d ON d.id = a.id WHERE a.value > '2' AND EXISTS (SELECT 1 FROM by.v v WHERE v.key = a.value) ORDER BY 1
SELECT g, (SELECT count(*) FROM docs WHERE doc->>'qty' = g::text) FROM generate_series(0, 7) g ORDER BY 1
SELECT g, d.id FROM generate_series(1, 5) g LEFT JOIN docs d ON d.id = 'd0' || g ORDER BY 1
SELECT k.key, count(*) FROM docs d, jsonb_each(d.doc) k WHERE k.key IN (SELECT jsonb_object_keys(doc) FROM docs WHERE id = 'd03') GROUP BY 1 ORDER BY 1
SELECT id FROM by.v a WHERE NOT EXISTS (SELECT 1 FROM by.v b WHERE b.key = a.value) ORDER BY 1
-- errors
SELECT id FROM docs WHERE (id, doc) IN (SELECT id FROM docs)
SELECT id FROM docs WHERE id IN (SELECT 1)
SELECT id FROM docs a WHERE a.id = (SELECT b.id FROM docs b WHERE b.doc->>'city' = a.doc->>'city')
SELECT id FROM docs a WHERE EXISTS (SELECT 1 FROM docs b WHERE b.x = a.id)
SELECT id FROM docs a WHERE id NOT IN (SELECT (doc->>'city')::int::text FROM docs)
SELECT q.id FROM docs a, (SELECT id FROM docs b WHERE b.id = a.id) q
