-- Paths: jsonb_path_query and the other functions that take them.
SELECT jsonb_path_query_array('{"a":[1,2,3],"b":{"c":"x"}}', '$.a[*]'), jsonb_path_query_array('{"a":[1,2,3],"b":{"c":"x"}}', '$.b.c'), jsonb_path_query_array('{"a":[1,2,3]}', '$.a'), jsonb_path_query_array('{"a":1}', '$.b')
SELECT jsonb_path_query('[1,2,"a",null,true,{"k":[4]}]', '$[*]')
SELECT jsonb_path_query('[1,2,3,4]', '$[*] ? (@ > 2)')
SELECT jsonb_path_query_array('[1,2,3,4,5]', '$[1 to 3]'), jsonb_path_query_array('[1,2,3,4,5]', '$[last]'), jsonb_path_query_array('[1,2,3,4,5]', '$[last - 1, 0]'), jsonb_path_query_array('[1,2,3]', '$[5]'), jsonb_path_query_array('[1,2,3]', '$[-1]'), jsonb_path_query_array('[1,2,3]', '$[0 to last]'), jsonb_path_query_array('1', '$[0]'), jsonb_path_query_array('1', '$[*]'), jsonb_path_query_array('[1,2,3]', '$[1.7]'), jsonb_path_query_array('[[1,2],[3]]', '$[*][last]')
SELECT jsonb_path_query_array('[{"a":1},{"a":2},{"b":3}]', '$.a'), jsonb_path_query_array('[{"a":1},{"a":2},{"b":3}]', 'lax $[*].a'), jsonb_path_query_array('{"a":{"b":1},"c":{"b":2}}', '$.*.b'), jsonb_path_query_array('[[{"a":1}]]', '$.a')
SELECT jsonb_path_query_array('{"a":{"b":[1,{"c":2}]}}', '$.**'), jsonb_path_query_array('{"a":{"b":[1,{"c":2}]}}', '$.**{2}'), jsonb_path_query_array('{"a":{"b":[1,{"c":2}]}}', '$.**{1 to 2}'), jsonb_path_query_array('{"a":{"b":[1,{"c":2}]}}', 'strict $.**{last}'), jsonb_path_query_array('{"a":{"b":[1,{"c":2}]}}', '$.**.c'), jsonb_path_query_array('{"a":{"b":[1,{"c":2}]}}', '$.**{2 to last}')
SELECT jsonb_path_query_array('[1,[2,[3]]]', 'strict $.** ? (@.type() == "number")'), jsonb_path_query_array('{"a":[1,"x",null]}', '$.a[*].type()'), jsonb_path_query_array('[1,2]', '$.type()'), jsonb_path_query_array('[1,2]', '$.size()'), jsonb_path_query_array('"x"', '$.size()'), jsonb_path_query_array('[[1],[2,3]]', '$[*].size()')
SELECT jsonb_path_query_array('[-1.5, 2.3, "4.5"]', '$[0].abs()'), jsonb_path_query_array('[-1.5, 2.3]', '$[*].floor()'), jsonb_path_query_array('[-1.5, 2.3]', '$.ceiling()'), jsonb_path_query_array('[-1.5, "2.3"]', '$.double()'), jsonb_path_query_array('[-1.5, 2]', '-$[*]'), jsonb_path_query_array('[-1.5, 2]', '+$[*]')
SELECT jsonb_path_query_array('{"a":2,"b":3}', '$.a + $.b'), jsonb_path_query_array('{"a":2,"b":3}', '$.a * $.b - 1'), jsonb_path_query_array('{"a":2,"b":3}', '$.b / $.a'), jsonb_path_query_array('{"a":2,"b":3}', '$.b % $.a'), jsonb_path_query_array('{"a":2,"b":3}', '($.a + $.b) * 2'), jsonb_path_query_array('2', '$ * 1.50'), jsonb_path_query_array('2', '-$ + 3 * -2')
SELECT jsonb_path_query_array('{"a":"x","b":1}', '$.keyvalue().key'), jsonb_path_query_array('{"a":"x","b":1}', '$.keyvalue().value'), jsonb_path_query('{"a":"x"}', '$.keyvalue()')
SELECT jsonb_path_query_array('[{"n":1,"s":"abc"},{"n":2,"s":"abd"},{"n":3,"s":"xyz"}]', '$[*] ? (@.s starts with "ab").n'), jsonb_path_query_array('[{"n":1,"s":"abc"},{"n":2,"s":"ABD"}]', '$[*] ? (@.s like_regex "^ab" flag "i").n'), jsonb_path_query_array('[{"n":1,"s":"abc"},{"n":2,"s":"ABD"}]', '$[*] ? (@.s like_regex "^ab").n'), jsonb_path_query_array('["a.c","abc"]', '$[*] ? (@ like_regex "a.c" flag "q")'), jsonb_path_query_array('["a\nb"]', '$[*] ? (@ like_regex "^b" flag "m")')
SELECT jsonb_path_query_array('[1,2,3,4]', '$[*] ? (@ > 1 && @ < 4)'), jsonb_path_query_array('[1,2,3,4]', '$[*] ? (@ == 1 || @ == 4)'), jsonb_path_query_array('[1,2,3,4]', '$[*] ? (!(@ > 2))'), jsonb_path_query_array('[1,"a"]', '$[*] ? ((@ > 0) is unknown)'), jsonb_path_query_array('[{"a":1},{"b":2}]', '$[*] ? (exists(@.a))'), jsonb_path_query_array('[1,2]', '$[*] ? (@ <> 1)'), jsonb_path_query_array('[1,2]', '$[*] ? (@ != 1)'), jsonb_path_query_array('[null,1]', '$[*] ? (@ == null)'), jsonb_path_query_array('[null,1]', '$[*] ? (@ != null)'), jsonb_path_query_array('[null,1]', '$[*] ? (@ < 2)')
SELECT jsonb_path_query_array('[true,false,"true"]', '$[*] ? (@ == true)'), jsonb_path_query_array('["a","B","b"]', '$[*] ? (@ > "a")'), jsonb_path_query_array('[[1,2],[3]]', '$[*] ? (@ == 1)'), jsonb_path_query_array('[{"a":[1,2]},{"a":[3]}]', '$[*] ? (@.a == 2)'), jsonb_path_query_array('[{"a":[1,2]},{"a":[3]}]', '$[*] ? (@.a[*] >= 2)'), jsonb_path_query_array('[{"a":[1,2]},{"a":[3]}]', 'strict $[*] ? (@.a[*] >= 2)')
SELECT jsonb_path_query('[1,2,3]', '$[*] > 1'), jsonb_path_query('[1,2,3]', '$[*] > 5'), jsonb_path_query('[1,2,3]', '$[*] > "a"'), jsonb_path_query('[1]', '$[*] == 1 && $[*] < 2'), jsonb_path_query('{"a":1}', 'exists($.a)'), jsonb_path_query('{"a":1}', '!exists($.a)')
SELECT jsonb_path_query_array('[1,2,3,4]', '$[*] ? (@ >= $min && @ <= $max)', '{"min":2,"max":3}'), jsonb_path_query_array('{"a":5}', '$.a + $x', '{"x":1.5}'), jsonb_path_query_array('["ab","b"]', '$[*] ? (@ starts with $p)', '{"p":"a"}'), jsonb_path_query_array('1', '$"a b"', '{"a b":[1,{"c":2}]}'), jsonb_path_query_array('1', '$v.c', '{"v":[1,{"c":2}]}')
SELECT jsonb_path_query('1', '$x')
SELECT jsonb_path_query('1', '$x', '{"y":1}')
SELECT jsonb_path_query('1', '$x', '[1]')
SELECT jsonb_path_query('1', '$x', '{"y":1}', true)
SELECT jsonb_path_exists('{"a":[1,2]}', '$.a[*] ? (@ > 1)'), jsonb_path_exists('{"a":[1,2]}', '$.a[*] ? (@ > 2)'), jsonb_path_exists('{"a":1}', 'strict $.b', '{}', true), jsonb_path_exists('{"a":1}', '$.b'), jsonb_path_exists('[1,"a"]', '$[*].double()'), jsonb_path_exists(NULL, '$')
SELECT jsonb_path_exists('{"a":1}', 'strict $.b')
SELECT jsonb_path_exists('[1,"a"]', 'strict $[*].double()')
SELECT jsonb_path_match('{"a":1}', '$.a == 1'), jsonb_path_match('{"a":1}', '$.a > "x"'), jsonb_path_match('{"a":1}', '$.a', '{}', true), jsonb_path_match('{"a":1}', 'exists($.b)'), jsonb_path_match('true', '$')
SELECT jsonb_path_match('{"a":1}', '$.a')
SELECT jsonb_path_match('[true,true]', '$[*]')
SELECT jsonb_path_query_first('[1,2,3]', '$[*] ? (@ > 1)'), jsonb_path_query_first('[1,2,3]', '$[*] ? (@ > 9)'), jsonb_path_query_first('[]', '$[*]')
SELECT '{"a":[1,2,3]}'::jsonb @? '$.a[*] ? (@ > 2)', '{"a":[1,2,3]}'::jsonb @? '$.b', '{"a":[1,2,3]}'::jsonb @@ '$.a[*] > 2', '{"a":[1,2,3]}'::jsonb @@ '$.a[*] > 5', '{"a":1}'::jsonb @@ '$.a', '{"a":1}'::jsonb @? 'strict $.b', '1'::jsonb @@ '$ == 1'
SELECT id FROM docs WHERE doc @? '$.v ? (@ > 1000)' ORDER BY id
SELECT id FROM docs WHERE doc @@ '$.v == "Oslo"' ORDER BY id
SELECT id FROM docs WHERE jsonb_path_exists(doc, '$.key[1] ? (@ >= $n)', '{"n":39}') ORDER BY id
SELECT id, x FROM docs, jsonb_path_query(doc, '$.key[*] ? (@.type() == "number" && @ < 3)') x ORDER BY id
SELECT x FROM jsonb_path_query('[{"a":1},{"a":2}]', '$[*].a') x
SELECT x, n FROM jsonb_path_query('[3,4]', '$[*]') WITH ORDINALITY t(x, n)
SELECT jsonb_path_query_array(doc, '$.v.b[*]') FROM docs WHERE id = 'd24'
-- Strict mode.
SELECT jsonb_path_query('{"a":1}', 'strict $.b')
SELECT jsonb_path_query('[1]', 'strict $.a')
SELECT jsonb_path_query('{"a":1}', 'strict $[0]')
SELECT jsonb_path_query('{"a":1}', 'strict $[*]')
SELECT jsonb_path_query('[1,2]', 'strict $[2]')
SELECT jsonb_path_query('[1,2]', 'strict $[1 to 0]')
SELECT jsonb_path_query('1', 'strict $.*')
SELECT jsonb_path_query('1', 'strict $.size()')
SELECT jsonb_path_query_array('[{"a":1},{"b":2}]', 'strict $[*] ? (@.a == 1)'), jsonb_path_query_array('{"a":{"b":1}}', 'strict $.**.b'), jsonb_path_query_array('[1,2]', 'strict $.size()')
SELECT jsonb_path_query('[1,2]', 'strict $.abs()')
SELECT jsonb_path_query_array('[1,2,3]', 'strict $[5]', '{}', true), jsonb_path_query_array('{"a":1}', 'strict $.b', '{}', true)
-- Errors of methods and operators.
SELECT jsonb_path_query('"a"', '$.abs()')
SELECT jsonb_path_query('"a"', '$.floor()')
SELECT jsonb_path_query('true', '$.double()')
SELECT jsonb_path_query('"1e999"', '$.double()')
SELECT jsonb_path_query('"x"', '$.double()')
SELECT jsonb_path_query('1e400', '$.double()')
SELECT jsonb_path_query('1', '$.keyvalue()')
SELECT jsonb_path_query('"a"', '$ + 1')
SELECT jsonb_path_query('1', '$ + "a"')
SELECT jsonb_path_query('[1,2]', '$ + 1')
SELECT jsonb_path_query('"a"', '-$')
SELECT jsonb_path_query('1', '$ / 0')
SELECT jsonb_path_query('1', '$ % 0')
SELECT jsonb_path_query('[1]', '$["a"]')
SELECT jsonb_path_query('[1]', '$[1e10]')
SELECT jsonb_path_query_array('[1,"a"]', '$[*].abs()', '{}', true), jsonb_path_query_array('[1]', '$[*] ? (@ / 0 > 1)')
SELECT jsonb_path_query('1', '$.datetime()')
SELECT jsonb_path_query('"x"', '$.datetime()')
-- Dates and times.
SELECT jsonb_path_query_array('["2024-02-29","12:34:56","2024-02-29 12:34:56","2024-02-29T12:34:56+02:00"]', '$[*].datetime()'), jsonb_path_query_array('["2024-02-29","12:34:56","2024-02-29 12:34:56","2024-02-29T12:34:56.5"]', '$[*].datetime().type()')
SELECT jsonb_path_query_array('["2024-02-29","2024-03-01","2023-01-01"]', '$[*].datetime() ? (@ > "2024-01-01".datetime())'), jsonb_path_query_array('["2024-02-29"]', '$[*].datetime() ? (@ < "2024-02-29 10:00:00".datetime())')
SELECT jsonb_path_query_array_tz('["2024-02-29"]', '$[*].datetime() ? (@ < "2024-02-29 10:00:00+02".datetime())')
SELECT jsonb_path_query_array('["2024-02-29"]', '$[*].datetime() ? (@ < "2024-02-29 10:00:00+02".datetime())')
SELECT jsonb_path_query('"2024-02-30"', '$.datetime()')
-- The type jsonpath.
SELECT '$.a'::jsonpath, '$.a[*] ? (@.b > 1 && @.c == "x").d'::jsonpath, 'strict $'::jsonpath, 'lax $.a'::jsonpath, '$.a.**{2 to last}.b'::jsonpath, '$[0, 1 to last]'::jsonpath, '$."a b"'::jsonpath, '$x + 1'::jsonpath
SELECT '(1 + 2) * 3'::jsonpath, '1 + 2 * 3'::jsonpath, '-(1 + 2)'::jsonpath, '$.a + -$.b'::jsonpath, '$ ? (!(@ == 1))'::jsonpath, '$ ? ((@ == 1) is unknown)'::jsonpath, '$ ? (@ like_regex "a" flag "i")'::jsonpath, '$ ? (@ starts with "a")'::jsonpath, '$ ? (exists(@.a))'::jsonpath, '$.a.size()'::jsonpath
SELECT '1.50'::jsonpath, '1e3'::jsonpath, '.5'::jsonpath, '"a\"b\n\u0041"'::jsonpath, 'null'::jsonpath, 'true'::jsonpath, '$ . a /* c */ [ * ]'::jsonpath, '$.a == 1 || $.b == 2 && $.c == 3'::jsonpath, '($.a == 1 || $.b == 2) && $.c == 3'::jsonpath, '$.type'::jsonpath, '$.null'::jsonpath, '$.is.to.last'::jsonpath
SELECT '(1).type()'::jsonpath, '1.0.type()'::jsonpath, '($.a).b'::jsonpath, '$.a <> 1'::jsonpath, '$.datetime()'::jsonpath, '$.datetime("yyyy-mm-dd")'::jsonpath, '$.** {0}'::jsonpath, '"x"'::jsonpath, '$.é'::jsonpath
SELECT pg_typeof('$'::jsonpath), '$.a'::text::jsonpath, '$.a'::jsonpath::text, '{$,$.a}'::jsonpath[]
SELECT ''::jsonpath
SELECT '$.'::jsonpath
SELECT '$.a = 1'::jsonpath
SELECT '$.a['::jsonpath
SELECT 'a'::jsonpath
SELECT '$ $'::jsonpath
SELECT '@'::jsonpath
SELECT 'last'::jsonpath
SELECT '$[last'::jsonpath
SELECT '$ ? (@.a)'::jsonpath
SELECT '$ ? (1)'::jsonpath
SELECT '$.a.foo()'::jsonpath
SELECT '"abc'::jsonpath
SELECT '1a'::jsonpath
SELECT '01'::jsonpath
SELECT '1e'::jsonpath
SELECT '$ ? (@ like_regex "(")'::jsonpath
SELECT '$ ? (@ like_regex "a" flag "z")'::jsonpath
SELECT '$ ? (@ like_regex "a" flag "x")'::jsonpath
SELECT '/* x'::jsonpath
SELECT '$.a && $.b'::jsonpath
SELECT '"\u0000"'::jsonpath
SELECT '"\ud800"'::jsonpath
SELECT '$ ? (@ == 1'::jsonpath
SELECT '$.**{a}'::jsonpath
SELECT '$ + '::jsonpath
SELECT '$ == 1 == 2'::jsonpath
-- parameters: ["{\"a\":[1,2,3]}", "$.a[*] ? (@ > 1)"]
SELECT jsonb_path_query_array($1, $2)
-- parameters: ["$.v ? (@ > 2000)"]
SELECT id FROM docs WHERE doc @? $1 ORDER BY id
-- More of the same, together.
SELECT jsonb_path_query('[{"a":1,"b":"x"},{"a":2}]', '$[*] ? (@.a >= 1 && @.b == "x")'), jsonb_path_query_array('[{"a":1},{"b":2}]', '$[*] ? (exists (@.a))'), jsonb_path_query_array('[1,2,3,4]', '$[last - 1 to last]'), jsonb_path_query_array('{"a":[1,2]}', 'lax $.a.size()'), jsonb_path_query_array('[[1,2],[3]]', '$[*][*]'), jsonb_path_query_array('[1,"a",null]', '$[*] ? (@ == null)')
SELECT jsonb_path_query_array('[1,2,3]', '$[*] ? (@ > 1) ? (@ < 3)'), jsonb_path_query_array('{"a":1}', '$.*'), jsonb_path_query_array('"abc"', '$ ? (@ like_regex "B" flag "i")'), jsonb_path_query_array('[1,2]', '-$[*]'), jsonb_path_query('1', '($ + 2) * 3 % 4'), jsonb_path_query('{"x":[1,2]}', '$.x[0] + $.x[1]'), jsonb_path_exists('[1]', '$[*] ? ((@ > 0) is unknown)'), jsonb_path_query('"2"', '$.double() + 1')
SELECT jsonb_path_query('[1,2]', '$[1.7]'), jsonb_path_query('[1,2]', '$["a"]')
SELECT jsonb_path_query('[1,2]', '$[-1]')
SELECT jsonb_path_query('[1,2]', 'strict $[-1]')
SELECT jsonb_path_query('{"a":1}', 'strict $[0]')
SELECT jsonb_path_query('1', 'strict $.size()')
SELECT jsonb_path_query('"x"', '$.abs()')
SELECT jsonb_path_query('[1]', '$.keyvalue()')
SELECT jsonb_path_query('1', '$ + true')
SELECT jsonb_path_query('1', '$ == $x')
SELECT jsonb_path_query_array('[1,2,3]', '$[*] ? (@ > $min && @ < $max)', '{"min":1,"max":3}')
SELECT '{"a":[1,2]}'::jsonb @? '$.a[*] ? (@ == 3)', '{"a":1}'::jsonb @@ '$.a == 1', NULL::jsonb @? '$', '1'::jsonb @@ 'strict $.a == 1'
SELECT '$'::jsonpath::text, '$."a"[1,2 to 3].*'::jsonpath, '$ ? (@.x starts with "a" || @.y like_regex "b")'::jsonpath, '$.a.type() == "x"'::jsonpath, '(1 + 2) * -3'::jsonpath, '$.double().floor()'::jsonpath, 'lax $.a'::jsonpath, '$.$x'::jsonpath
SELECT '$.a b'::jsonpath
SELECT '$[*'::jsonpath
SELECT '$ ? @ > 1'::jsonpath
SELECT '$.a.foo()'::jsonpath
SELECT '$.**{-1}'::jsonpath
SELECT '"a'::jsonpath
SELECT '1 == '::jsonpath
SELECT id FROM docs WHERE doc @? '$.v ? (@ > 2000)' ORDER BY id
SELECT id FROM docs WHERE doc @@ '$.i == 5' OR doc->'v' = '"Oslo"' ORDER BY id
-- Signs and numbers.
SELECT '$--+7'::jsonpath, '$.b/+-2.50'::jsonpath, '$ ? (@.b < +.5e1)'::jsonpath, '- - -3'::jsonpath, '-0'::jsonpath, '+(-0.0)'::jsonpath, '-(1).abs()'::jsonpath, '-$.b'::jsonpath
SELECT '7.e2'::jsonpath, '7.E-1.e'::jsonpath, '7.e+1'::jsonpath
SELECT '7.ex'::jsonpath
SELECT '7.e+'::jsonpath
SELECT jsonb '["x",5]' @? '-$[*]', jsonb '["x"]' @? '-$[*]', jsonb '["x",5]' @? '+$[*]', jsonb '["x",5]' @? 'strict -$[*]', jsonb_path_exists('["x",[5]]', '$ ? (exists(-@[*]))')
SELECT '$ ? ((exists(@.b)) is unknown)'::jsonpath, '(exists($.b)).type()'::jsonpath
SELECT jsonb_path_query('[{"b":1},{"c":2}]', 'strict $[*] ? ((exists(@.b)) is unknown)')
SELECT '$ ? (@ like_regex "a.b" flag "xqi")'::jsonpath, '"A.B"'::jsonb @? '$ ? (@ like_regex "a.b" flag "qxi")'
SELECT '$ ? (@ like_regex "a.b" flag "ix")'::jsonpath
-- Templates of dates and times must match all of the text.
SELECT jsonb_path_query('"7.3.2021"', '$.datetime("FMDD.FMMM.YYYY")'), jsonb_path_query('"2021-03-07"', '$.datetime("YYYY-MM-DD").type()'), jsonb_path_query('"21:05"', '$.datetime("HH24:MI")'), jsonb_path_query('"09 PM"', '$.datetime("HH12 PM").type()')
SELECT jsonb_path_query('"21:05:07.1289"', '$.datetime("HH24:MI:SS.FF4")'), jsonb_path_query('"21:05:07.1289"', '$.datetime("HH24:MI:SS.US")'), jsonb_path_query('"21:05 -03"', '$.datetime("HH24:MI TZH")'), jsonb_path_query('"21:05 -03:30"', '$.datetime("HH24:MI TZH:TZM").type()')
SELECT jsonb_path_query('"2021/03/07 21h"', '$.datetime("YYYY/MM/DD HH24\"h\"")'), jsonb_path_query('"2021-03-07 21:05:07 +04:30"', '$.datetime("YYYY-MM-DD HH24:MI:SS TZH:TZM")')
SELECT jsonb_path_query('"2021-066"', '$.datetime("YYYY-DDD")'), jsonb_path_query('"2021-W10"', '$.datetime("IYYY-\"W\"IW")'), jsonb_path_query('"March 2021  "', '$.datetime("Month YYYY")')
SELECT jsonb_path_query('"2021-03-07"', '$.datetime("YYYY-MM-DD HH24:MI")')
SELECT jsonb_path_query('"2021-03-07 x"', '$.datetime("YYYY-MM-DD")')
SELECT jsonb_path_query('"2021-03-07"', '$.datetime("YYYY/MM/DD")')
SELECT jsonb_path_query('"2021a03"', '$.datetime("YYYY\"b\"MM")')
SELECT jsonb_path_query('"2021-03-07"', '$.datetime("YYYY|MM|DD")')
SELECT jsonb_path_query('"2021-13-07"', '$.datetime("YYYY-MM-DD")')
SELECT jsonb_path_query('"2021-03-07 +1"', '$.datetime("YYYY-MM-DD TZH")')
SELECT jsonb_path_query('"x"', '$.datetime("\"x\"")')
SELECT jsonb_path_query('"12"', '$.datetime("TZ")')
SELECT jsonb_path_query('"20210307"', '$.datetime("")')
SELECT jsonb_path_query('"2021-03-07 x"', '$.datetime("YYYY-MM-DD")', '{}', true), jsonb_path_exists('["2021-13-07"]', '$[*] ? (@.datetime("YYYY-MM-DD") > "x")'), jsonb '"x"' @? '$.datetime("YYYY")'
SELECT jsonb_path_query('"21:05:07+3"', '$.datetime()'), jsonb_path_query('"2021-03-07 21:05:07.5-3:15"', '$.datetime()'), jsonb_path_query('"2021-03-07T21:05:07.25"', '$.datetime()'), jsonb_path_query('"21:05:07.123456-11"', '$.datetime().type()')
SELECT jsonb_path_query('"2021-3-7"', '$.datetime()'), jsonb_path_query('" 2021-03-07"', '$.datetime()')
SELECT jsonb_path_query('"21:05"', '$.datetime()')
SELECT jsonb_path_query('["9999999-01-01","2021-03-07"]', '$[*].datetime() > "2021-03-07 01:00:00".datetime()'), jsonb_path_query('"9999999-01-01"', 'strict $.datetime() > "2021-03-07 01:00:00".datetime()')
SELECT jsonb_path_query_tz('["2021-03-07","2021-03-08 00:00:01 -05"]', '$[*] ? (@.datetime() >= "2021-03-07 23:00 -01".datetime("YYYY-MM-DD HH24:MI TZH"))')
SELECT '7e-'::jsonpath
SELECT '7.5e+x'::jsonpath
SELECT '7e'::jsonpath
