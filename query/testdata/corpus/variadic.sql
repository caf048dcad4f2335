-- VARIADIC arrays, and several functions in ROWS FROM.
SELECT concat(VARIADIC ARRAY[1, 2, 3]), concat_ws(',', VARIADIC ARRAY['a', NULL, 'b']), format('%s %L', VARIADIC ARRAY['a', 'b']), concat('a', VARIADIC '{}'::int[])
SELECT json_build_array(VARIADIC ARRAY[1, 2]), jsonb_build_array(VARIADIC ARRAY['x', NULL]), jsonb_build_object(VARIADIC ARRAY['a', 'b']), json_build_object(VARIADIC '{k,1}'::text[])
SELECT jsonb_extract_path('{"a":{"b":1}}', VARIADIC ARRAY['a', 'b']), json_extract_path_text('{"a":{"b":1}}', VARIADIC ARRAY['a', 'b']), jsonb_extract_path('{"a":1}', VARIADIC '{a}'), jsonb_extract_path('{"a":1}', VARIADIC ARRAY['a', NULL])
SELECT num_nulls(VARIADIC ARRAY[1, NULL]), num_nonnulls(VARIADIC ARRAY[1, NULL]), num_nulls(VARIADIC NULL::int[])
SELECT concat(VARIADIC NULL::text[]), concat_ws(',', VARIADIC NULL::text[]), format('a', VARIADIC NULL::text[]), json_build_array(VARIADIC NULL::int[]), jsonb_build_object(VARIADIC NULL::int[]), jsonb_extract_path('{}', VARIADIC NULL)
SELECT concat(VARIADIC ARRAY[date '2020-01-01']), format('%2$s', VARIADIC ARRAY[1.50, 2.50]), concat(VARIADIC x) FROM (VALUES (ARRAY['a', 'b'])) t(x)
SELECT concat(VARIADIC 'a')
SELECT concat(VARIADIC 1)
SELECT concat_ws(',', 'a', VARIADIC ARRAY[1])
SELECT abs(VARIADIC ARRAY[1, 2])
SELECT nofunc(VARIADIC ARRAY[1, 2])
SELECT least(VARIADIC ARRAY[1, 2])
SELECT jsonb_build_object(VARIADIC ARRAY['a'])
SELECT jsonb_extract_path('{"a":1}', VARIADIC 'a')
SELECT format('%s %s', VARIADIC ARRAY['a'])
-- parameters: ["{a,b}"]
SELECT concat(VARIADIC $1::text[])
SELECT * FROM ROWS FROM (generate_series(1, 3), generate_series(10, 11)) AS t(a, b)
SELECT * FROM ROWS FROM (generate_series(1, 3), jsonb_each('{"a":1}')) WITH ORDINALITY
SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY[1, 2], ARRAY['a'])) AS x
SELECT * FROM ROWS FROM (json_to_recordset('[{"a":1,"b":"x"}]') AS (a int, b text), generate_series(1, 2)) AS t
SELECT * FROM ROWS FROM (jsonb_to_record('{"a":1}') AS (a int), upper('x'), generate_series(1, 0)) WITH ORDINALITY AS t(p, q)
SELECT t, t.n FROM ROWS FROM (generate_series(1, 2), upper('x')) AS t(n)
SELECT x, y, z FROM (VALUES (1), (3)) v(x), ROWS FROM (generate_series(1, x), generate_series(2, 2)) AS r(y, z) ORDER BY 1, 2
SELECT * FROM ROWS FROM (generate_series(1, 2)) g
SELECT * FROM ROWS FROM (generate_series(1, 2), generate_series(1, 2)) g(a, b, c)
SELECT * FROM ROWS FROM (generate_series(1, 2), nofunc(1)) g
SELECT * FROM ROWS FROM (generate_series(1, 0), generate_series(1, NULL))
SELECT * FROM ROWS FROM (json_to_record('{}'), generate_series(1, 2))
SELECT x.a, g FROM (VALUES (1)) x(a) LEFT JOIN LATERAL ROWS FROM (generate_series(1, a), generate_series(1, 2)) g(p, q) ON true
