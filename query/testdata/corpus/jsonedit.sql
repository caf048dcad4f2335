-- Operators and functions that change jsonb.
SELECT '{"a": 1, "b": 2}'::jsonb - 'a', '{"a": 1}'::jsonb - 'x', '["a", "b", "a", 1]'::jsonb - 'a', '["a", "b", "c"]'::jsonb - 1, '["a", "b", "c"]'::jsonb - -1, '["a"]'::jsonb - 5, '{"a": 1, "b": 2, "c": 3}'::jsonb - '{a,c}'::text[], '{"a": 1, "b": 2}'::jsonb - ARRAY['b', 'x'], '{}'::jsonb - 'a', '[]'::jsonb - 0
SELECT '1'::jsonb - 'a'
SELECT '1'::jsonb - 1
SELECT '{"a": 1}'::jsonb - 1
SELECT '"x"'::jsonb - '{a}'::text[]
SELECT '{"a": {"b": [1, 2, {"c": 3}]}}'::jsonb #- '{a,b,1}', '{"a": {"b": [1, 2, {"c": 3}]}}'::jsonb #- '{a,b,2,c}', '{"a": 1}'::jsonb #- '{b}', '{"a": {"b": 1}}'::jsonb #- '{a}', '[1, 2, 3]'::jsonb #- '{-1}', '{"a": 1}'::jsonb #- '{}', '{"a": 1}'::jsonb #- '{a,b}', '[1, 2]'::jsonb #- '{5}'
SELECT '1'::jsonb #- '{a}'
SELECT '[1]'::jsonb #- '{a}'
SELECT '{"a": [1]}'::jsonb #- '{a,x}'
SELECT '{"a": 1}'::jsonb #- ARRAY[NULL]::text[]
SELECT jsonb_set('{"a": 1, "b": {"c": 2}}', '{b,c}', '5'), jsonb_set('{"a": 1}', '{x}', '"new"'), jsonb_set('{"a": 1}', '{x}', '"new"', false), jsonb_set('[1, 2, 3]', '{1}', '"x"'), jsonb_set('[1, 2, 3]', '{-1}', '"x"'), jsonb_set('[1, 2, 3]', '{9}', '"x"'), jsonb_set('[1, 2, 3]', '{-9}', '"x"'), jsonb_set('[1, 2, 3]', '{9}', '"x"', false), jsonb_set('{"a": {"b": 1}}', '{a,x,y}', '1'), jsonb_set('{"a": [1, {"b": 2}]}', '{a,1,b}', '[]'), jsonb_set('{"a": 1}', '{}', '2'), jsonb_set('[]', '{0}', '1'), jsonb_set('{"a": 1}', '{a,b}', '1')
SELECT jsonb_set('1', '{a}', '1')
SELECT jsonb_set('[1]', '{a}', '1')
SELECT jsonb_set('{"a": 1}', ARRAY['a', NULL], '1')
SELECT jsonb_set('{"a": 1}', '{a}', NULL), jsonb_set(NULL, '{a}', '1'), jsonb_set('{"a": 1}', NULL, '1')
SELECT jsonb_set_lax('{"a": 1, "b": 2}', '{b}', NULL), jsonb_set_lax('{"a": 1, "b": 2}', '{b}', NULL, true, 'delete_key'), jsonb_set_lax('{"a": 1, "b": 2}', '{b}', NULL, true, 'return_target'), jsonb_set_lax('{"a": 1, "b": 2}', '{b}', '3'), jsonb_set_lax('{"a": 1}', '{x}', NULL, false), jsonb_set_lax('{"a": 1}', '{x}', NULL, NULL)
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL, true, 'raise_exception')
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL, true, 'nothing')
SELECT jsonb_set_lax('{"a": 1}', '{a}', NULL, true, NULL)
SELECT jsonb_insert('{"a": [0, 1, 2]}', '{a,1}', '"new"'), jsonb_insert('{"a": [0, 1, 2]}', '{a,1}', '"new"', true), jsonb_insert('{"a": [0, 1, 2]}', '{a,-1}', '"new"', true), jsonb_insert('{"a": 1}', '{b}', '2'), jsonb_insert('[1]', '{5}', '2'), jsonb_insert('[1]', '{-5}', '2'), jsonb_insert('[]', '{0}', '2', true), jsonb_insert('{"a": {"b": 1}}', '{a,c}', '2')
SELECT jsonb_insert('{"a": 1}', '{a}', '2')
SELECT jsonb_insert('1', '{a}', '2')
SELECT jsonb_pretty('{"a": [1, {"b": null}], "c": {}, "d": []}'), jsonb_pretty('1'), jsonb_pretty('[]'), jsonb_pretty('{}'), jsonb_pretty('"x"')
SELECT jsonb_strip_nulls('{"a": null, "b": [1, null, {"c": null, "d": 1}], "e": {"f": null}}'), jsonb_strip_nulls('[null]'), jsonb_strip_nulls('null'), json_strip_nulls('{"a": null, "b": [1, null, {"c": null, "d" : 1}]}')
SELECT row_to_json(x), row_to_json(ROW(1, 'a')), row_to_json(x, true), array_to_json(ARRAY[1, 2]), array_to_json(ARRAY[1, 2], true) FROM (SELECT 1 AS a, 'b' AS c) x
SELECT jsonb_object('{a,1,b,2}'), json_object('{a,1,b,NULL}'), jsonb_object('{a,b}', '{1,2}'), json_object(ARRAY['a'], ARRAY['x"y'])
SELECT jsonb_object('{a,1,b}')
SELECT jsonb_object('{a,b}', '{1}')
SELECT json_object(ARRAY[NULL, '1'])
SELECT jsonb_set(doc, '{i}', '0')->'i', doc - 'v' - 'nested' - '_rev' ? 'v', doc #- '{key,0}' -> 'key' FROM docs WHERE id = 'd03'
SELECT * FROM jsonb_to_record('{"a": 1, "b": "x", "c": [1, 2], "d": {"e": 1}}') AS t(a int, b text, c jsonb, d json, e bool)
SELECT * FROM jsonb_to_recordset('[{"a": 1, "b": "x"}, {"a": "2"}, {"b": null}]') AS t(a int, b text)
SELECT * FROM json_to_record('{"a": 1.5, "b": true, "c": "2024-01-02"}') AS t(a numeric, b bool, c date)
SELECT * FROM json_to_recordset('[{"a": 1}, {"a": 2}]') t(a int8) WHERE a > 1
SELECT t.a, t.ordinality FROM jsonb_to_recordset('[{"a": 1}, {"a": 2}]') WITH ORDINALITY t(a) LIMIT 1
SELECT * FROM ROWS FROM (jsonb_to_recordset('[{"a": 1}, {"a": 2}]') AS (a int)) WITH ORDINALITY t
SELECT * FROM jsonb_to_record('{"a": [1, 2], "b": ["x", null]}') AS t(a int[], b text[])
SELECT * FROM jsonb_to_record('{"a": 1}')
SELECT * FROM jsonb_to_record('[1]') AS t(a int)
SELECT * FROM jsonb_to_record('1') AS t(a int)
SELECT * FROM jsonb_to_recordset('{"a": 1}') AS t(a int)
SELECT * FROM jsonb_to_recordset('[1]') AS t(a int)
SELECT * FROM jsonb_to_record('{"a": "x"}') AS t(a int)
SELECT * FROM jsonb_to_record(NULL) AS t(a int)
SELECT * FROM jsonb_to_recordset(NULL) AS t(a int)
-- differs: the position is that of the type
SELECT * FROM generate_series(1, 2) AS t(a int)
SELECT id, r.i, r.nope FROM docs, jsonb_to_record(doc) AS r(i int, nope text) WHERE id < 'd03' ORDER BY id
SELECT (jsonb_each('{"a": 1, "b": [2]}')).*
SELECT (jsonb_each_text('{"a": 1, "b": [2]}')).key
SELECT id, (jsonb_each(doc->'nested')).* FROM docs WHERE id < 'd03' ORDER BY id
SELECT x.value, x.key FROM jsonb_each('{"a": 1}') AS x
SELECT x.value FROM jsonb_array_elements('[1, 2]') AS x
SELECT x FROM jsonb_array_elements('[1, 2]') AS x
SELECT value FROM jsonb_array_elements('[1, 2]')
SELECT value FROM jsonb_array_elements('[1, 2]') AS x
SELECT e.value->>'a' FROM jsonb_array_elements('[{"a": 1}, {"a": 2}]') AS e
SELECT e->>'a' FROM jsonb_array_elements('[{"a": 1}, {"a": 2}]') AS e WHERE e.value->'a' > '1'
SELECT d.id, e.value FROM docs d, jsonb_array_elements(d.doc->'key') AS e WHERE d.id < 'd02' ORDER BY d.id
SELECT k FROM jsonb_object_keys('{"a": 1, "b": 2}') AS k
SELECT n.n FROM generate_series(1, 2) AS n
SELECT jsonb_array_elements('[1, 2]') AS a, jsonb_array_elements('[3]') AS b
SELECT value FROM (SELECT jsonb_array_elements('[1, 2]') AS value) x
SELECT jsonb_pretty('{"a":[1,{"b":[]},"x,y:{"],"c":{},"d":"\"}"}'), jsonb_pretty('[]'), jsonb_pretty('1')
-- The functions behind operators.
SELECT jsonb_concat('[1]', '[2]'), jsonb_delete('{"a":1}', 'a'), jsonb_delete('[1,2]', 0), jsonb_exists('{"a":1}', 'a'), jsonb_exists_any('{"a":1}', ARRAY['a', 'b']), jsonb_exists_all('{"a":1}', '{a,b}'), jsonb_contains('{"a":1}', '{}'), jsonb_contained('{}', '{"a":1}'), jsonb_delete_path('{"a":{"b":1}}', '{a,b}')
SELECT jsonb_object_field('{"a":1}', 'a'), jsonb_object_field_text('{"a":"x"}', 'a'), jsonb_array_element('[1,2]', 1), json_object_field_text('{"a":"x"}', 'a'), jsonb_path_exists_opr('{"a":1}', '$.a'), jsonb_path_match_opr('{"a":1}', '$.a == 1')
SELECT jsonb_set_lax('"abc"', '{a}', NULL, true, 'delete_key')
SELECT jsonb_set_lax('5', '{}', NULL, true, 'delete_key')
