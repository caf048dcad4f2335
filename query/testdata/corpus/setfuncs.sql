-- Functions that return rows in a select list: in expressions, and after grouping and windows.
SELECT date '2024-01-01' + generate_series(0,3)
SELECT date '2024-01-01' + generate_series(0,3) AS d, 'x' AS y ORDER BY d DESC
SELECT upper(unnest(array['a','b'])), generate_series(1,3)
SELECT jsonb_array_elements('[{"a":1},{"a":2}]')->>'a' AS a
SELECT id, jsonb_array_elements(doc->'key')->>0 FROM docs WHERE id < 'd03' ORDER BY 1, 2
SELECT g, sum(n), generate_series(1, count(*)::int) FROM (VALUES ('a',1),('a',2),('b',5)) v(g,n) GROUP BY g ORDER BY 1,3
SELECT g, generate_series(1, count(*)::int) * 10 AS x FROM (VALUES ('a'),('a'),('b')) v(g) GROUP BY g ORDER BY 1,2
SELECT count(*), unnest(array[1,2])
SELECT unnest(array_agg(n)) + 1 FROM (VALUES (1),(2)) v(n)
SELECT generate_series(1, row_number() OVER (ORDER BY n)) FROM (VALUES (1),(2),(3)) v(n)
SELECT i, max(i) OVER (ORDER BY i) + generate_series(1,2) FROM generate_series(1,2) i
SELECT generate_series(1,2) + n FROM (VALUES (10),(20)) v(n)
SELECT n, generate_series(1,n) AS g FROM (VALUES (2),(0),(3)) v(n) LIMIT 4
SELECT DISTINCT generate_series(1,4) % 2 ORDER BY 1
SELECT x + 1 FROM (SELECT generate_series(1,3) * 2 AS x) y WHERE x > 2
SELECT array(SELECT generate_series(1,3) * 2), 2 IN (SELECT generate_series(1,3) * 2)
SELECT x, lower(unnest(y)) FROM (VALUES (1, array['A','B']), (2, null)) v(x,y)
SELECT (regexp_matches('a1b2','[a-z]\d','g'))[1], string_to_table('a,b',',') || '-' || generate_series(1,2)::text
SELECT ('2024-01-01'::date + (generate_series(0,2) || ' days')::interval)::date
SELECT CASE WHEN true THEN generate_series(1,2) END
SELECT coalesce(generate_series(1,2), 0)
SELECT sum(generate_series(1,2))
SELECT 1 WHERE generate_series(1,2) = 1
SELECT unnest(array[1,2]) = 1 OR false
SELECT n BETWEEN 1 AND generate_series(0,2) FROM (VALUES (1)) v(n)
-- Grouping by their rows.
-- unordered
SELECT generate_series(1,3) % 2 AS k, count(*) GROUP BY k
-- unordered
SELECT jsonb_object_keys(doc) AS k, count(*) FROM docs GROUP BY k
SELECT jsonb_object_keys(doc) AS k, count(*) FROM docs GROUP BY k ORDER BY count(*) DESC, k LIMIT 3
SELECT jsonb_object_keys(doc), count(*), max(id) FROM docs GROUP BY 1 ORDER BY 1
SELECT upper(jsonb_object_keys(doc)) AS k, min(id) FROM docs GROUP BY jsonb_object_keys(doc) ORDER BY 1
SELECT count(*) FROM docs GROUP BY jsonb_object_keys(doc) ORDER BY jsonb_object_keys(doc)
SELECT jsonb_object_keys(doc) AS k, count(*) FROM docs GROUP BY k HAVING count(*) > 3 ORDER BY k
SELECT DISTINCT jsonb_object_keys(doc) AS k FROM docs ORDER BY k
SELECT DISTINCT jsonb_object_keys(doc) FROM docs ORDER BY jsonb_object_keys(doc) DESC
SELECT (jsonb_each(doc)).key, count(*) FROM docs GROUP BY 1 ORDER BY 1
SELECT (jsonb_each_text(doc - 'key' - '_rev' - 'nested')).key AS k, (jsonb_each_text(doc - 'key' - '_rev' - 'nested')).value AS v, count(*) FROM docs WHERE id < 'd05' GROUP BY k, v ORDER BY 1, 2, 3
SELECT upper((jsonb_each_text('{"a":"x","b":"y"}')).key) || (jsonb_each_text('{"a":"x","b":"y"}')).value AS kv
SELECT (jsonb_each('{"a":1,"b":2}')).*, generate_series(1,3) ORDER BY 3 DESC
SELECT (jsonb_each('{"a":1,"b":2}')).nosuch
SELECT jsonb_each('{"a":1,"b":2}'), jsonb_each_text('{"a":1}')
SELECT g.id, unnest(g.a) AS x, count(*) FROM (VALUES (1, array[1,1,2]), (2, array[2,3])) g(id, a) GROUP BY g.id, x ORDER BY 1, 2
SELECT unnest(a), generate_series(1,2) AS g, count(*) FROM (VALUES (array[1,1,2]), (array[2,3])) v(a) GROUP BY 1, 2 ORDER BY 1, 2
SELECT unnest(a) AS x, generate_series(1,2) AS g, count(*) FROM (VALUES (array[1,1,2]), (array[2,3])) v(a) GROUP BY x ORDER BY 1, 2
SELECT generate_series(1,2) AS k, generate_series(1,2) AS j, generate_series(1,2) + 10, count(*) GROUP BY k ORDER BY 1
SELECT generate_series(1,2) AS k, count(*) GROUP BY ROLLUP (k) ORDER BY 1
-- differs: Divan refuses window functions over them
SELECT generate_series(1,3) AS k, sum(count(*)) OVER (ORDER BY generate_series(1,3)) GROUP BY k
SELECT generate_series(1,3) AS k, count(*) GROUP BY upper(k::text)
SELECT k, count(*) FROM (SELECT unnest(a) AS k FROM (VALUES (array[1,1,2])) v(a)) x GROUP BY k ORDER BY k
SELECT (SELECT count(*) FROM (SELECT unnest(a) AS e GROUP BY e) y) FROM (VALUES (array[1,1,2]), (array[5])) v(a)
SELECT a, (SELECT string_agg(e::text, ',' ORDER BY e) FROM (SELECT unnest(a) AS e GROUP BY e) y) FROM (VALUES (array[1,1,2]), (array[5])) v(a)
SELECT unnest(array[3,1,2]) AS x ORDER BY x
SELECT unnest(array[3,1,2]) ORDER BY unnest(array[3,1,2]) DESC
SELECT n FROM (VALUES (1),(2)) v(n) ORDER BY generate_series(1, n) DESC, n
SELECT DISTINCT n FROM (VALUES (1),(2)) v(n) ORDER BY generate_series(1, n)
SELECT DISTINCT ON (x) unnest(array[1,1,2]) AS x, generate_series(1,3) AS y ORDER BY x, y DESC
SELECT 1 FROM (VALUES (1)) v(n) HAVING generate_series(1,2) > 0
SELECT 1 LIMIT generate_series(1,2)
-- Nested calls: functions of one level advance together.
SELECT generate_series(1,generate_series(1,3))
SELECT generate_series(1,2), generate_series(1,generate_series(1,3))
SELECT unnest(string_to_array(unnest(array['a,b','c']), ','))
SELECT generate_series(1,generate_series(1,3)) AS k, count(*) GROUP BY k ORDER BY k
SELECT jsonb_object_keys(jsonb_array_elements('[{"a":1,"b":2},{"c":3}]'))
SELECT jsonb_object_keys(jsonb_array_elements('[{"a":1,"b":2},{"a":3}]')) AS k, count(*) GROUP BY 1 ORDER BY 1
-- Other items of the select list are computed for each of their rows.
SELECT count(DISTINCT r) FROM (SELECT random() AS r, generate_series(1,5)) x
SELECT x.n, x.g FROM (SELECT n, generate_series(1,n) AS g FROM (SELECT id AS d, length(id) AS n FROM docs WHERE id < 'd03') q) x ORDER BY 1, 2
SELECT DISTINCT ON (a) a, b, generate_series(1, 2) g FROM (VALUES (2, 5), (2, 9), (1, 4), (1, 3)) t(a, b) ORDER BY a, b DESC
SELECT DISTINCT ON (a) generate_series(1, 2) g, b FROM (VALUES (2, 5), (2, 9), (1, 4), (1, 3)) t(a, b) ORDER BY a DESC, b
SELECT DISTINCT ON (a, b) a, generate_series(1, b) g FROM (VALUES (2, 2), (2, 2), (1, 3)) t(a, b) ORDER BY a, b LIMIT 4 OFFSET 1
SELECT DISTINCT ON (a) a, unnest(ARRAY[b, a]), count(*) OVER () FROM (VALUES (2, 2), (2, 5), (1, 3)) t(a, b) ORDER BY a, b
SELECT DISTINCT ON (a) a, unnest(ARRAY[a, 7]), sum(b), (SELECT count(*) FROM generate_series(1, a)) FROM (VALUES (2, 2), (2, 5), (1, 3)) t(a, b) GROUP BY a ORDER BY a, sum(b)
SELECT DISTINCT ON (doc->'city') doc->>'city', id, jsonb_object_keys(doc->'items'->0) k FROM docs ORDER BY doc->'city', id DESC
SELECT DISTINCT ON (a, g) a, generate_series(1, 2) g, b FROM (VALUES (2, 5), (2, 9), (1, 4), (1, 3)) t(a, b) ORDER BY a, g, b
SELECT * FROM string_to_table('x-y', '') WITH ORDINALITY
SELECT * FROM string_to_table('', '-') t(v)
SELECT v, v IS NULL FROM string_to_table('x-é-z', NULL) v
SELECT v, v IS NULL FROM string_to_table('x-y--z', '-', '') v
SELECT v, v IS NULL FROM string_to_table('x-y-*', '-', '*') v
SELECT v, v IS NULL FROM string_to_table('xy', '', 'xy') v
SELECT string_to_table(NULL, '-'), string_to_table('a-b', '-', NULL)
SELECT string_to_table('a-b', NULL, 'b'), string_to_array('xy', '', 'xy'), string_to_array('', ''), string_to_array('', NULL)
SELECT * FROM generate_subscripts(ARRAY['a', 'b'], 2)
SELECT * FROM generate_subscripts(ARRAY['a', 'b'], -1)
SELECT * FROM generate_subscripts(ARRAY['a', 'b'], 12)
SELECT * FROM generate_subscripts(ARRAY['a', 'b', 'c'], 1, true)
SELECT generate_subscripts('[3:5]={a,b,c}'::text[], 1, true), generate_subscripts('[3:5]={a,b,c}'::text[], 1, false)
SELECT generate_subscripts('{}'::text[], 1, true), generate_subscripts(NULL::text[], 1), generate_subscripts(ARRAY[1], NULL::int)
SELECT * FROM string_to_table('a,b', ',', 'b')
SELECT jsonb_delete_path('{"a": [1, 2]}', '{a,0}'), array_fill(7, ARRAY[2], ARRAY[5])
