-- Records converted to JSON objects.
SELECT to_jsonb(x) FROM (SELECT 1 AS a, 'b'::text AS b) x
SELECT to_jsonb(x) FROM (SELECT 1 AS long, 'b'::text AS b, 2 AS a, NULL::int AS id) x
SELECT to_jsonb(x) FROM (SELECT 1 AS a, 2 AS a) x
SELECT to_json(x) FROM (SELECT 1 AS a, 2 AS a) x
SELECT jsonb_agg(x) FROM (VALUES (1, 'a'), (2, 'b')) x(n, s)
SELECT json_agg(x) FROM (VALUES (1, 'a'), (2, 'b')) x(n, s)
SELECT json_agg(n), json_agg(ARRAY[n]), jsonb_agg(ARRAY[n, 7]) FROM (VALUES (1, 'a'), (2, 'b')) x(n, s)
SELECT to_json(x) FROM (SELECT 1 AS a, 'b'::text AS b, NULL::int AS c, ARRAY[1,2] AS d, true AS e, 1.50 AS f, date '2020-01-02' AS g) x
SELECT row_to_json(x), row_to_json(ROW(1, 'a'::text)) FROM (SELECT 1 AS a) x
SELECT row_to_json(NULL), row_to_json(NULL::record)
SELECT row_to_json(1)
SELECT to_jsonb(ROW(1, 'a'::text, NULL)), to_json(ROW())
SELECT to_jsonb(d) ->> 'id', to_jsonb(d) -> 'doc' -> 'i' FROM docs d WHERE id = 'd01'
SELECT jsonb_build_object('x', x), json_build_object('x', x, 'y', ARRAY[1,2]) FROM (SELECT 1 AS a) x
SELECT json_build_array(x, ROW(1)), jsonb_build_array(x, ROW(1), ARRAY[1,2]) FROM (SELECT 1 AS a) x
SELECT jsonb_agg(to_jsonb(x)) FROM (SELECT 1 AS a) x
SELECT json_agg(x ORDER BY a DESC) FROM (VALUES (1), (2)) x(a)
SELECT to_jsonb(ARRAY[ROW(1,2)]), to_json(ARRAY[ROW(1,2), NULL])
SELECT array_to_json(array_agg(x)), array_to_json(ARRAY[1,2]) FROM (SELECT 1 AS a) x
SELECT jsonb_object_agg(a, x), json_object_agg(a, x) FROM (SELECT 1 AS a) x
SELECT json_object_agg(a, b) FROM (VALUES (1, 'x'), (2, 'y')) x(a, b)
SELECT to_jsonb(x) FROM (SELECT ROW(1,2) AS r, (SELECT y FROM (SELECT 5 AS q) y) AS s) x
SELECT json_agg(x) FROM (SELECT id, doc->'i' AS i FROM docs WHERE id LIKE 'd%' ORDER BY id LIMIT 2) x
SELECT to_jsonb(x) FROM generate_series(1, 2) x
SELECT to_jsonb(x) FROM jsonb_each('{"a":1}') x
SELECT to_jsonb(x) FROM jsonb_each('{"a":1}') WITH ORDINALITY x
SELECT to_jsonb(x) FROM jsonb_each('{"a":1}') x(k, v)
SELECT (SELECT to_jsonb(x)) FROM (SELECT 1 AS a, 2 AS b) x
SELECT (SELECT jsonb_agg(y) FROM (SELECT x.a + n AS m FROM generate_series(1, 2) n) y) FROM (SELECT 1 AS a) x
SELECT to_jsonb(c) -> 'relname' FROM pg_catalog.pg_class c WHERE c.relname = 'pg_class'
SELECT concat(x), x::text, x FROM (SELECT 1 AS a, 'b c'::text AS b) x
SELECT quote_ident(x::text) FROM (SELECT 1 AS a) x
SELECT to_json('{"a" : 1}'::json), to_json(1.50), to_json('x'::text), to_json(date '2020-01-01'), to_json(timestamptz '2020-01-01'), to_jsonb(interval '1 day'), to_json('\x01'::bytea)
SELECT to_json('NaN'::float8), to_json(float8 '1e20'), to_json(true), to_json(NULL::int), to_json(ARRAY['a"b', NULL]), to_json(date 'infinity')
SELECT x.a FROM (SELECT 1 AS a) x WHERE to_jsonb(x) = '{"a": 1}'
-- The row of the unmatched side of an outer join is NULL.
SELECT a.n, b, b IS NULL, to_jsonb(b), coalesce(to_jsonb(b), '0') FROM (VALUES (1), (2)) a(n) LEFT JOIN (VALUES (2, 'x')) b(n, t) ON a.n = b.n ORDER BY a.n
SELECT a, b.n FROM (VALUES (1), (2)) a(n) RIGHT JOIN (VALUES (2, 'x'), (3, 'y')) b(n, t) ON a.n = b.n ORDER BY b.n
SELECT to_jsonb(a), to_jsonb(b) FROM (VALUES (1), (2)) a(n) FULL JOIN (VALUES (2, 'x'), (3, 'y')) b(n, t) ON a.n = b.n ORDER BY a.n, b.n
SELECT jsonb_agg(b ORDER BY a.n), count(b) FROM (VALUES (1), (2)) a(n) LEFT JOIN (VALUES (2, 'x')) b(n, t) ON a.n = b.n
SELECT b FROM (VALUES (NULL::int)) b(n)
-- records populated from JSON
SELECT * FROM jsonb_populate_record(null::record, '{"a":1,"b":"x","c":[1,2]}') AS x(a int, b text, c int[], d date)
SELECT * FROM jsonb_populate_recordset(null::record, '[{"a":1},{"a":"2","b":null}]') AS x(a int, b text)
SELECT * FROM jsonb_populate_record(row(1,'z'::text), '{"b":"x","f1":7}') AS x(a int, b text)
SELECT * FROM json_populate_recordset(row(5,'z'::text), '[{"f1":1},{"f2":null}]') AS x(a int, b text)
SELECT * FROM jsonb_populate_record(row(1,2), '{"b":"x"}') AS x(a int, b text)
SELECT * FROM jsonb_populate_record(row(1), '{"b":"x"}') AS x(a int, b text)
SELECT * FROM jsonb_populate_record(null, '{"b":"x"}') AS x(a int, b text)
SELECT * FROM jsonb_populate_record(null::record, null) AS x(a int, b text)
SELECT * FROM jsonb_populate_record(row(1,'z'::text), null) AS x(a int, b text)
SELECT * FROM jsonb_populate_record(null::record, '[1]') AS x(a int, b text)
SELECT v.id, x.* FROM (VALUES (1, '{"a":5}'::jsonb)) v(id, j), jsonb_populate_record(null::record, v.j) AS x(a int)
-- Records whose fields have other types do not compare, once those before them are equal.
SELECT a < b FROM (SELECT ROW(1, 'a'::text) a, ROW(1, 2) b) t
SELECT ROW(1, 'a'::text) < b FROM (SELECT ROW(1, 2) b) t
SELECT r FROM (SELECT ROW(2, 'a'::text) r UNION ALL SELECT ROW(1, 2)) t ORDER BY r
SELECT r FROM (SELECT ROW(1, 2) r UNION ALL SELECT ROW(1, 2, 3)) t ORDER BY r
SELECT a = b FROM (SELECT ROW(1, 2) a, ROW(1, 2::bigint) b) t
SELECT a < b FROM (SELECT ROW(1, 2) a, ROW(2, 'a'::text) b) t
SELECT a = b FROM (SELECT ROW(1, 2) a, ROW(1, 2, 3) b) t
SELECT max(r), rank() OVER (ORDER BY max(r)) FROM (SELECT ROW(1, 2) r) t
-- More of the same, together.
SELECT to_jsonb(t) FROM (SELECT 1 AS b, 2 AS a, 3 AS aa, '{"z":1,"y":[1,2]}'::json AS j) t
SELECT to_json(t), row_to_json(t) FROM (SELECT 1 AS "a b", NULL::int AS n, ARRAY[ROW(1,'x'), NULL] AS r) t
SELECT json_agg(t ORDER BY x DESC), jsonb_agg(t ORDER BY x) FROM (VALUES (1,'{1,2}'::int[]),(2,NULL)) t(x, y)
SELECT jsonb_agg(DISTINCT x ORDER BY x DESC), json_object_agg(x::text, x) FROM (VALUES (1),(2)) v(x)
SELECT to_jsonb('1 day 02:00'::interval), to_jsonb('2020-01-01 12:00+00'::timestamptz), to_jsonb('12:00'::time), to_jsonb('\x01'::bytea), to_jsonb('infinity'::timestamp), to_jsonb(1e-7::float8), to_jsonb(1e30::float8), to_jsonb(0.1::float4), to_jsonb('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid), to_jsonb('a'::"char"), to_jsonb(true)
SELECT json_build_object(1, 2, 'a b', NULL, 1.50, '1'::json, true, ARRAY['x']), json_build_object()
SELECT json_build_object(NULL, 1)
SELECT json_build_object('{}'::json, 1)
SELECT json_build_object(ARRAY[1], 1)
SELECT jsonb_build_array(VARIADIC ARRAY[1,2]), json_build_object(VARIADIC ARRAY['a','1','b','2'])
SELECT jsonb_typeof('1'::jsonb), '1'::jsonb @> '1', '[1,2]'::jsonb - 0, '{"a":{"b":2}}'::jsonb #>> '{a,b}', '{"a":null}'::jsonb ->> 'a', jsonb_extract_path('{"a":[1,2]}', 'a', '1'), jsonb_array_length('[]'), jsonb_object('{a,b}', '{x,y}'), '"a"'::jsonb #>> '{}', '[1,[2]]'::jsonb #> '{1,0}', '{"a":1}'::jsonb ?| '{b,a}', '["a"]'::jsonb ? 'a', '"a"'::jsonb ? 'a'
SELECT jsonb_typeof(doc->'v'), min((doc->>'i')::int), max((doc->>'i')::int), string_agg(id, ',' ORDER BY id) FROM docs GROUP BY ROLLUP (jsonb_typeof(doc->'v')) ORDER BY 1 NULLS LAST
SELECT d.id, e.value FROM docs d, LATERAL jsonb_each(d.doc->'nested') e WHERE d.id IN ('d01', 'd13') ORDER BY 1
SELECT sum((doc->>'v')::numeric), avg((doc->>'i')::int) FROM docs WHERE jsonb_typeof(doc->'v') = 'number'
SELECT jsonb_pretty(doc->'nested') FROM docs WHERE id = 'd24'
-- Keys that are not texts.
SELECT json_object_agg(k, v) FROM (VALUES (true, 1)) t(k, v)
SELECT jsonb_object_agg(k, v) FROM (VALUES (true, 1)) t(k, v)
SELECT json_object_agg(k, v) FROM (VALUES (ARRAY[1], 1)) t(k, v)
SELECT jsonb_object_agg(k, v) FROM (VALUES ('1'::jsonb, 1)) t(k, v)
SELECT jsonb_object_agg(k, v) FROM (VALUES (ROW(1), 1)) t(k, v)
SELECT jsonb_build_object(true, 1, 'x', 2, '2020-01-01'::date, 3, 1.50, 4, '2020-01-01 12:00'::timestamp, 5)
SELECT jsonb_build_object('{}'::jsonb, 1)
SELECT jsonb_build_object(ROW(1), 1)
SELECT json_build_object(false, 1, '2020-01-01 12:00'::timestamp, 5, '12:00'::time, 1, '\x01'::bytea, 2)
SELECT json_object_agg(k, v) FROM (VALUES ('2020-01-01 12:00'::timestamp, 1)) t(k, v)
-- Records that are filled from JSON in the select list have the fields of their first argument.
SELECT json_populate_record(row(1, 'x'::text, date '2024-02-29'), '{"f2": "y", "f3": null}'), jsonb_populate_record(row(7), '{"f2": 8}')
SELECT jsonb_populate_record(row(1, 2), '{"f1": "z"}')
SELECT jsonb_populate_record(row(1, 2), NULL), jsonb_populate_record(row(ARRAY[1], '{}'::jsonb), '{"f1": [2, "3"], "f2": {"a": 1}}')
SELECT jsonb_populate_record(NULL::record, '{"f1": 7}')
SELECT jsonb_populate_recordset(row(1, 2), '[{"f1": 3}, {"f2": 4}, {}]')
SELECT i, json_populate_recordset(row(i, 50), '[{"f1": "42"}, {"f2": "43"}]') FROM (VALUES (1), (2)) v(i)
SELECT jsonb_populate_recordset(row(1, 2), '[]')
SELECT jsonb_populate_recordset(row(1, 2), '{}')
SELECT jsonb_populate_recordset(row(1, 2), '[7]')
SELECT jsonb_populate_recordset(NULL::record, '[{"f1": 7}]')
SELECT jsonb_populate_record(row(1, 2), '[1]')
SELECT jsonb_populate_record(v, '{"a": 7}') FROM (VALUES (1, 'x')) v(a, b)
SELECT to_jsonb(jsonb_populate_record(v, '{"b": "y"}')) FROM (VALUES (1, 'x'::text)) v(a, b)
SELECT id, jsonb_populate_record(row(0, ''::text), jsonb_build_object('f1', doc->'i', 'f2', doc->'city')) FROM docs WHERE id < 'd03' ORDER BY id
SELECT * FROM jsonb_populate_record(row(1, 2), '{"f1": 7}')
SELECT * FROM jsonb_populate_record(row(1, 2), '{"f1": 7}') AS t(a int, b int)
SELECT * FROM jsonb_populate_recordset(row(1, 2), '[{"f1": 7}]') AS t(a int, b int)
SELECT json_to_record('{"a": 1}')
SELECT jsonb_to_recordset('[{"a": 1}]')
SELECT (r).f1 FROM (SELECT row(1,'a') AS r) s
SELECT (r).f1, (r).f2, (r).* FROM (SELECT row(1,'a'::text) AS r) s
SELECT (r).f2 FROM (SELECT row(1,'a'::text) AS r UNION ALL SELECT row(2, 'b'::text)) s
SELECT (r).f3 FROM (SELECT row(1,'a'::text) AS r) s
SELECT (s.t).x FROM (SELECT t FROM (VALUES (1),(2)) t(x)) s
SELECT (s.t).* FROM (SELECT t FROM (VALUES (1,2),(2,3)) t(x, y)) s
WITH w AS (SELECT row(1, 2.5) r) SELECT (r).f2, (r).f1 + 1 FROM w WHERE (r).f1 = 1
SELECT (r).f1, count(*) FROM (SELECT row(x % 2, x) AS r FROM generate_series(1, 5) x) s GROUP BY (r).f1 ORDER BY 1
SELECT (d).id, ((d).doc)->>'i' FROM (SELECT d FROM docs d ORDER BY id LIMIT 2) s
SELECT (SELECT (r).f1) FROM (SELECT row(1,2) r) s
