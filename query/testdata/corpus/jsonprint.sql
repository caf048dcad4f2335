-- How a computed jsonb is printed, and how duplicate members are resolved.
SELECT '{"b" :1 ,"a":[ 1,2 ,{}, [] ]}'::jsonb
SELECT '{"a":1,"b":2,"a":{"c":1,"c":2}}'::jsonb
SELECT '{"bb":1,"c":2,"":3,"é":4}'::jsonb, '{"\u0061":1,"a":2}'::jsonb
SELECT '[-0, -0.00, 1E+2, 1.50e1, 5e-3, 0e9, 1e30, 12345678901234567890.10, 0.0e3, 100e-1, 0.00000001]'::jsonb
SELECT '"\u00e9\/\ud83d\ude00\u001f\b\f\n\r\t\"\\"'::jsonb, '" x "'::jsonb, ' true '::jsonb, 'null'::jsonb
SELECT '{"b":1, "a":2}'::json, '{"b":1, "a":2}'::json::jsonb, '{"b":1,"a":2}'::jsonb::json
SELECT '1.50'::jsonb->>0, '1e2'::jsonb->>0, '1E+2'::jsonb#>>'{}', '"1e2"'::jsonb->>0, '[1e2]'::json->>0
SELECT '{"a":1e2}'::jsonb->>'a', '{"a":1e2}'::json->>'a', '{"a":{"c":1,"b":2}}'::jsonb->>'a', '{"a":{"c":1,"b":2}}'::json->>'a'
SELECT '1e2'::jsonb::text, '[1 , 2]'::jsonb::text, '{"b":1,"a":2}'::jsonb::text, '{"b":1, "a":2}'::json::text
SELECT 'x' || '{"b":1,"a":2}'::jsonb, '{"b":1,"a":2}'::jsonb || 'x'::text, concat('{"b":1,"a":2}'::jsonb, 1)
SELECT format('%s', '{"b":1,"a":1e1}'::jsonb), length('{"b":1,"a":2}'::jsonb::text), md5('{"b":1,"a":2}'::jsonb::text)
SELECT array['{"b":1,"a":2}'::jsonb], row('{"b":1,"a":2}'::jsonb), array['{"b":1,"a":2}'::json]
SELECT array['{"b":1,"a":2}'::jsonb]::text, '{"{\"b\":1,\"a\":2}"}'::jsonb[]
SELECT to_json('{"b":1, "a":2}'::jsonb), to_jsonb('{"b":1, "a":2}'::json), to_json('{"b":1, "a":2}'::json)
SELECT * FROM jsonb_each('{"bb":1,"a":2,"bb":1e2}')
SELECT * FROM jsonb_each_text('{"bb":1,"a":[1,{"d":1,"c":2}],"bb":1e2,"n":null}')
SELECT * FROM json_each('{"bb":1,"a":2,"bb":1e2}')
SELECT json_object_keys('{"bb":1,"a":2,"bb":3}')
SELECT * FROM jsonb_array_elements('[{"b":1,"a":2},1e2]')
SELECT * FROM jsonb_array_elements_text('[{"b":1,"a":2},1e2,"x",null]')
SELECT count(*) FROM jsonb_each('{"a":1,"a":2}'::jsonb)
SELECT '{"a":1,"a":2}'::jsonb || '{}', '{"a":1,"a":2}'::jsonb - 'a', jsonb_set('{"a":1,"a":2}','{a}','3')
SELECT '{"a":1,"a":2}'::jsonb @> '{"a":1}', '{"a":1,"a":2}'::jsonb #> '{a}', '{"a":1,"a":2}'::jsonb = '{"a":2}'
SELECT '{"b":1}'::jsonb || '{"a":2}', '{"bb":1,"c":2}'::jsonb || '{"bb":3,"a":4}', '[1]'::jsonb || '{"b":1,"a":2}', '1'::jsonb || '2'
SELECT jsonb_set('{"b":1,"cc":2}', '{a}', '1e1'), jsonb_insert('{"b":[1,2]}', '{b,0}', '{"z":1,"y":2}')
SELECT jsonb_set_lax('{"b":1}', '{a}', null), '{"b":{"d":1,"c":2}}'::jsonb #- '{b,d}', '[1,2]'::jsonb - 0, '{"a":1,"b":2}'::jsonb - '{a}'::text[]
SELECT jsonb_build_object('b', 1, 'a', 2, 'b', 3), json_build_object('b', 1, 'a', 2, 'b', 3), jsonb_build_object('aa', 1e2, 'b', '{"d":1,"c":1}'::json)
SELECT jsonb_build_array('{"b":1,"a":1e1}'::jsonb, '{"b":1, "a":1e1}'::json, 1.50), json_build_array('{"b":1,"a":1e1}'::jsonb, '{"b":1, "a":1e1}'::json)
SELECT jsonb_build_object(null, 1)
SELECT json_build_object(null, 1)
SELECT jsonb_build_object('a')
SELECT json_build_object('a')
SELECT jsonb_object('{b,1,a,2,b,3}'), jsonb_object('{b,a}', '{1,2}'), json_object('{b,1,a,2,b,3}')
SELECT jsonb_agg(x ORDER BY x), json_agg(x ORDER BY x) FROM (VALUES ('{"b":1,"a":1e1}'::text)) v(x)
SELECT jsonb_agg(x::jsonb), jsonb_agg(x::json), json_agg(x::jsonb), json_agg(x::json) FROM (VALUES ('{"b":1, "a":1e1}')) v(x)
SELECT jsonb_object_agg(k, v), json_object_agg(k, v) FROM (VALUES ('bb', 1), ('a', 2), ('bb', 3)) t(k, v)
SELECT jsonb_strip_nulls('{"b":1,"a":{"d":null,"c":1e1},"b":null}'), json_strip_nulls('{"b":1,"a":{"d":null,"c":1e1}}')
SELECT jsonb_pretty('{"b":1,"a":[1e1,{"d":1,"c":2}],"b":{}}')
SELECT jsonb_path_query_array('{"b":1,"a":2,"b":3}', '$.*'), jsonb_path_query_array('{"bb":1,"a":2}', '$.keyvalue().key')
SELECT jsonb_path_query('{"b":1e1,"a":{"d":1,"c":2}}', '$.*'), jsonb_path_query_first('{"b":{"d":1,"c":2}}', '$.b')
SELECT * FROM jsonb_to_record('{"a":1e2,"b":{"d":1,"c":2},"c":"x"}') AS t(a text, b text, c text)
SELECT * FROM json_to_record('{"a":1e2,"b":{"d":1,"c":2},"c":"x"}') AS t(a text, b text, c text)
SELECT * FROM jsonb_to_recordset('[{"a":1e2},{"a":{"d":1,"c":2}}]') AS t(a text)
SELECT * FROM jsonb_to_record('{"a":1e2,"b":{"d":1,"c":2}}') AS t(a numeric, b jsonb)
SELECT row_to_json(row('{"b":1,"a":2}'::jsonb)), to_jsonb(row('{"b":1, "a":2}'::json, 1e2::float8)), to_jsonb(1e2::numeric), to_jsonb(1e20::float8), to_jsonb(1e-7::float8)
SELECT DISTINCT x::jsonb->'b' FROM (VALUES ('{"b":1,"a":2}'), ('{"a":2.0,"b":1}')) v(x)
SELECT count(DISTINCT x::jsonb) FROM (VALUES ('{"b":1,"a":2}'), ('{"a":2.0,"b":1}'), ('{"a":3}')) v(x)
SELECT '{"b":1,"a":2}'::jsonb::text = '{"a": 2, "b": 1}', '1e2'::jsonb = '100', '[1e2]'::jsonb <@ '[100, 1]', '1'::jsonb = '1.0'
SELECT ('{"a":1e2}'::jsonb->'a')::numeric, ('{"a":1e2}'::jsonb->'a')::int, ('{"a":1.5}'::jsonb->'a')::int, ('{"a":2.5}'::jsonb->'a')::float8
SELECT '{"a":{"b":1,"aa":2}}'::jsonb->'a', '{"a":{"b":1, "aa":2}}'::json->'a', '{"a":{"b":1,"aa":2}}'::jsonb#>'{a}'
SELECT jsonb_typeof('1e2'), jsonb_array_length('[1e2, 1]'), jsonb_extract_path('{"a":{"c":1,"b":2}}', 'a'), jsonb_extract_path_text('{"a":{"c":1,"b":2}}', 'a')
SELECT jsonb_extract_path_text('{"a":1e2}', 'a'), json_extract_path_text('{"a":1e2}', 'a')
COPY (SELECT '{"a":"x\ty","0":1}'::jsonb, '[1,2]'::jsonb, '{"a":1}'::json) TO STDOUT
-- Documents: values extracted as text, expanded or computed.
SELECT id, doc->>'v', doc#>>'{nested,v}', (doc->'v')::text FROM docs ORDER BY id
SELECT id, k FROM docs, jsonb_object_keys(doc->'nested') k ORDER BY id, k
SELECT id, e.key, e.value::text FROM docs, jsonb_each(doc) e WHERE e.key <> '_rev' ORDER BY id, e.key
SELECT id, e.key, e.value FROM docs, jsonb_each_text(doc) e WHERE e.key <> '_rev' AND id >= 'd40'
SELECT id, (doc->'nested' || '{"z":1}')::text FROM docs ORDER BY id
SELECT id, jsonb_path_query_array(doc->'nested', '$.*')::text FROM docs ORDER BY id
SELECT id, jsonb_agg(doc->'v')::text FROM docs GROUP BY id ORDER BY id
SELECT id, to_json(doc->'v')::text, md5((doc - '_rev')::text), length((doc - '_rev')::text) FROM docs ORDER BY id
SELECT id, r.v FROM docs, jsonb_to_record(doc) AS r(v text) ORDER BY id
SELECT key::text, value::text FROM by.v ORDER BY id
SELECT string_agg(doc->>'v', ';' ORDER BY id) FROM docs
SELECT id FROM docs WHERE doc->>'v' = '1000' ORDER BY id
