-- Comparisons of rows, rows of relations in expressions, EXECUTE and CALL.
select (1,2) = (1,2)
select (1,2) < (1,3), (1,2) <= (1,2), (2,1) > (1,9), (1,2) <> (1,3)
select (1,null) = (1,2)
select (1,null) = (2,2), (1,null) <> (2,2), (1,null) < (2,2), (null,1) < (1,2), (1,null) <= (1,null), (2,null) > (1,null)
select row(1,null) is null, row(null,null) is null, row(1,2) is not null, row(null,null) is not null
select (1,2) is distinct from (1,3), (1,null) is distinct from (1,null), (1,null) is not distinct from (1,null)
select (1,2) in ((1,2),(3,4)), (1,2) in ((1,null),(3,4)), (1,2) not in ((1,null),(3,4)), (1,2) in ((3,4)), (1,2) not in ((3,4),(5,6)), (null,2) in ((1,2)), (null,2) in ((1,3))
select (1,'a') = (1,'a'), ('a',1) < ('b',0), (1,2.5) = (1.0,2.5), (1,'2024-01-01'::date) < (1,'2024-01-02')
select (1,2) = (1,2,3)
select (1,2) in ((1,2,3))
select (1,2) = 1
select (1,'a') = (1,2)
select row(1) = row(1), row() = row()
select row(1,2) = row(1,2) and row(1,2) = any(array[row(1,2),row(3,4)])
select (1,2) between (1,1) and (1,3)
select (1,(2,3)) = (1,(2,3)), ((1,2),3) < ((1,3),0)
select x, y from (values (1,2),(3,4),(null,5)) v(x,y) where (x,y) in ((1,2),(3,4))
select x, y from (values (1,2),(3,4),(null,5)) v(x,y) where (x,y) > (1,2) order by 1
select x, y from (values (1,2),(3,4),(null,5)) v(x,y) where (x,y) = (null,5)
select case (1,2) when (1,2) then 'y' else 'n' end, coalesce((1,2),(3,4)), nullif((1,2),(1,2)), greatest((1,2),(1,3))
select row(1,2)::text, row(1,'a b',null,'')::text, (row(1,2)).f1
select v = w from (values (1,2)) v(a,b), (values (1,2)) w(c,d)
select v.* = w.* from (values (1,2)) v(a,b), (values (1,2)) w(c,d)
select row(v.*) from (values (1,2)) v(a,b)
select row(v.*, 3) from (values (1,2)) v(a,b)
select v.* is null, v is null from (values (1,null)) v(a,b)
select count(v.*), count(v), count(distinct v.*) from (values (1,2),(null,null)) v(a,b)
select row_to_json(v.*), to_jsonb(v.*), json_agg(v.*) from (values (1,2)) v(a,b) group by v.*
select distinct row(1,2), row(1,2) order by 1
select array[row(1,2),row(3,4)], array_agg(row(1,2)), array[(1,2)] = array[(1,2)]
select (1,2) like 'a'
select (1,2) + 1
select sum('1')
select avg('1')
select sum(null)
select bit_and('1')
prepare p1(int) as select $1
execute p1('a')
execute p1(1.5)
execute p1('2024-01-01'::date)
execute p1(true)
execute p1(1,2)
execute p1
execute p1(null)
execute p1('12')
deallocate p1
prepare p2(text) as select $1
execute p2(1)
execute p2('{}'::jsonb)
deallocate p2
prepare p3(jsonb) as select $1
execute p3(1)
execute p3('1'::text)
deallocate p3
call foo()
call foo(1,'a')
call now()
call pg_catalog.foo(1.5)
call foo(bar)
select stddev('1'), max('a'), min(null), count('1'), string_agg('a','b'), bool_and('t')
select array_agg('a')
-- Rows are compared with the rows of sub-queries.
SELECT (1,2) = (SELECT 1,2)
SELECT (1,2) = (SELECT 1,3)
SELECT (1,2) < (SELECT 1,3)
SELECT (1,2) = (SELECT 1)
SELECT (1,2) = (SELECT 1,2 WHERE false)
SELECT (1,2) = (SELECT 1,2 UNION ALL SELECT 3,4)
SELECT (1,2) <> (SELECT 1,2), (1,2) >= (SELECT 1,2), (3,1) > (SELECT 1,2), (1,NULL) = (SELECT 1,2), (1,NULL) < (SELECT 2,2)
SELECT ROW(1,2) IS DISTINCT FROM (SELECT 1,2)
SELECT (1,2) IN (SELECT 1,2)
SELECT (1,2) = ANY (SELECT 1,2)
SELECT (1,2) = ANY (VALUES (1,2),(3,4)), (1,2) <> ALL (VALUES (3,4)), (1,2) < ANY (VALUES (1,1),(1,3)), (1,2) > ALL (SELECT 0,0)
SELECT (1,2) = ANY (SELECT 1)
SELECT (1,2) IN (SELECT 1,2,3)
SELECT (1,2) + (SELECT 1,2)
SELECT (SELECT 1,2) = (1,2)
SELECT ROW(1) = (SELECT 1)
SELECT ROW(1) = (SELECT ROW(1))
SELECT (1,2) = (SELECT ROW(1,2))
SELECT i, (i, i+1) = (SELECT i, 2) FROM generate_series(1,2) i
SELECT i FROM generate_series(1,5) i WHERE (i, 'a') >= (SELECT 3, 'a') ORDER BY 1
SELECT (1,'a') = (SELECT 1,2)
SELECT ('1','2') = (SELECT 1,2)
SELECT (1,2) !~ (SELECT 1,2)
SELECT (1,2) = SOME (SELECT 1,2)
SELECT x, y FROM (VALUES (1, 'a'), (2, 'b'), (NULL, 'c')) t(x, y) WHERE (x, y) NOT IN (SELECT 1, 'a') ORDER BY x
SELECT x, y FROM (VALUES (1, 'a'), (2, 'b'), (NULL, 'c')) t(x, y) WHERE (x, y) IN (SELECT x, 'b') ORDER BY x
SELECT (1, NULL) IN (SELECT 1, 2), (1, NULL) NOT IN (SELECT 2, 2), (1, 2) IN (SELECT 1, 2 WHERE false), (1, 2) < ALL (SELECT 1, 2 WHERE false)
SELECT ('a', 'b') ~~ (SELECT 'a', 'b')
SELECT ROW('a') ~ (SELECT 'a|b')
SELECT count(*), (sum(x), 1) = (SELECT 3, 1) FROM (VALUES (1), (2)) t(x)
SELECT CASE WHEN (1, 2) = (SELECT 1, 2) THEN (1, 3) > (SELECT 1, 2) END
-- parameters: ["1", "x"]
SELECT ($1, $2) = (SELECT 1, $2), ($1, $2) IN (SELECT 1, 'x'::text)
-- parameters: ["1", "x"]
SELECT ($1, $2) = (1, 'x'), (0, 'y'::text) < ($1, $2), ($1, $2) IN ((1, 'x'), (2, 'y'))
-- parameters: ["1", "d01"]
SELECT id FROM docs WHERE (doc->>'v', id) > ($1, $2) ORDER BY doc->>'v', id LIMIT 2
-- parameters: ["1", "x"]
SELECT ROW($1::int, $2::text), ROW($1, $2) IS NULL
-- More of the same, together.
SELECT 1 IN (1.0, 2), 'a' IN ('a', NULL), (1, 'a') IN ((1, 'a'), (2, 'b')), NULL IN (NULL), ROW(1, NULL) = ROW(1, 2), ROW(1, NULL) = ROW(2, 2), (1, 2) < (1, NULL), (1, 2) < (2, NULL), ROW(1, 2) IS NOT DISTINCT FROM ROW(1, 2)
SELECT ARRAY[1,2,3] @> ARRAY[3,1], ARRAY[1,2] <@ '{1,2,3}', ARRAY['a'] && '{a,b}', ARRAY[1,2] || '{3}', ARRAY[1,2] > ARRAY[1], ARRAY[NULL]::int[] = ARRAY[NULL]::int[], 2 = ANY (ARRAY[1,2]), ARRAY[1,NULL] @> ARRAY[NULL]::int[], (ARRAY['a','b'])[1:1], array_to_string(ARRAY['a',NULL,'b'], '-'), array_to_string('{}'::int[], ','), string_to_array('', ','), string_to_array('a b', ' '), array_length('{}'::int[], 1), array_ndims('{}'::int[])
-- IS DISTINCT FROM between rows takes the types member by member.
SELECT (1, 2) IS DISTINCT FROM (1, NULL), row(1, NULL) IS DISTINCT FROM row(1, 2), (1, NULL) IS NOT DISTINCT FROM (1, NULL)
SELECT (1, 'x') IS DISTINCT FROM ('1', 'x'), row(1) IS NOT DISTINCT FROM row(NULL), (1, (2, 4)) IS DISTINCT FROM (1, (2, 3))
SELECT (1, 2) IS DISTINCT FROM (1, 2, 3)
SELECT (1, 'x') IS DISTINCT FROM (1, 2)
SELECT (1, true) IS DISTINCT FROM (1, 2)
SELECT count(*) FROM docs WHERE (id, rev) IS DISTINCT FROM (id, NULL)
SELECT count(*) FROM docs a LEFT JOIN docs b ON a.id = b.id AND a.id < 'd02' WHERE (a.id, 1) IS NOT DISTINCT FROM (b.id, 1)
SELECT count(*) FROM docs a LEFT JOIN docs b ON a.id = b.id AND a.id < 'd02' WHERE a IS DISTINCT FROM b
SELECT row(NULL) IS DISTINCT FROM NULL, NULL IS NOT DISTINCT FROM row(NULL, NULL)
