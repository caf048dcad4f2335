-- Statements of all kinds, as tools and people write them.
select x, sum(x) over (order by x rows between 1 preceding and 1 following) from generate_series(1,6) x
select x, sum(x) over (order by x desc rows between unbounded preceding and 1 preceding) from generate_series(1,4) x
select x, array_agg(x) over (order by x rows between 2 following and 3 following) from generate_series(1,5) x
select x, array_agg(x) over (order by x groups between 1 preceding and current row exclude ties) from (values (1),(1),(2),(3),(3)) v(x)
select x, array_agg(x) over (order by x range between 1 preceding and 1 following exclude group) from (values (1),(1),(2),(4),(5)) v(x)
select x, array_agg(x) over (order by x range between 1 preceding and 1 following exclude current row) from (values (1.5),(2),(2.5),(4)) v(x)
select x, first_value(x) over w, last_value(x) over w, nth_value(x,2) over w from generate_series(1,4) x window w as (order by x rows between unbounded preceding and unbounded following)
select x, lag(x,2,0) over (order by x), lead(x) over (order by x), lead(x,2,-1) over (order by x) from generate_series(1,4) x
select x, ntile(3) over (order by x), percent_rank() over (order by x), cume_dist() over (order by x) from generate_series(1,5) x
select x, rank() over (order by x/2), dense_rank() over (order by x/2), row_number() over (order by x/2, x) from generate_series(1,6) x
select g, x, sum(x) over (partition by g order by x) from (values ('a',1),('b',2),('a',3)) v(g,x) order by 1,2
select x, count(*) filter (where x % 2 = 0) over (order by x) from generate_series(1,5) x
select sum(x) over (order by x rows between 1 following and 1 preceding) from generate_series(1,3) x
select sum(x) over (order by x rows -1 preceding) from generate_series(1,3) x
select ntile(0) over () from generate_series(1,2) x
select nth_value(x,0) over () from generate_series(1,2) x
select lag(x, null) over (order by x), lag(x,-1) over (order by x) from generate_series(1,3) x
select d, count(*) over (order by d range between '1 day' preceding and '1 day' following) from (values (date '2024-01-01'),('2024-01-02'),('2024-01-05')) v(d)
select t, count(*) over (order by t range between interval '1 hour' preceding and current row) from (values (timetz '10:00+00'),('10:30+00'),('12:00+00')) v(t)
select avg(x) over (order by x rows 2 preceding), stddev(x) over (order by x rows 2 preceding), bool_and(x<3) over (order by x) from generate_series(1,4) x
select string_agg(x::text, ',') over (order by x), max(x) over (order by x rows between 1 preceding and 1 following) from generate_series(1,4) x
select x, row_number() over (order by x nulls first), row_number() over (order by x desc nulls last) from (values (1),(null),(2)) v(x) order by x
select sum(sum(x)) over (order by x % 2) from generate_series(1,5) x group by x % 2
select x, sum(x) over (w rows 1 preceding) from generate_series(1,3) x window w as (order by x)
select x % 2 as g, x % 3 as h, count(*), grouping(x % 2, x % 3) from generate_series(1,6) x group by grouping sets ((x % 2), (x % 3), ()) order by 4, 1, 2
select x % 2 as g, x % 3 as h, sum(x) from generate_series(1,6) x group by rollup (x % 2, x % 3) order by 1 nulls last, 2 nulls last
select x % 2 as g, x % 3 as h, sum(x) from generate_series(1,6) x group by cube (1, 2) order by 1 nulls first, 2 nulls first
select a, b, count(*) from (values (1,2),(1,3)) v(a,b) group by a, rollup(b) order by 1,2
select a, count(*) from (values (1),(1)) v(a) group by grouping sets (a, a) order by 1
select a, count(*) from (values (1),(1)) v(a) group by distinct rollup(a, a) order by 1
select count(*), sum(a) from (values (1)) v(a) where false group by ()
select count(*) from (values (1)) v(a) where false group by grouping sets (a, ())
select a, grouping(a) from (values (1),(2)) v(a) group by rollup(a) having grouping(a) = 1 or a > 1
select grouping(b) from (values (1)) v(a) group by a
select percentile_cont(0.5) within group (order by x), percentile_disc(0.5) within group (order by x), mode() within group (order by x % 3) from generate_series(1,10) x
select percentile_cont(array[0.25,0.5,0.75]) within group (order by x), percentile_disc(array[0,1,null]) within group (order by x desc) from generate_series(1,5) x
select percentile_cont(1.5) within group (order by x) from generate_series(1,3) x
select percentile_cont(0.5) within group (order by x) from (values (interval '1 day'),('2 days')) v(x)
select rank(3) within group (order by x), dense_rank(3) within group (order by x), percent_rank(3) within group (order by x), cume_dist(3) within group (order by x) from generate_series(1,5) x
select percentile_disc(0.5) within group (order by x) filter (where x > 2) from generate_series(1,5) x
select mode() within group (order by x) from (values ('b'),('a'),('b'),('a')) v(x)
select stddev_pop(x), stddev_samp(x), var_pop(x), var_samp(x), variance(x), corr(x,y), covar_pop(x,y), covar_samp(x,y), regr_slope(y,x), regr_intercept(y,x), regr_r2(y,x), regr_count(y,x), regr_avgx(y,x), regr_sxx(y,x), regr_sxy(y,x) from (values (1,2),(2,4),(3,7)) v(x,y)
select stddev(x), var_samp(x), var_pop(x) from (values (1.5::numeric)) v(x)
select bit_and(x), bit_or(x), bit_xor(x), every(x>0), bool_or(x>2), min(x), max(x), avg(x), sum(x) from generate_series(1,3) x
select avg(x), sum(x) from (values (1::bigint),(9223372036854775807)) v(x)
select sum(x), avg(x) from (values (1.5::float4),(2.5)) v(x)
select string_agg(x, ',' order by x desc), array_agg(distinct x order by x), json_agg(x order by x), count(distinct x) from (values ('b'),('a'),('b')) v(x)
select string_agg(distinct x, ',' order by x) filter (where x <> 'c') from (values ('b'),('a'),('c')) v(x)
select array_agg(x order by x nulls first), json_object_agg(x::text, x order by x) filter (where x is not null) from (values (1),(null),(2)) v(x)
select json_object_agg(null, 1)
select jsonb_object_agg('a', x) from generate_series(1,3) x
select sum(distinct x), avg(distinct x), count(*) filter (where x > 1) from (values (1),(1),(2)) v(x)
select jsonb_path_query_array('[1,2,3,4,5]', '$[*] ? (@ > 2 && @ < 5)'), jsonb_path_query_first('{"a":[1,2]}', '$.a[last]'), jsonb_path_exists('{"a":1}', '$.b'), jsonb_path_match('{"a":1}', '$.a == 1')
select '{"a":[1,2,{"b":3}]}'::jsonb @? '$.a[*].b', '{"a":1}'::jsonb @@ '$.a > 0', '{"a":1}'::jsonb @@ '$.a'
select jsonb_path_query('{"a":{"b":[1,"x",null,true]}}', '$.a.b[*].type()')
select jsonb_path_query('[1,2.5,-3]', '$[*].abs()'), jsonb_path_query('[1.2,2.5]', '$[*].ceiling()')
select jsonb_path_query('{"a":{"b":1,"c":{"b":2}}}', '$.**.b'), jsonb_path_query('{"a":{"b":1,"c":{"b":2}}}', '$.**{1 to 2}.b')
select jsonb_path_query('{"x":5}', '$.x + $y', '{"y":3}'), jsonb_path_query('[1,2]', '$.size()')
select jsonb_path_query('{"a":1}', 'strict $.b')
select jsonb_path_query('{"a":1}', 'strict $.b', silent => true)
select jsonb_path_query_array('["abc","xbc","b"]', '$[*] ? (@ like_regex "^a" flag "i")'), jsonb_path_query_array('["abc","b"]', '$[*] ? (@ starts with "a")')
select jsonb_path_query('[{"a":1},{"b":2}]', '$[*] ? (exists(@.a))'), jsonb_path_query('[1,null]', '$[*] ? ((@ > 0) is unknown)')
select jsonb_path_query('{"a":"12.5"}', '$.a.double()'), jsonb_path_query('{"a":"x"}', '$.a.double()')
select jsonb_path_query('{"a":[{"k":1,"v":2}]}', '$.a[*].keyvalue().key')
select jsonb_path_query('[1,[2,3]]', 'lax $[*][*]'), jsonb_path_query('[1,2,3]', '$[0 to 1]'), jsonb_path_query('[1,2,3]', '$[last - 1]')
select '$.a[*] ? (@.b == "x").c'::jsonpath, 'strict $.a.size()'::jsonpath, '$.a + 1 * 2'::jsonpath
select '$.a['::jsonpath
select jsonb_path_query('"2024-01-02"', '$.datetime()'), jsonb_path_query('"2024-01-02 10:00:00"', '$.datetime().type()')
select jsonb_set('{"a":{"b":1}}', '{a,b}', '2'), jsonb_set('{"a":1}', '{b}', '2'), jsonb_set('{"a":1}', '{b}', '2', false), jsonb_set('[1,2]', '{-1}', '9'), jsonb_set('[1]', '{5}', '9')
select jsonb_set_lax('{"a":1}', '{a}', null), jsonb_set_lax('{"a":1}', '{a}', null, true, 'delete_key'), jsonb_set_lax('{"a":1}', '{a}', null, true, 'return_target')
select '{"a":1,"b":2}'::jsonb - 'a', '["a","b"]'::jsonb - 'a', '[1,2,3]'::jsonb - 1, '{"a":1,"b":2,"c":3}'::jsonb - array['a','c'], '{"a":{"b":1}}'::jsonb #- '{a,b}'
select jsonb_pretty('{"a":[1,{"b":2}],"c":{}}'), jsonb_strip_nulls('{"a":null,"b":[null],"c":{"d":null}}'), jsonb_typeof('1'), jsonb_array_length('[1,2]')
select row_to_json(r), row_to_json(r, true), to_jsonb(r) from (values (1,'a',null)) r(x,y,z)
select * from jsonb_to_record('{"a":1,"b":"x","c":[1,2]}') as t(a int, b text, c int[])
select * from jsonb_to_recordset('[{"a":1},{"a":"2","b":null}]') as t(a int, b text)
select * from json_populate_record(null::record, '{"a":1}') as t(a int)
select jsonb_object('{a,1,b,2}'), jsonb_object('{a,b}','{1,2}'), json_build_object('a',1,'b',null), jsonb_build_array(1,'a',null,true), json_build_array()
select * from jsonb_each('{"a":1,"b":[2]}'), jsonb_each_text('{"c":"x"}')
select jsonb_array_elements('[1,[2]]'), jsonb_array_elements_text('["a",null]')
select jsonb_object_keys('{"b":1,"a":2}'), (jsonb_each('{"a":1}')).*
select '{"a":1}'::jsonb || '{"b":2}', '[1]'::jsonb || '2', '1'::jsonb || '2', '{"a":1}'::jsonb || '[2]'
select '{"a":{"b":1}}'::jsonb @> '{"a":{}}', '[1,2]'::jsonb @> '[2]', '[1,2]'::jsonb @> '1', '{"a":1}'::jsonb <@ '{"a":1,"b":2}', '{"a":1}'::jsonb ? 'a', '{"a":1}'::jsonb ?| array['b','a'], '{"a":1}'::jsonb ?& array['a','b']
select '{"a":[1,{"b":2}]}'::jsonb #> '{a,1,b}', '{"a":[1]}'::jsonb #>> '{a,0}', '[1,2]'::jsonb -> -1, '{"a":null}'::jsonb ->> 'a', '"x"'::jsonb -> 0
select '{"a":1}'::jsonb = '{"a":1.0}', '[1,2]'::jsonb = '[2,1]', '{"a":1,"b":2}'::jsonb = '{"b":2,"a":1}', '1.0'::jsonb::text, '1e2'::jsonb::text, '{"b":1,"a":2,"b":3}'::jsonb::text
select ('{"a":1.5}'::jsonb->'a')::int, ('{"a":true}'::jsonb->'a')::bool, ('"x"'::jsonb)::text, ('1'::jsonb)::float8
select '{"a":1'::jsonb
select '{"a":01}'::jsonb
select to_char(1234.567, '9,999.99'), to_char(-1234.567, 'S9999.9'), to_char(0.5, '0.99'), to_char(12, '0000'), to_char(1234567, 'FM9,999,999'), to_char(-5, '9PR'), to_char(5, 'MI9'), to_char(485, 'RN'), to_char(12.3, '99.99EEEE'), to_char(1, '9th'), to_char(148.5, '999D999'), to_char(12, '99V999')
select to_char(1e10, '9.99EEEE'), to_char(1234, '99'), to_char(null::int, '9'), to_char(0, '9'), to_char(0, 'FM9'), to_char(-0.1, '9.9'), to_char(1.5::float8, '9.99'), to_char(123, '"x"999'), to_char(1234, 'L9,999'), to_char(-1, 'SG9'), to_char(1, 'PL9')
select to_number('1,234.56', '9,999.99'), to_number('-12', 'S99'), to_number('12-', '99MI'), to_number('<5>', '9PR'), to_number('$12', 'L99'), to_number('12.3abc', '99.9'), to_number(' 1 2', '99')
select to_char(timestamp '2024-02-29 13:04:05.678', 'YYYY-MM-DD HH24:MI:SS.MS'), to_char(timestamp '2024-02-29 13:04:05', 'Day, DD Month YYYY HH12:MI AM'), to_char(timestamp '2024-02-29', 'IYYY-IW-ID DDD WW Q CC J'), to_char(timestamp '2024-02-09', 'FMDD FMMonth FMDay'), to_char(timestamp '2024-02-01', 'DDth Mon YY TMDay')
select to_char(interval '25:04:05', 'HH24:MI:SS'), to_char(interval '1 year 2 mons 3 days', 'YYYY MM DD'), to_char(interval '-1:02', 'HH24:MI'), to_char(date '2024-01-01', 'Dy DD Mon'), to_char(timestamp '2024-01-01 00:30', 'HH12:MI:SSSS A.M.')
select to_timestamp('2024-02-29 13:04', 'YYYY-MM-DD HH24:MI'), to_date('29 Feb 2024', 'DD Mon YYYY'), to_date('2024-060', 'YYYY-DDD'), to_timestamp('12:30 PM', 'HH12:MI AM'), to_date('24', 'YY'), to_date('2024W09', 'IYYY"W"IW')
select regexp_match('foobarbaz', 'ba(.)'), regexp_matches('foobarbaz', 'ba(.)', 'g'), regexp_replace('foobar', 'o+', 'X'), regexp_replace('foobar', '(o)(o)', '\2-\1', 'g'), regexp_split_to_array('a1b22c', '\d+')
select regexp_count('abcabc', 'b'), regexp_instr('abcabc', 'c', 1, 2), regexp_substr('abc123', '\d+'), regexp_like('ABC', 'b', 'i'), regexp_replace('abc', 'b', 'X', 1, 1), regexp_substr('foobar', 'o(b)', 1, 1, '', 1)
select 'abc' ~ '^a', 'ABC' ~* 'abc', 'abc' !~ 'x', 'a.c' ~ 'a\.c', E'a\nb' ~ 'a.b', 'aaa' ~ '^a{3}$', 'foo' ~ '(?i)FOO', 'ab' ~ '[[:alpha:]]+', 'a1' ~ '\w\d', 'x' ~ '[^a-c]', 'abab' ~ '(ab)\1'
select regexp_match('abc', '(?=b)'), regexp_match('aaa', 'a*?'), regexp_match('aaab', 'a+?b'), regexp_matches('a b', '\m\w', 'g')
select regexp_split_to_table('a,b,,c', ','), 'abc' similar to 'a(b|x)c', 'abc' similar to '%b%', substring('foobar' from 'o(.)b'), substring('foobar' similar '%#"o_b#"%' escape '#')
select array[1,2] || 3, 0 || array[1], array[1,2] || array[3], array[1,null], array_append(array[1],2), array_cat(array[1],array[2]), array_remove(array[1,2,1],1), array_replace(array[1,2],2,3), array_positions(array[1,2,1],1), array_to_string(array[1,null,3],',','*'), string_to_array('a,b,,c',',',''), cardinality(array[1,2]), array_ndims(array[1]), trim_array(array[1,2,3],1)
select array[1,2] @> array[1], array[1,2] && array[3,2], array[1] <@ array[1,2], array[1,2] = array[1,2], array[1,2] < array[1,3], 1 = any(array[1,2]), 3 <> all(array[1,2]), array[1,2,3][2], (array[1,2,3])[2:], (array['a','b'])[0] is null, array_length(array[]::int[],1)
select unnest(array[1,2]), unnest(array['a','b','c']), * from unnest(array[1,2], array['x']) as t(a,b)
select * from unnest(array['a','b']) with ordinality as t(v,n), generate_series(1,2) g order by n, g
select array(select x from generate_series(1,3) x order by x desc), array_agg(x) from generate_series(1,3) x
select '{1,2,NULL}'::int[], '{"a b","c\"d",null,"null"}'::text[], '{}'::int[], array['a,b','c"d','\','',null,'NULL']
select '{1,2'::int[]
select '{1,a}'::int[]
select array[1,'a']
select array_position(array[1],'a')
select generate_series(1,10,3), generate_series(5,1,-2)
select generate_series(1.5,3,0.5), generate_series(1::bigint,2)
select generate_series(1,3,0)
select * from generate_series(timestamp '2024-01-01','2024-01-02','6 hours') g
select count(*) from generate_series(3,1)
select g, h from generate_series(1,2) g, lateral generate_series(1,g) h
select generate_series(1,2), generate_series(1,3)
select x, y from generate_series(1,3) with ordinality as t(x,y)
select r.a, (r).b, r.* from (select row(1,'x')::record) q(z), (values (1,'x')) r(a,b)
select row(1,2)::text, row(1,null), row('a','b c'), row(row(1,2),3), row(array[1,2]), row('"'), row('\')
select (1,2,3) = row(1,2,3), row(1,'a') < row(1,'b'), row(null) is null, row(1,null) is not null
with a as (select 1 as x), b as (select x+1 as y from a) select * from a, b
with a(x,y) as (values (1,2),(3,4)) select sum(x*y) from a
with a as (select 1) select * from a union all select 2
with recursive f(n,a,b) as (select 1,0,1 union all select n+1,b,a+b from f where n<10) select n,a from f
with recursive p(x,path) as (select 1,array[1] union all select y, path||y from p, (values (1,2),(2,3),(3,1)) e(a,y) where a=x and y <> all(path)) select * from p
with x as (select 1 as a) select (with x as (select 2 as a) select a from x), a from x
with a as (select 1 as x) select x from a where exists (select 1 from a b where b.x = a.x)
select 1 union select 1 union all select 1
select 1 except select 1
select x from generate_series(1,5) x intersect select x from generate_series(3,7) x order by 1
select x from (values (1),(1),(2)) v(x) except all select 1 order by 1
select x from (values (1),(1),(2)) v(x) intersect all select x from (values (1),(1),(1)) w(x)
(select 1 as a order by 1 limit 1) union all (select 2) order by a desc
select 1, 'a' union select 2, null order by 1
select 1 union select 'a'
-- unordered
select null union select 1
select 1 as a union select 2.5 order by a
select date '2024-01-01' union select timestamp '2024-01-02' order by 1
select 1 union select 2, 3
select '1' union select 2 order by 1
(select 1 union select 2) except select 2
select 1 intersect select 1 union select 3 order by 1
values (1,'a'),(2,'b') union values (3,'c') order by 1
select distinct on (x % 2) x from generate_series(1,5) x order by x % 2, x desc
select distinct x % 2, x % 3 from generate_series(1,6) x order by 1,2
select distinct on (x) x, y from (values (1,2),(1,1),(2,3)) v(x,y) order by x, y
select date_bin('15 min', timestamp '2024-01-01 10:07', timestamp '2000-01-01'), make_date(2024,2,29), make_time(1,2,3.5), make_interval(days=>3, hours=>2), justify_days(interval '40 days'), justify_hours(interval '30 hours'), date_trunc('quarter', date '2024-05-05'), age(date '2024-03-01', date '2023-01-31')
select date '2024-01-31' + interval '1 month', date '2024-03-31' - interval '1 month', timestamp '2024-01-01' - interval '1 day 02:00', date '2024-03-01' - date '2024-02-01', extract(epoch from interval '1 month'), extract(doy from date '2024-12-31'), extract(isodow from date '2024-01-07'), date_part('week', date '2024-01-01')
select timestamptz '2024-01-01 00:00+02' at time zone 'America/New_York', timestamp '2024-07-01 12:00' at time zone 'Europe/London', extract(timezone from timestamptz '2024-01-01 00:00+05')
select concat('a',null,1,true), concat_ws(',','a',null,'b'), left('abc',-1), right('abc',2), lpad('a',3,'xy'), rpad('abc',2), repeat('ab',3), reverse('abc'), split_part('a-b-c','-',-1), strpos('abc','c'), translate('abc','ab','x'), initcap('hello world'), overlay('abcdef' placing 'X' from 2 for 3), starts_with('abc','ab'), btrim('xxaxx','x'), quote_ident('a b'), quote_literal('a''b'), quote_nullable(null), parse_ident('a.b'), substr('abc',2,1), substring('abc',0,2), position('b' in 'abc'), octet_length('é'), char_length('é'), bit_length('a'), normalize('é',NFD) = 'é', string_to_array('abc',null), unistr('\0041')
select round(2.5), round(-2.5), round(2.567,2), round(1234,-2), trunc(2.9), ceil(2.1), floor(-2.1), mod(-7,3), div(7,2), power(2,0.5), sqrt(2), exp(1), ln(10), log(100), log(2,8), abs(-3), sign(-2), gcd(12,18), lcm(4,6), factorial(5), width_bucket(5,0,10,5), 7/2, -7/2, 7%3, 2^10, |/16, @(-5), 5 & 3, 5 | 3, 5 # 3, ~5, 1<<3, 16>>2
select 1e400
select 'NaN'::float8 = 'NaN', 'Infinity'::float8 > 1e308, 'NaN'::numeric > 1, '-Infinity'::numeric < 0, 0.1+0.2, 0.1::float8+0.2, 1e20::numeric, 1.10, 1.10*1.10, 1/3.0, 2.0/3, 10::numeric/3, 1e-10, 123456789012345678901234567890 * 2
select cast('12' as int), '1.5'::numeric(3,1), 12.345::numeric(4,1), '  5 '::int, '1e3'::float8, 'yes'::bool, 't'::bool, 5::bool, true::int, 'abc'::char(2), 'abc'::varchar(2), 65::"char", 3.7::int, 2.5::int, 3.5::int, -2.5::int
select '5x'::int
select '99999999999'::int
select 'maybe'::bool
select coalesce(null,1,2), nullif(1,1), greatest(1,null,3), least('b','a'), case when 1>2 then 'a' end, case 2 when 1 then 'x' when 2 then 'y' end, num_nulls(1,null), num_nonnulls(1,null)
select 1 in (1,2), 1 not in (2,null), null in (1), 5 between 1 and 10, 5 between symmetric 10 and 1, 1 is distinct from null, null is not distinct from null, not null::bool, true and null, false and null, true or null, 'a' is null, (1=1) is true, null::bool is unknown
select exists (select 1), (select 1 where false), array(select 1), 1 = any(select generate_series(1,2)), 1 > all(select 0), (select max(x) from generate_series(1,3) x)
select a.x, b.x from (values (1),(2)) a(x) left join (values (2),(3)) b(x) on a.x=b.x order by 1
select a.x, b.x from (values (1),(2)) a(x) full join (values (2),(3)) b(x) using (x) order by 1 nulls last
select x, a.x as ax, b.x as bx from (values (1),(2)) a(x) full join (values (2),(3)) b(x) using (x) order by 1
select * from (values (1,2)) a(x,y) natural join (values (1,3)) b(x,z)
select * from (values (1)) a(x) cross join (values (2),(3)) b(y), lateral (select x+y as z) c order by y
select * from (values (1),(2)) a(x) join lateral (select x*10 as y) b on true where y > 10
select x from generate_series(1,10) x order by x desc limit 3 offset 2
select x from generate_series(1,10) x fetch first 2 rows only
select x from generate_series(1,3) x limit all offset null
select x from generate_series(1,3) x limit -1
select x, count(*) from (values (1),(1),(2)) v(x) group by x having count(*) > 1
select x+1, count(*) from (values (1),(1)) v(x) group by x+1
select x, y from (values (1,2)) v(x,y) group by x
select sum(x) from generate_series(1,3) x where sum(x) > 1
select max(x) as m from generate_series(1,3) x order by m
select x as a from generate_series(1,2) x order by a + 1
select 'a' || 1 || true, 1 || 'a', 'a' || null, 'a' || array[1]::text, date '2024-01-01' || 'x'
select json '{"a":1, "a":2}'::text, json '{"a":1, "a":2}'->'a', jsonb '{"a":1, "a":2}', json_strip_nulls('{"a":null}'), json_object_keys('{"a":1,"a":2}')
select "a b", b."C" from (values (1)) t("a b"), (values (2)) b("C")
select 1 as "select", 2 "x y", 3 as año
select U&'\0041', E'\x41\u00e9\n', $$a'b$$, $x$a$$b$x$, 'a' 'b'
select * from nosuch
select nosuch from (values (1)) v(x)
select nosuch(1)
select 1 + 'a'
select 'a' + 'b'
select * from (values (1)) a(x), (values (2)) b(x) where x = 1
select count(*) over (), count(*) from generate_series(1,2)
select x from generate_series(1,2) x group by y
select distinct x from generate_series(1,2) x order by -x
select 1 where 'a'
select 1 limit 'a'
select case when 1 then 2 end
select upper(1)
select length(null), upper(null), abs(null), null + 1, null || 'a'
-- Literals of arrays, polymorphic arguments, and what is not in FROM or WITH.
SELECT '{'::int[]
SELECT '{1,}'::int[]
SELECT '{,1}'::int[]
SELECT '}'::int[]
SELECT '{1}x'::int[]
SELECT '{"a'::text[]
SELECT '{a b,c}'::text[], '{"a" , b}'::text[]
SELECT array_fill('x', ARRAY[2])
SELECT array_fill(NULL, ARRAY[2])
SELECT to_json(NULL)
SELECT to_jsonb('x')
SELECT array_position(NULL, 1)
SELECT array_append(NULL, 1), array_append('{1}', 2), array_append(NULL, 'a'::text)
SELECT array_append(NULL, 'a')
SELECT array_remove(NULL, NULL)
SELECT json_build_object('a', 1, 'b')
SELECT 1 INTERSECT ALL SELECT 1
SELECT '1'::json INTERSECT ALL SELECT '1'::json
SELECT 1, '1'::json EXCEPT SELECT 1, '1'::json
WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a
WITH a AS (SELECT 1) SELECT * FROM (SELECT * FROM c) x
SELECT * FROM (VALUES (1)) v(x) JOIN (SELECT v.x AS y) w ON true
SELECT d.id FROM docs
SELECT docs.id FROM docs AS x, LATERAL (SELECT docs.id) y
SELECT * FROM max(1)
SELECT * FROM sum(1) s
SELECT ('a'::text).b
SELECT (ARRAY[1]).b
SELECT (id).b FROM docs
SELECT ARRAY[1, 2, 'x'::text]
SELECT ARRAY['a', 1]
SELECT ARRAY[now(), 1]
WITH t AS (SELECT * FROM t) SELECT * FROM t
SELECT 1 + ANY (ARRAY[1])
SELECT (1).x
SELECT '1'::json UNION SELECT '2'::json
