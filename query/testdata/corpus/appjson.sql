-- Statements of applications and object-relational mappers about documents, also with parameters.
-- alone
SELECT id FROM docs WHERE doc->'qty' = '3' ORDER BY id
SELECT id FROM docs WHERE doc->'status' = '"paid"' AND doc->'qty' <> '0' ORDER BY id
SELECT id FROM docs WHERE doc->'v' IN ('1', '"1"', 'null') ORDER BY id
SELECT id FROM docs WHERE doc->'i' BETWEEN '10' AND '14' ORDER BY id
SELECT id FROM docs WHERE doc->'i' NOT BETWEEN '3' AND '38' ORDER BY id
SELECT id FROM docs WHERE (doc->'i')::int BETWEEN SYMMETRIC 14 AND 10 ORDER BY id
SELECT id FROM docs WHERE doc->'tags' @> '["b"]' ORDER BY id LIMIT 5
SELECT id FROM docs WHERE doc->'tags' ? 'x' ORDER BY id
SELECT id FROM docs WHERE doc->'tags' ?| array['x','c'] ORDER BY id
SELECT id FROM docs WHERE doc->'tags' ?& array['b','c'] ORDER BY id
SELECT id FROM docs WHERE doc @> '{"city":"Oslo","paid":true}' ORDER BY id
SELECT id FROM docs WHERE NOT doc @> '{"city":"Oslo"}' AND doc @> '{"items":[{"sku":"s1"}]}' ORDER BY id
SELECT id FROM docs WHERE doc->'items'->0->>'sku' = 's2' ORDER BY id
SELECT id FROM docs WHERE doc#>>'{items,1,sku}' = 't' ORDER BY id LIMIT 3
SELECT id FROM docs WHERE doc#>'{items,0,n}' = '2' ORDER BY id LIMIT 3
SELECT id FROM docs WHERE doc['items'][0]['n'] = '2' ORDER BY id LIMIT 3
SELECT id FROM docs WHERE doc['city'] = '"Rome"' ORDER BY id LIMIT 3
SELECT id, doc['tags'][-1] FROM docs ORDER BY id LIMIT 6
SELECT id FROM docs WHERE doc->'v' IS NOT DISTINCT FROM 'null' ORDER BY id
SELECT id FROM docs WHERE doc->'missing' IS NOT DISTINCT FROM NULL ORDER BY id LIMIT 2
SELECT id FROM docs WHERE doc->'v' IS DISTINCT FROM '{"a":1,"b":2}' ORDER BY id LIMIT 2
SELECT id FROM docs WHERE '{"b":2,"a":1}' = doc->'v' ORDER BY id
SELECT id FROM docs WHERE doc->'v' = ANY (ARRAY['1','{"a":1}']::jsonb[]) ORDER BY id
SELECT id FROM docs WHERE doc->'v' = ANY ('{1,null,true}'::jsonb[]) ORDER BY id
SELECT id FROM docs WHERE doc->'v' <> ALL ('{1,"null"}'::jsonb[]) ORDER BY id LIMIT 3
SELECT CASE doc->'v' WHEN '1' THEN 'one' WHEN 'null' THEN 'nil' WHEN '[]' THEN 'empty' ELSE 'other' END c, count(*) FROM docs GROUP BY 1 ORDER BY 1
SELECT NULLIF(doc->'v', 'null') IS NULL, count(*) FROM docs GROUP BY 1 ORDER BY 1
SELECT COALESCE(doc->'missing', '{"x":1}') FROM docs LIMIT 1
SELECT COALESCE(doc->'tags', '[]'::jsonb) FROM docs ORDER BY id LIMIT 4
SELECT GREATEST(doc->'i', '5') FROM docs ORDER BY id LIMIT 8
SELECT jsonb_typeof(doc->'v'), count(*) FROM docs GROUP BY 1 ORDER BY 2 DESC, 1
-- differs: the document is sent as it was stored
SELECT doc->'v', count(*) FROM docs WHERE jsonb_typeof(doc->'v') = 'object' GROUP BY 1 ORDER BY 2 DESC, 1
SELECT DISTINCT doc->'city' FROM docs ORDER BY 1
SELECT count(DISTINCT doc->'v') FROM docs
SELECT doc->>'city' AS city, sum((doc->>'amount')::numeric) FROM docs GROUP BY city HAVING sum((doc->>'amount')::numeric) > 100 ORDER BY city
SELECT doc->'city' FROM docs WHERE doc->'city' > '"N"' ORDER BY id LIMIT 3
SELECT (doc->'qty')::int + 1, (doc->'paid')::bool, (doc->'amount')::numeric(10,1), (doc->'amount')::float8 FROM docs ORDER BY id LIMIT 3
SELECT (doc->'city')::int FROM docs LIMIT 1
SELECT (doc->'v')::bool FROM docs WHERE id = 'd01'
SELECT (doc->'tags')::numeric FROM docs WHERE id = 'd00'
SELECT '{"a":{"b":[1,2,{"c":null}]}}'::jsonb #> '{a,b,2,c}', '{"a":{"b":[1,2]}}'::json #>> '{a,b,-1}'
SELECT '[1,2,3]'::jsonb - 1, '["a","b"]'::jsonb - 'a', '{"a":1,"b":2}'::jsonb - '{a,c}'::text[]
SELECT '{"a":1}'::jsonb || '{"b":2}', '[1]'::jsonb || '2', '1'::jsonb || '[2]', '{"a":1}' || '[1]'::jsonb
SELECT '{"a":1}'::jsonb || '1'
SELECT '1'::jsonb - 'a'
SELECT '{"a":1}'::jsonb - 0
SELECT '{"a":[1,2,3]}'::jsonb #- '{a,1}', '{"a":[1,2,3]}'::jsonb #- '{a,x}'
SELECT jsonb_set('{"a":[1,2]}', '{a,5}', '9'), jsonb_set('{"a":[1,2]}', '{a,-5}', '9', true), jsonb_set('{"a":1}', '{b,c}', '2'), jsonb_set('{"a":1}','{b}', 'null', false)
SELECT jsonb_set('{"a":1}', '{a}', NULL), jsonb_set_lax('{"a":1}', '{a}', NULL, true, 'delete_key'), jsonb_set_lax('{"a":1}', '{a}', NULL, true, 'use_json_null')
SELECT jsonb_set_lax('{"a":1}', '{a}', NULL, true, 'raise_exception')
SELECT jsonb_set_lax('{"a":1}', '{a}', NULL, true, 'foo')
SELECT jsonb_insert('{"a":[0,1,2]}', '{a,1}', '"n"', true), jsonb_insert('{"a":[0,1,2]}', '{a,-1}', '"n"'), jsonb_insert('{"a":{"b":1}}', '{a,c}', '2')
SELECT jsonb_insert('{"a":{"b":1}}', '{a,b}', '2')
SELECT jsonb_set('[1]', '{x}', '2')
SELECT jsonb_pretty('{"a":[1,{"b":[]}],"c":{}}')
SELECT jsonb_strip_nulls('{"a":null,"b":[null,{"c":null}]}'), json_strip_nulls('{"a":null,"b":[null,{"c":null}]}')
SELECT to_jsonb(d) FROM (SELECT id, doc->'i' AS i FROM docs ORDER BY id LIMIT 2) d
SELECT row_to_json(d, true) FROM (SELECT id, doc->>'i' AS i, NULL::int n, now() IS NULL b FROM docs ORDER BY id LIMIT 2) d
SELECT jsonb_agg(d ORDER BY d.id DESC) FROM (SELECT id, (doc->>'qty')::int q FROM docs ORDER BY id LIMIT 3) d
SELECT json_agg(row(id, doc->'qty') ORDER BY id) FROM docs WHERE id < 'd03'
SELECT jsonb_object_agg(id, doc->'qty') FROM docs WHERE id < 'd04'
SELECT json_object_agg(id, doc->'city' ORDER BY id) FROM docs WHERE id < 'd04'
SELECT jsonb_object_agg(NULL::text, 1)
SELECT json_object_agg(k, v) FROM (VALUES ('a', 1), (NULL, 2)) t(k, v)
SELECT jsonb_build_object('a', 1, 'b', ARRAY[1,2], 'c', NULL, 'd', row(1,'x'), 'e', date '2024-01-02', 'f', 1.50, 'g', interval '1 day')
SELECT jsonb_build_object('a')
SELECT jsonb_build_object(NULL, 1)
SELECT json_build_object(1, 2, true, 'x', 1.5, NULL)
SELECT jsonb_build_array(1, 'a', NULL, true, 1.0, '{"a":1}'::jsonb, '{"a" : 1}'::json), json_build_array()
SELECT json_object('{a,1,b}')
SELECT jsonb_object('{a,b}', '{1}')
SELECT array_to_json(ARRAY[1,2,3]), array_to_json(ARRAY['a','b'], true), to_json('x"y'::text), to_jsonb(1.10::numeric), to_jsonb('NaN'::float8), to_json('infinity'::timestamp)
SELECT to_json(timestamptz '2024-03-01 10:00:00+02'), to_jsonb(date '2024-03-01'), to_json(timestamp '2024-03-01 10:00:00.5'), to_jsonb(time '10:00'), to_json(interval '1 day 2 hours')
SELECT * FROM jsonb_each('{"a":1,"b":{"c":2}}') ORDER BY key
SELECT * FROM json_each_text('{"a":1,"b":null,"c":"x"}')
SELECT * FROM jsonb_each_text('[1,2]')
SELECT * FROM json_each('1')
SELECT * FROM jsonb_object_keys('{"b":1,"a":2}') k ORDER BY k
SELECT jsonb_object_keys('[1]')
SELECT * FROM jsonb_array_elements('[1,"a",null,{"x":1}]') WITH ORDINALITY AS t(v, n)
SELECT * FROM json_array_elements_text('[1,"a",null,{"x": 1}]')
SELECT jsonb_array_elements('{"a":1}')
SELECT jsonb_array_elements_text('"x"')
SELECT jsonb_array_length('[1,2]'), json_array_length('[]')
SELECT jsonb_array_length('{"a":1}')
SELECT json_array_length('1')
SELECT id, e->>'sku', (e->>'n')::int FROM docs, jsonb_array_elements(doc->'items') e WHERE (e->>'n')::int > 3 ORDER BY id, 2
SELECT d.id, t.* FROM docs d CROSS JOIN LATERAL jsonb_to_recordset(d.doc->'items') AS t(sku text, n int) ORDER BY d.id, sku LIMIT 4
SELECT * FROM jsonb_to_record('{"a":1,"b":"x","c":[1,2],"d":{"e":1}}') AS t(a int, b text, c int[], d jsonb, z date)
SELECT * FROM json_to_record('{"a":"2024-01-02","b":true,"c":"1.5"}') AS t(a date, b bool, c numeric)
SELECT * FROM jsonb_to_record('{"a":"x"}') AS t(a int)
SELECT * FROM jsonb_to_recordset('[{"a":1},{"a":2,"b":"y"},{}]') AS t(a int, b text)
SELECT * FROM jsonb_to_recordset('{"a":1}') AS t(a int)
SELECT * FROM jsonb_to_record('[1]') AS t(a int)
SELECT '{"a":1}'::jsonb <@ '{"a":1,"b":2}', '[1,2]'::jsonb @> '1', '[[1,2]]'::jsonb @> '[1]', '{"a":[1]}'::jsonb @> '{"a":1}'
SELECT '{"a": 1, "a": 2}'::json, '{"a": 1, "a": 2}'::jsonb, ' [ 1 , 2 ] '::json
SELECT '{"a":1'::jsonb
SELECT '{"a":1,}'::json
SELECT '[1,2'::json
SELECT 'nul'::jsonb
SELECT ''::json
SELECT '{"a":\u00zz}'::jsonb
SELECT '"\u00zz"'::jsonb
SELECT '"\x"'::json
SELECT '{a:1}'::jsonb
SELECT '{"a" 1}'::jsonb
SELECT '{"a":1} x'::jsonb
SELECT '[1 2]'::jsonb
SELECT '01'::jsonb
SELECT '1.'::jsonb
SELECT '-'::jsonb
SELECT '"abc'::jsonb
SELECT '{"a":1, "b"}'::jsonb
SELECT E'"a\nb"'::jsonb
SELECT E'{"a":\n  tru}'::jsonb
SELECT '{"long key with many characters in it 0123456789": {"x": [1, 2, 3, {"y": bad}]}}'::jsonb
SELECT json '{"f1":true}' -> 'f1', jsonb '"x"' ->> 0, jsonb '[1,2]' ->> -1, json '[1,2]' -> 5
SELECT jsonb '{"a":1}' = '{"a":1.0}', jsonb '1' = '1.00', jsonb '"a"' < '"b"', jsonb '[1]' < '[1,2]'
SELECT json '1' = json '1'
SELECT DISTINCT json '1'
SELECT json '1' UNION SELECT json '1'
SELECT jsonb '1' + 1
SELECT jsonb '{"a":1}' -> 'a' + 1
SELECT jsonb '{"a":1}' ->> 'a' || 'x', jsonb '{"a":1}' -> 'a' || 'null'
SELECT jsonb '"a"' || 'x'
SELECT jsonb '"2024-01-02"'::date
SELECT ('"2024-01-02"'::jsonb #>> '{}')::date
SELECT json_typeof('null'), jsonb_typeof('1.5'), json_typeof('"x"'), jsonb_typeof(NULL)
SELECT json_extract_path('{"a":{"b":2}}', 'a', 'b'), jsonb_extract_path_text('{"a":{"b":"x"}}', 'a', 'b'), jsonb_extract_path('[1,[2]]', '1', '0')
SELECT jsonb '{"a":{"b":1}}' #> '{}', jsonb '{"a":1}' #>> '{}', jsonb '{"a":1}' #> ARRAY['a',NULL]
SELECT jsonb_exists('{"a":1}', 'a'), jsonb_contains('[1]','1'), jsonb_concat('{"a":1}','{"b":1}')
SELECT jsonb_each('{"a":1,"b":2}')
SELECT (jsonb_each('{"a":1,"b":2}')).*
SELECT (jsonb_each_text('{"a":1,"b":null}')).value
SELECT id FROM docs WHERE doc -> 'items' @> '[{"sku":"s0","n":1}]' ORDER BY id
SELECT id FROM docs WHERE doc::text LIKE '%Oslo%' ORDER BY id LIMIT 2
SELECT id FROM docs WHERE doc->>'city' ILIKE 'os%' AND doc->>'status' ~ '^(new|paid)$' ORDER BY id
SELECT id FROM docs WHERE (doc->>'at')::timestamptz >= '2024-03-01' AND (doc->>'at')::timestamptz < date '2024-04-01' ORDER BY id
SELECT date_trunc('month', (doc->>'at')::timestamptz) AS m, count(*), sum((doc->>'qty')::int) FROM docs GROUP BY 1 ORDER BY 1
SELECT id FROM docs WHERE doc ? 'city' AND NOT doc ? 'zip' ORDER BY id LIMIT 1
SELECT id FROM docs WHERE doc ?| '{zip,paid}' ORDER BY id LIMIT 1
SELECT id FROM docs ORDER BY doc->'i' DESC LIMIT 3
SELECT id FROM docs ORDER BY doc->>'city', (doc->>'amount')::numeric DESC NULLS LAST LIMIT 5
SELECT id FROM docs ORDER BY doc->'qty' DESC, id OFFSET 3 ROWS FETCH FIRST 2 ROWS ONLY
SELECT doc->'a'->'b'->'c' FROM docs LIMIT 1
SELECT doc.city FROM docs
SELECT (doc).city FROM docs
SELECT docs.doc->'city' FROM docs AS d
SELECT d.doc->'city' FROM docs AS d LIMIT 1
SELECT jsonb_path_query_array(doc, '$.items[*].sku') FROM docs ORDER BY id LIMIT 3
SELECT id FROM docs WHERE doc @? '$.items[*] ? (@.n > 3)' ORDER BY id
SELECT id FROM docs WHERE doc @@ '$.qty > 5 && $.city == "Oslo"' ORDER BY id
SELECT id FROM docs WHERE jsonb_path_exists(doc, '$.tags[*] ? (@ == $t)', '{"t":"x"}') ORDER BY id
SELECT jsonb_path_query('[1,2,"a",null,true]', '$[*] ? (@ != null)')
SELECT jsonb_path_query('{"a":[1,2,3]}', 'strict $.a[5]')
SELECT jsonb_path_query('{"a":[1,2,3]}', 'strict $.b')
SELECT jsonb_path_query('{"a":[1,2,3]}', 'strict $.b', '{}', true)
SELECT jsonb_path_query('{"a":[1,2,3]}', '$.a[last]'), jsonb_path_query('{"a":[1,2,3]}', '$.a[0 to last - 1]')
SELECT jsonb_path_query('[1.5,"2","x"]', '$[*].double()')
SELECT jsonb_path_query('[1.5,-2.7]', '$[*].ceiling()'), jsonb_path_query('[1.5,-2.7]', '$[*].abs()')
SELECT jsonb_path_query('{"a":{"b":1}}', '$.**{2}'), jsonb_path_query('{"a":{"b":1}}', '$.**.b')
SELECT jsonb_path_query('["abc","ABD"]', '$[*] ? (@ like_regex "^ab" flag "i")')
SELECT jsonb_path_query('["abc","xbd"]', '$[*] ? (@ starts with "ab")')
SELECT jsonb_path_query('[1,2]', '$[*] + "a"')
SELECT jsonb_path_query('[1,2]', '$.size()'), jsonb_path_query('[1,2]', '$.type()')
SELECT jsonb_path_query('1', '$ / 0')
SELECT jsonb_path_query('["2024-01-02"]', '$[*].datetime() ? (@ < "2024-02-01".datetime())')
SELECT jsonb_path_query_first('[3,1]', '$[*] ? (@ < $m)', '{"m":2}')
SELECT jsonb_path_match('[1]', '$[0] == 1'), jsonb_path_match('[1]', '$[0]', silent => true)
SELECT jsonb_path_match('[1]', '$[0]')
SELECT '$.a[*] ? (@.b == 1 && !(@.c > 2)).d'::jsonpath, 'lax $."x y".type()'::jsonpath
SELECT '$.a['::jsonpath
SELECT '$.a ? (@'::jsonpath
SELECT ''::jsonpath
SELECT '$x'::jsonpath, '$.a.b.c'::jsonpath, '$ ? (exists (@.a))'::jsonpath, '-$.a'::jsonpath
SELECT jsonb '{"a":1}' @? '$.a ? (@ > "x")', jsonb '{"a":1}' @@ '$.a'
SELECT jsonb_path_query('{"a":1,"b":2}', '$.keyvalue()')
SELECT jsonb_path_query('[1]', '$ ? (@ == $x)')
SELECT jsonb_path_query('[1]', '$[*]', '[]')
SELECT jsonb_path_exists_tz('["2024-01-02T00:00:00Z"]', '$[*].datetime() ? (@ >= "2024-01-01".datetime())')
SELECT jsonb_path_exists('["2024-01-02T00:00:00Z"]', '$[*].datetime() ? (@ >= "2024-01-01".datetime())')
-- parameters: ["2990"]
SELECT id FROM docs WHERE doc->'v' = $1 ORDER BY id
-- parameters: ["\"Oslo\""]
SELECT id FROM docs WHERE doc->'v' = $1 OR doc->'city' = $1 ORDER BY id LIMIT 3
-- parameters: ["1","2"]
SELECT id FROM docs WHERE doc->'v' IN ($1, $2) ORDER BY id
-- parameters: ["1","12"]
SELECT id FROM docs WHERE doc->'i' BETWEEN $1 AND $2 ORDER BY id
-- parameters: ["{1,2,null}"]
SELECT id FROM docs WHERE doc->'v' = ANY($1) ORDER BY id
-- parameters: ["{d01,d02}"]
SELECT id FROM docs WHERE id = ANY($1) ORDER BY id
-- parameters: ["{d01,d02}"]
SELECT id FROM docs WHERE id = ANY($1::text[]) ORDER BY id
-- parameters: ["city", "Oslo"]
SELECT id FROM docs WHERE doc->>$1 = $2 ORDER BY id LIMIT 2
-- parameters: ["city", "Oslo"]
SELECT id FROM docs WHERE doc->>$1::text = $2 ORDER BY id LIMIT 2
-- parameters: ["0"]
SELECT doc->'items'->$1 FROM docs ORDER BY id LIMIT 1
-- parameters: ["0"]
-- differs: the document is sent as it was stored
SELECT doc->'items'->$1::int FROM docs ORDER BY id LIMIT 1
-- parameters: ["{items,0,sku}"]
SELECT doc#>>$1 FROM docs ORDER BY id LIMIT 2
-- parameters: ["{\"city\":\"Oslo\"}"]
SELECT count(*) FROM docs WHERE doc @> $1
-- parameters: ["{\"city\":\"Oslo\"}"]
SELECT count(*) FROM docs WHERE doc @> $1::jsonb
-- parameters: ["paid"]
SELECT count(*) FROM docs WHERE doc ? $1
-- parameters: ["{paid,zip}"]
SELECT count(*) FROM docs WHERE doc ?| $1
-- parameters: ["5"]
SELECT id FROM docs WHERE (doc->>'qty')::int > $1 ORDER BY id
-- parameters: ["5.5"]
SELECT id FROM docs WHERE (doc->>'amount')::numeric < $1 ORDER BY id
-- parameters: ["5.5"]
SELECT id FROM docs WHERE (doc->>'amount')::float8 < $1 ORDER BY id
-- parameters: ["2024-03-01"]
SELECT id FROM docs WHERE (doc->>'at')::timestamptz < $1 ORDER BY id LIMIT 2
-- parameters: ["2024-03-01"]
SELECT id FROM docs WHERE (doc->>'at')::date < $1 ORDER BY id LIMIT 2
-- parameters: ["10","5"]
SELECT id FROM docs ORDER BY id LIMIT $1 OFFSET $2
-- parameters: ["-1"]
SELECT id FROM docs ORDER BY id LIMIT $1
-- parameters: ["x"]
SELECT id FROM docs ORDER BY id LIMIT $1
-- parameters: [null]
SELECT id FROM docs WHERE id < 'd02' ORDER BY id LIMIT $1
-- parameters: ["%sl%"]
SELECT count(*) FROM docs WHERE doc->>'city' LIKE $1
-- parameters: ["^O"]
SELECT count(*) FROM docs WHERE doc->>'city' ~ $1
-- parameters: ["a", "b"]
SELECT $1 || $2
-- parameters: ["a", "b"]
SELECT $1::text || $2
-- parameters: ["1", "2"]
SELECT $1 + $2
-- parameters: ["1", "2"]
SELECT $1::int + $2
-- parameters: ["1"]
SELECT $1 + 1, 1 + $1
-- parameters: ["1"]
SELECT -$1
-- parameters: ["1"]
SELECT NOT $1
-- parameters: ["t"]
SELECT 1 WHERE $1
-- parameters: ["1"]
SELECT CASE WHEN $1 = 1 THEN 'a' ELSE 'b' END
-- parameters: ["1", "x", "y"]
SELECT CASE $1 WHEN 1 THEN $2 ELSE $3 END
-- parameters: [null, "7"]
SELECT COALESCE($1, $2, 0)
-- parameters: ["a", "b"]
SELECT COALESCE($1, $2)
-- parameters: ["1"]
SELECT ARRAY[$1, 2]
-- parameters: ["{1,2}"]
SELECT $1::int[] || 3, array_length($1, 1)
-- parameters: ["{1,2}"]
SELECT unnest($1::int[])
-- parameters: ["2"]
SELECT 2 = ANY(ARRAY[1,$1])
-- parameters: ["1 day"]
SELECT timestamp '2024-01-01' + $1
-- parameters: ["1 day"]
SELECT timestamp '2024-01-01' + $1::interval
-- parameters: ["2024-01-01"]
SELECT timestamp '2024-01-02' - $1
-- parameters: ["2024-01-01"]
SELECT date '2024-01-02' - $1
-- parameters: ["month"]
SELECT date_trunc($1, timestamp '2024-05-06 07:08:09')
-- parameters: ["month", "2024-05-06"]
SELECT date_trunc($1, $2::timestamp)
-- parameters: ["year"]
SELECT extract('year' FROM $1::date)
-- parameters: ["2024-05-06"]
SELECT extract(year FROM $1::date)
-- parameters: ["1","3"]
SELECT * FROM generate_series($1, $2)
-- parameters: ["1","3"]
SELECT * FROM generate_series($1::int, $2)
-- parameters: ["a"]
SELECT upper($1), length($1)
-- parameters: ["a"]
SELECT concat($1::text, 1, $1)
-- parameters: ["a"]
SELECT $1
-- parameters: ["a"]
SELECT $1 AS x ORDER BY 1
-- parameters: ["a","a"]
SELECT $1 = $2
-- parameters: ["1"]
VALUES ($1), (2)
-- parameters: ["1"]
SELECT $1 UNION SELECT 2
-- parameters: ["a","b"]
SELECT * FROM (VALUES ($1, $2)) t(x, y)
-- parameters: ["d01"]
-- differs: the document is sent as it was stored
SELECT * FROM (SELECT $1 AS id) t JOIN docs USING (id)
-- parameters: ["1"]
SELECT jsonb_build_object('a', $1::int)
-- parameters: ["1"]
SELECT to_jsonb($1::text), to_json($1::text)
-- parameters: ["{\"a\":1}"]
SELECT $1::jsonb -> 'a', $1::jsonb
-- parameters: ["{\"a\": 1}"]
SELECT $1::json -> 'a', $1::json
-- parameters: ["{bad"]
SELECT $1::jsonb
-- parameters: ["a,b"]
SELECT string_to_array($1, ',')
-- parameters: [","]
SELECT string_agg(id, $1 ORDER BY id) FROM docs WHERE id < 'd03'
-- parameters: ["0.5"]
SELECT percentile_cont($1) WITHIN GROUP (ORDER BY (doc->>'qty')::int) FROM docs
-- parameters: ["2"]
SELECT lag(id, $1) OVER (ORDER BY id) FROM docs LIMIT 3
-- parameters: ["1"]
SELECT sum((doc->>'qty')::int) OVER (ORDER BY id ROWS $1 PRECEDING) FROM docs LIMIT 3
-- parameters: ["docs"]
SELECT $1::regclass::text, to_regclass($1) IS NOT NULL
-- parameters: ["public"]
SELECT nspname FROM pg_namespace WHERE nspname = $1
-- parameters: ["{public,by}"]
SELECT nspname FROM pg_namespace WHERE nspname = ANY($1) ORDER BY 1
-- parameters: ["r"]
SELECT count(*) > 0 FROM pg_class WHERE relkind = $1
-- parameters: ["{r,v}"]
SELECT count(*) > 0 FROM pg_class WHERE relkind = ANY($1)
-- parameters: ["25"]
SELECT typname FROM pg_type WHERE oid = $1
-- parameters: ["25"]
SELECT format_type($1, -1), format_type($1, NULL)
-- parameters: ["6ba7b810-9dad-11d1-80b4-00c04fd430c8"]
SELECT $1::uuid, $1::uuid::text
-- parameters: ["\\x01ff"]
SELECT $1::bytea, encode($1, 'hex')
-- parameters: ["1"]
SELECT $1::smallint, $1::bigint, $1::real, $1::numeric, $1::oid
-- parameters: ["true"]
SELECT $1::bool AND true
-- parameters: ["10:11:12"]
SELECT $1::time, $1::timetz, $1::interval
-- parameters: ["1","2"]
SELECT row($1::int, $2::text)
-- parameters: ["d01","x"]
SELECT (id, rev) = ($1, $2) FROM docs WHERE id = $1
-- parameters: ["d39","0"]
SELECT id FROM docs WHERE (id, rev) > ($1, $2) ORDER BY id, rev LIMIT 5
-- parameters: ["a"]
SELECT $1::nosuch
-- parameters: ["4000000000"]
SELECT $1::int
-- parameters: ["x"]
SELECT $1::int
-- parameters: ["x"]
SELECT count(*) FROM docs WHERE doc->'i' > $1::int::text::jsonb
-- parameters: ["3"]
SELECT count(*) FROM docs WHERE doc->'i' > to_jsonb($1::int)
-- parameters: ["s1"]
SELECT count(*) FROM docs WHERE EXISTS (SELECT FROM jsonb_array_elements(doc->'items') e WHERE e->>'sku' = $1)
-- parameters: ["{\"a\":\"b\"}"]
SELECT jsonb_set('{}', '{x}', $1)
-- parameters: ["5"]
SELECT round($1, 2), abs($1)
-- parameters: ["5"]
SELECT power(2, $1), sqrt($1), mod(7, $1), greatest(1, $1)
-- parameters: ["2"]
SELECT substring('hello' from $1), substr('hello', $1), left('hello', $1), 'abc' LIKE $1
-- parameters: ["l"]
SELECT position($1 in 'hello'), strpos('hello', $1), replace('hello', $1, 'L'), trim($1 from 'lhl'), split_part('a,b', ',', 2)
-- parameters: ["YYYY-MM"]
SELECT to_char(date '2024-05-06', $1), to_char(5, $1), to_date('2024-05', $1)
