-- Functions that return rows in a select list: within expressions, and behind groups and windows.
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
-- differs: groups of their rows are refused
SELECT generate_series(1,3) % 2 AS k, count(*) GROUP BY k
-- differs: a function of another one's rows is refused
SELECT generate_series(1,generate_series(1,3))
SELECT n BETWEEN 1 AND generate_series(0,2) FROM (VALUES (1)) v(n)
