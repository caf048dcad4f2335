-- Values of char(n), whose trailing blanks matter only for display, and common types of texts.
select 'a'::char(3) = 'a'::varchar, 'a'::char(3) = 'a '::varchar, 'a'::char(3) = 'a '::text, 'a'::char(3) = 'a', 'a'::char(3) = 'a  ', 'a '::char(3) = 'a'::char(5), 'a'::char(3) < 'a '::varchar, 'a'::char(3) || 'b', length('a'::char(3)), octet_length('a'::char(3))
-- unordered
select 'a'::char(3) union select 'a'::char(5)
-- unordered
select 'a'::char(3) union select 'a'::char(3)
-- unordered
select 'a'::char(3) union all select 'a '::varchar(4)
-- unordered
select 'a '::varchar union select 'a'::char(3)
-- unordered
select 'a '::text union select 'a'::char(3)
-- unordered
select 'a'::char(3) union select 'a '::text
-- unordered
select 'a'::char(3) union select 'a '
values ('a'::char(3)), ('a '::varchar), ('b'::text)
values ('a '::varchar), ('a'::char(3))
select case when true then 'a'::char(3) else 'b'::varchar end
select case when true then 'a'::char(3) else 'b'::text end || '|'
select case when true then 'a '::varchar else 'b'::char(3) end
select coalesce(x, 'b'::text), coalesce('a'::text,x), greatest(x,'a '::varchar) from (select i::text::char(3) x from generate_series(1,1) i) t
select array['a'::char(3), 'b'::text], array['a'::varchar,'b'::char(2)]
select 'a '::varchar in ('a'::char(3)), 'a'::char(3) in ('a ', 'b'), 'a '::text in ('a'::char(3)), 'a'::char(3) in ('a '::text)
-- unordered
select distinct x from (values ('a'::char(3)), ('a '), ('b')) v(x)
select x, count(*) from (values ('a'::char(3)), ('a'::char(3)), ('b')) v(x) group by x order by x
-- unordered
select count(distinct x) from (select 'a'::char(3) union all select 'a'::char(5)) v(x)
-- unordered
select x from (select 'a'::char(3) union all select 'a'::char(5)) v(x) group by x
select max(x), min(x) from (values ('a'::char(3)),('b')) v(x)
select 'a'::char(3)::char(5) || '|', 'abc'::char(5)::char(2), ('a'::char(3))::text || '|', 'a'::char(3)::varchar || '|'
select 'a'::char(3) like 'a', 'a'::char(3) like 'a  ', 'a'::char(3) ~ 'a$', 'a'::char(3) similar to 'a'
select to_json('a'::char(3)), to_jsonb('a'::char(3)), format('%s|', 'a'::char(3)), concat('a'::char(3), '|'), row('a'::char(3)), array['a'::char(3)], quote_literal('a'::char(3))
select upper('a'::char(3)) || '|', reverse('ab'::char(4)) || '|', lpad('a'::char(3), 5, 'x'), position('a' in 'a'::char(3)), md5('a'::char(3)) = md5('a'), replace('a'::char(3),'a','b') || '|'
select 'a'::char(3) = any(array['a ','b']), 'a'::char(3) = any(array['a '::text]), array['a'::char(3)] = array['a'::char(5)]
select ('a'::char(3), 1) = ('a'::char(5), 1)
select 'a'::bpchar, 'a  '::bpchar = 'a'::bpchar, length('a  '::bpchar), 'a  '::bpchar || '|'
select 'abc'::char(2) = 'ab', ''::char(2) = '', ''::char(2) = ' ', 'é'::char(2) || '|', char_length('é'::char(3)), octet_length('é'::char(3))
select cast('a' as char), cast('abc' as char), 'abc'::character varying(2), 'a'::"char"
select string_agg(x, ',') from (values ('a'::char(3)),('b')) v(x)
select x from (values ('b'::char(3)),('a'),('a ')) v(x) order by x
-- unordered
select 'a'::char(3) between 'a' and 'a ', 'a'::char(3) is distinct from 'a '::char(4), nullif('a'::char(3),'a ')
select lag(x) over (order by x) from (values ('b'::char(3)),('a')) v(x)
-- unordered
select 'a'::varchar union select 'b'::text
-- unordered
select 'a'::varchar union select 'b'::name
-- unordered
select 'a'::name union select 'b'::text
select coalesce('a'::name, 'b'::text), case when true then 'a'::name else 'b'::varchar end
select pg_typeof(coalesce('a'::varchar(3), 'b'::text)), pg_typeof(array['a'::varchar,'b'::text]), pg_typeof(greatest('a','b'::varchar))
select case when true then 1 else 'a'::text end
select case when true then 'a'::text else 1 end
select case when true then 1 when false then 2.5 else 3 end, pg_typeof(case when true then 1 when false then 2.5 else 3 end)
select case when true then 1 else 'x' end
-- unordered
select * from (values ('a'::char(3))) a(x) join (values ('a '::varchar)) b(y) on a.x=b.y
-- unordered
select * from (values ('a'::char(3))) a(x) join (values ('a '::varchar)) b(x) using (x)
-- unordered
select * from (values ('a'::char(3))) a(x) join (values ('a'::char(5))) b(x) using (x)
-- unordered
select * from (values ('a'::char(3))) a(x) natural join (values ('a '::text)) b(x)
-- unordered
select 'a'::char(3) intersect select 'a'::char(5)
-- unordered
select 'a'::char(3) except select 'a'::char(5)
select jsonb_build_object('k','a'::char(3)), json_agg('a'::char(3)), jsonb_object_agg('a'::char(3), 1), array_agg('a'::char(3))
select lower('A'::char(3)) = 'a', trim('a'::char(3)) = 'a', left('ab'::char(4), 3) || '|', substring('ab'::char(4), 1, 3) || '|', 'a'::char(3)::bytea
select initcap('ab'::char(4)) || '|', ascii('a'::char(3)), split_part('a,b'::char(5), ',', 2) || '|', regexp_replace('a'::char(3), '\s', 'x', 'g'), translate('a'::char(3), ' ', 'x')
select width_bucket(1,1,2,3), 'a'::char(3) collate "C" = 'a '
select x from (values (null::char(3)), ('a')) v(x)
select ('{"a": 1}'::char(12))::jsonb, '12'::char(5)::int, 'true'::char(6)::boolean
-- A "char" that is no ASCII is shown as an octal number.
SELECT 'é'::text::"char", 'abc'::text::"char", (-1)::"char", ''::"char"
-- overlay
SELECT overlay('abc' placing 'x' from 0)
SELECT overlay('abc' placing 'x' from -1 for 1)
SELECT overlay('abc' placing 'x' from 2 for -1)
SELECT overlay('abc' placing 'x' from 2147483647 for 2147483647)
SELECT overlay('abc' placing 'x' from 10), overlay('abc' placing 'xyz' from 2), overlay('abc' placing 'x' from 2 for 0), overlay('abc' placing '' from 2 for 1), overlay('abc', 'x', 2), overlay('abc', 'x', 2, 1)
SELECT overlay('\x0102'::bytea placing '\xff' from 0)
SELECT overlay('\x010203'::bytea placing '\xff' from 2), overlay('\x010203'::bytea placing '\xffee' from 2 for 1)
SELECT overlay('abc' placing 'x')
SELECT overlay('abc' placing 'x' for 1)
SELECT overlay(1, 2, 3)
SELECT overlay('abc' placing NULL from 0)
-- A byte of a "char" that is not ASCII.
select '\101'::"char", '\377'::"char"::text, '\377'::"char", '\777'::"char", '\8'::"char", 'é'::"char"::text
select length('é'::"char"::text), ascii('é'::"char"), 'é'::"char" = 'è'::"char", 'é'::"char" < 'a'::"char"
select to_json('é'::"char"), to_jsonb('a'::"char"), array['é'::"char"], ''::"char"::int, 'é'::"char"::int
select max(c), count(distinct c) from (values ('é'::"char"), ('a')) v(c)
SELECT 'a'::"char" || 'x'
SELECT 'a'::"char" || 'x'::text
SELECT 'x'::varchar || 'a'::"char"
SELECT 'a'::name || 'b'::"char"
SELECT 'a'::"char" || '[1]'::jsonb, 'a'::"char" || true, 'a'::"char" || ARRAY['b'::"char"], 'a'::"char" || 1
SELECT 'x"y'::regtype
SELECT '"x y'::regtype
SELECT ''::regtype
SELECT 'numeric(10,2)'::regtype, 'varchar(3)[]'::regtype, 'timestamp with time zone'::regtype, 'double  precision'::regtype, '"char"'::regtype
-- differs: there are no named composite types
SELECT jsonb_populate_record(null::docs, '{"id": "x"}')
-- differs: there are no named composite types
SELECT (null::by.v).id
