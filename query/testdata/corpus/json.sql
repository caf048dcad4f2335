-- A text that is compared with jsonb is read as JSON.
SELECT id FROM docs WHERE doc->'v' = '1' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = '"1"' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = '1.0' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = ' 1e0 ' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = '1000' ORDER BY id
SELECT id FROM docs WHERE doc->'i' > '30' ORDER BY id
SELECT id FROM docs WHERE '30' < doc->'i' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = 'true' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = 'null' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = '"true"' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = '[1, 2]' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = '{"b":2,"a":1}' ORDER BY id
SELECT id FROM docs WHERE doc->'v' <> '{"b":2,"a":1}' AND doc->'i' > '20' ORDER BY id
SELECT id FROM docs WHERE doc->'v' IN ('1', '"Oslo"', '{"b":2, "a":1}') ORDER BY id
SELECT id FROM docs WHERE id LIKE 'd%' AND doc->'v' NOT IN ('1', '"Oslo"', '{"b":2, "a":1}') ORDER BY id
SELECT id FROM docs WHERE doc->'i' IN ('1','2','3','4','5','6','7','8','9','10','11','12','13','14','15','16','17','18.0') ORDER BY id
SELECT id FROM docs WHERE doc->'i' BETWEEN '3' AND '5' ORDER BY id
SELECT id FROM docs WHERE doc->'i' BETWEEN SYMMETRIC '5' AND '3' ORDER BY id
SELECT id FROM docs WHERE doc->'i' NOT BETWEEN '3' AND '35' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = ANY('{1,2}') ORDER BY id
SELECT id FROM docs WHERE doc->'v' = ANY('{1,2,NULL}'::jsonb[]) ORDER BY id
SELECT id FROM docs WHERE doc->'v' = ANY(ARRAY['1','2']::jsonb[]) ORDER BY id
SELECT id FROM docs WHERE doc->'v' = SOME(ARRAY['1'::jsonb,'2']) ORDER BY id
SELECT id FROM docs WHERE id < 'd05' AND doc->'v' <> ALL('{1,2}') ORDER BY id
SELECT id FROM docs WHERE id LIKE 'd0%' AND doc->'v' IS DISTINCT FROM '1' ORDER BY id
SELECT id FROM docs WHERE doc->'v' IS NOT DISTINCT FROM '1' ORDER BY id
SELECT CASE doc->'v' WHEN '1' THEN 'one' WHEN '"1"' THEN 'string' END, id FROM docs WHERE doc->'i' < '12' ORDER BY id
SELECT nullif(doc->'v', '1') FROM docs WHERE id = 'd01'
SELECT coalesce(doc->'zz', '1') FROM docs WHERE id = 'd01'
SELECT coalesce(doc->'zz', 'Oslo') FROM docs WHERE id = 'd01'
SELECT id FROM docs WHERE doc#>'{nested,v}' = '42' ORDER BY id
SELECT id FROM docs WHERE (doc->>'i')::int > '38' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = NULL
-- A text that is not valid JSON is a JSON string; PostgreSQL refuses it.
-- differs: PostgreSQL has 22P02
SELECT id FROM docs WHERE doc->'v' = 'Oslo'
-- differs: PostgreSQL has 22P02
SELECT id FROM by.v WHERE key = '0042'
-- differs: PostgreSQL has 22P02
SELECT id FROM by.v WHERE key = ''
-- differs: PostgreSQL has 42883; a number is its JSON number
SELECT id FROM by.v WHERE key = 42
SELECT id FROM by.v WHERE key = 'Oslo'::jsonb
-- Ranges of views.
SELECT id FROM by.v WHERE key = '1' ORDER BY id
SELECT id FROM by.v WHERE key = '1'::jsonb ORDER BY id
SELECT id FROM by.v WHERE key = '"1"'::jsonb ORDER BY id
SELECT id FROM by.v WHERE key IN ('1', '2', '"Oslo"', '{"b":2,"a":1}', '[2,1]') ORDER BY id
SELECT id FROM by.v WHERE key = '{"b":2, "a":1}' ORDER BY id
SELECT id FROM by.v WHERE key = '{"a":1}' ORDER BY id
SELECT id FROM by.v WHERE key = '{}' ORDER BY id
SELECT id FROM by.v WHERE key = '[1, 2]' ORDER BY id
SELECT id FROM by.v WHERE key = '[1, {"b":[{"d":2,"c":1}],"a":1}]' ORDER BY id
SELECT id FROM by.v WHERE key = '"é"' ORDER BY id
SELECT id FROM by.v WHERE key = '"e\u0301"' ORDER BY id
SELECT id FROM by.v WHERE key = '"\u00e9"' ORDER BY id
SELECT id FROM by.v WHERE key IN ('"é"', '"e\u0301"') ORDER BY id
SELECT id FROM by.v WHERE key = '"Oslo"' ORDER BY id
SELECT id FROM by.v WHERE key = '9007199254740992' ORDER BY id
SELECT id FROM by.v WHERE key = '12345678901234567890' ORDER BY id
SELECT id FROM by.v WHERE key = ANY('{"\"é\"",1}') ORDER BY id
SELECT id FROM by.arr WHERE key = '["n1", 1]'
SELECT id FROM by.arr WHERE key BETWEEN '["n1", 1]' AND '["n1",21]' ORDER BY id
SELECT id FROM by.arr WHERE key->0 = '"n1"' AND key->1 > '20' ORDER BY id
SELECT count(*) FROM by.v WHERE key = '"é"'
SELECT count(*) FROM by.v WHERE key = '{"b":2, "a":1}'
SELECT count(*) FROM by.v WHERE key = '"Os\tlo"'
SELECT count(*) FROM by.v WHERE key IN ('1', '2')
SELECT sum(value::int) FROM by.arr WHERE key = '["n1", 1]'
SELECT key->0, sum(value::int) FROM by.arr GROUP BY 1 ORDER BY 1
SELECT value FROM by.v WHERE key = '{"b":2, "a":1}' ORDER BY value LIMIT 1 OFFSET 1
-- Equality, GROUP BY and DISTINCT.
SELECT '{"a":1,"b":2}'::jsonb = '{"b":2,"a":1}'::jsonb, '{"a":1,"b":2}'::jsonb <> '{"b":2,"a":1}'::jsonb
SELECT '{"a":1,"b":2}'::jsonb <= '{"b":2,"a":1}'::jsonb, '{"a":1,"b":2}'::jsonb < '{"b":2,"a":1}'::jsonb, '{"a":1,"b":2}'::jsonb > '{"b":2,"a":1}'::jsonb
SELECT '{"a":1,"a":2}'::jsonb = '{"a":2}'::jsonb, '{"a":1,"a":2}'::jsonb = '{"a":1}'::jsonb
SELECT '1'::jsonb = '1.0'::jsonb, '1'::jsonb = '"1"'::jsonb, '1e2'::jsonb = '100'::jsonb, '-0'::jsonb = '0'::jsonb, '0.10'::jsonb = '1e-1'::jsonb
SELECT '"e\u0301"'::jsonb = '"é"'::jsonb, '"\u00e9"'::jsonb = '"é"'::jsonb, '"a\u0001"'::jsonb = '"a"'::jsonb
SELECT '9007199254740993'::jsonb = '9007199254740992'::jsonb, '0.1'::jsonb = '0.10000000000000000001'::jsonb
SELECT '[{"a":1,"b":[{"c":1,"d":2}]}]'::jsonb = '[{"b":[{"d":2,"c":1}],"a":1}]'::jsonb, '[1,2]'::jsonb = '[2,1]'::jsonb
SELECT '{"a":{}}'::jsonb = '{"a":[]}'::jsonb, '{"a":null}'::jsonb = '{}'::jsonb, '[[1],2]'::jsonb = '[1,[2]]'::jsonb, '["1"]'::jsonb = '[1]'::jsonb
SELECT '{"a":1,"b":2}'::jsonb IN ('{"b":2,"a":1}'), '{"a":1,"b":2}'::jsonb IN (NULL, '{"b":2,"a":1}'), '{"a":1}'::jsonb IN (NULL, '{"b":2}')
SELECT count(*) FROM (SELECT '{"a":1,"b":2}'::jsonb UNION SELECT '{"b":2,"a":1}'::jsonb) x
SELECT count(*) FROM (SELECT '{"a":1,"b":2}'::jsonb INTERSECT SELECT '{"b":2,"a":1}'::jsonb) x
SELECT '{"a":1,"b":2}'::jsonb EXCEPT SELECT '{"b":2,"a":1}'::jsonb
SELECT count(DISTINCT x) FROM (VALUES ('{"a":1,"b":2}'::jsonb), ('{"b":2,"a":1}'), ('{"b":2,"a":2}')) v(x)
SELECT array_agg(DISTINCT x) FROM (VALUES ('1'::jsonb), ('1'), ('2'), ('1.0')) v(x) HAVING false
SELECT count(*) FROM (VALUES ('{"a":1,"b":2}'::jsonb)) a(x) JOIN (VALUES ('{"b":2,"a":1}'::jsonb)) b(x) ON a.x = b.x
SELECT n, count(*) OVER (PARTITION BY x) FROM (VALUES (1, '{"a":1,"b":2}'::jsonb), (2, '"é"'), (3, '{"b":2,"a":1}'), (4, '"e\u0301"'), (5, '"é"')) v(n, x) ORDER BY n
SELECT ARRAY['{"a":1,"b":2}'::jsonb] = ARRAY['{"b":2,"a":1}'::jsonb], ROW('{"a":1,"b":2}'::jsonb) = ROW('{"b":2,"a":1}'::jsonb)
SELECT array_position(ARRAY['{"a":1,"b":2}'::jsonb], '{"b":2,"a":1}'), array_remove(ARRAY['{"a":1,"b":2}'::jsonb], '{"b":2,"a":1}')
SELECT ARRAY['{"a":1,"b":2}'::jsonb] @> ARRAY['{"b":2,"a":1}'::jsonb], ARRAY['{"a":1,"b":2}'::jsonb] && ARRAY['{"b":2,"a":1}'::jsonb]
SELECT '{"a":1,"b":2}'::jsonb @> '{"b":2,"a":1}'::jsonb, '[{"a":1,"b":2}]'::jsonb @> '[{"b":2}]'::jsonb
SELECT count(*) FROM (SELECT DISTINCT doc->'v' FROM docs WHERE id LIKE 'd%') x
SELECT count(*) FROM docs WHERE id LIKE 'd%' GROUP BY doc->'v' ORDER BY 1 DESC LIMIT 5
SELECT count(DISTINCT doc->'v') FROM docs WHERE id LIKE 'd%'
SELECT count(*), min(id) FROM by.v GROUP BY key ORDER BY 1 DESC, 2 LIMIT 5
SELECT DISTINCT ON (doc->'v') id FROM docs WHERE doc->'v' IN ('{"a":1,"b":2}', '1000') ORDER BY doc->'v', id
-- Parameters.
-- parameters: ["1"]
SELECT id FROM docs WHERE doc->'v' = $1 ORDER BY id
-- parameters: ["39"]
SELECT id FROM docs WHERE doc->'i' > $1 ORDER BY id
-- parameters: ["[1, 2]"]
SELECT id FROM by.v WHERE key = $1 ORDER BY id
-- parameters: ["\"Oslo\""]
SELECT id FROM by.v WHERE $1 = key ORDER BY id
-- parameters: ["{\"b\":2,\"a\":1}"]
SELECT id FROM by.v WHERE key = $1 ORDER BY id
-- parameters: ["1", "42"]
SELECT id FROM by.v WHERE key IN ($1, $2) ORDER BY id
-- parameters: ["3", "5"]
SELECT id FROM docs WHERE doc->'i' BETWEEN $1 AND $2 ORDER BY id
-- parameters: ["{1,2,\"\\\"Oslo\\\"\"}"]
SELECT id FROM by.v WHERE key = ANY($1) ORDER BY id
-- parameters: ["1", "\"1\""]
SELECT id FROM by.v WHERE key = ANY(ARRAY[$1, $2]::jsonb[]) ORDER BY id
-- parameters: [null]
SELECT id FROM by.v WHERE key = $1
-- parameters: ["nope"]
SELECT id FROM by.v WHERE key = $1::jsonb
-- parameters: ["true"]
SELECT id FROM by.v WHERE key = $1::text::jsonb
-- differs: PostgreSQL has 22P02
-- parameters: ["Oslo"]
SELECT id FROM by.v WHERE key = $1
-- differs: PostgreSQL has 22P02
-- parameters: ["0042"]
SELECT id FROM by.v WHERE key = $1
PREPARE loose AS SELECT id FROM by.v WHERE key = $1
EXECUTE loose('1')
EXECUTE loose('"1"')
-- differs: PostgreSQL has 22P02
EXECUTE loose('Oslo')
DEALLOCATE loose
-- the operator -> treats a scalar as an array of one element
SELECT '"n"'::jsonb->>0, '"n"'::jsonb->0, '5'::jsonb->-1, '5'::jsonb->1, 'null'::jsonb->0, 'null'::jsonb->>0
SELECT '"n"'::json->>0, '5'::jsonb #> '{0}', '5'::jsonb #>> '{0}', '5'::jsonb->'a', '{"a":1}'::jsonb->0
-- A text never contains U+0000. In Divan JSON may contain it, and its text has U+FFFD instead.
-- differs: PostgreSQL refuses a jsonb literal that contains it
SELECT '{"a":"\u0000"}'::jsonb->>'a'
-- differs: PostgreSQL refuses a json value that cannot become a text
SELECT '{"a":"\u0000"}'::json->>'a'
SELECT '{"a":"\u0000"}'::json
SELECT chr(0)
SELECT convert_from('\x6100'::bytea, 'UTF8')
SELECT E'a\000b'
SELECT E'a\u0000b'
SELECT U&'a\0000b'
SELECT length('\x006100'::bytea), '\x006100'::bytea, encode('\x006100', 'escape')
-- Blanks around a json stay; errors of values of another type; escapes at the end of patterns.
SELECT ' [1 , 2] '::json, '  "a" '::json #>> '{}', ' [1 , [2 ] ] '::json -> 1, ' "x"'::json::text, json_typeof(' 1'), to_json(' 1 '::json), to_jsonb(' 1 '::json), json_build_array(' 1 '::json, 2), row_to_json(ROW(' 1 '::json)), ' 1'::json::jsonb
SELECT json_array_length('{}')
SELECT json_array_length('1')
SELECT jsonb_array_length('{}')
SELECT jsonb_array_length('"a"')
SELECT * FROM json_array_elements('{}')
SELECT * FROM json_array_elements('1')
SELECT * FROM jsonb_array_elements('{}')
SELECT * FROM jsonb_array_elements('null')
SELECT * FROM jsonb_array_elements_text('{}')
SELECT * FROM json_array_elements_text('{}')
SELECT * FROM json_array_elements_text('1')
SELECT * FROM json_each('[]')
SELECT * FROM json_each('1')
SELECT * FROM json_each_text('[]')
SELECT * FROM jsonb_each('[]')
SELECT * FROM jsonb_each('1')
SELECT * FROM jsonb_each_text('1')
SELECT jsonb_object_keys('[]')
SELECT json_object_keys('[]')
SELECT json_object_keys('1')
SELECT jsonb_object_keys('1')
SELECT 'a' LIKE 'a\', '' LIKE '\', 'a' LIKE 'a%\', 'abc' LIKE 'ab_\', 'a' ILIKE 'a\', 'a' NOT LIKE 'a\'
SELECT 'b' LIKE '%\'
SELECT 'ab' LIKE 'a\'
SELECT 'ab' LIKE 'ax\'
SELECT json_agg(x), array_agg(x) FROM (VALUES (' 1'::json)) t(x)
SELECT * FROM jsonb_to_record('{"a": [1.25, "2", null]}') AS t(a numeric(5,1)[])
SELECT * FROM json_to_record('{"a": ["abc"]}') AS t(a varchar(2)[])
SELECT * FROM jsonb_to_record('{"a": 5}') AS t(a int[])
SELECT * FROM json_to_record('{"a": "abc"}') AS t(a varchar(2))
SELECT * FROM jsonb_to_record('{"a": "ab   ", "b": "é "}') AS t(a char(2), b varchar(1))
