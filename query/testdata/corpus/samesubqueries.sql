-- Sub-queries that are the same expression in several clauses of a query.
select (select 1+d.x) from (select 1 x) d group by (select 1+d.x)
select (select 1+d.x) + 1 from (select 1 x) d group by (select 1+d.x)
select (select 2+d.x) from (select 1 x) d group by (select 1+d.x)
-- unordered
select exists(select 1 from docs e where e.id=d.doc->>'ref'), count(*) from docs d group by exists(select 1 from docs e where e.id=d.doc->>'ref')
-- unordered
select case when exists(select 1 from docs e where e.id=d.doc->>'ref') then 'a' else 'b' end, max(id) from docs d group by exists(select 1 from docs e where e.id=d.doc->>'ref')
-- unordered
select case when exists(select 1 from docs e where e.id=d.doc->>'ref') then 'a' end, count(*) from docs d group by case when exists(select 1 from docs e where e.id=d.doc->>'ref') then 'a' end
-- unordered
select d.id in (select e.id from docs e where e.id < 'm'), count(*) from docs d group by d.id in (select e.id from docs e where e.id < 'm')
-- unordered
select d.id in (select e.id from docs e where e.id < 'n'), count(*) from docs d group by d.id in (select e.id from docs e where e.id < 'm')
-- unordered
select array(select x from generate_series(1, length(d.id) / 10) x), count(*) from docs d group by array(select x from generate_series(1, length(d.id) / 10) x)
select max((select length(d.id))) from docs d group by (select length(d.id) > 0) having (select length(d.id) > 0)
SELECT DISTINCT ON ((SELECT 1)) (SELECT 1) FROM docs ORDER BY 1
SELECT DISTINCT ON ((SELECT 1)) (SELECT 1) FROM docs ORDER BY (SELECT 1)
select distinct (select max(e.id) from docs e where e.id <= d.id) from docs d order by (select max(e.id) from docs e where e.id <= d.id) limit 3
select distinct (select max(e.id) from docs e where e.id <= d.id) from docs d order by (select max(e.id) from docs e where e.id < d.id) limit 3
select distinct (select max(e.id) from docs e where e.id <= d.id) from docs d order by (select max(f.id) from docs f where f.id <= d.id) limit 3
select distinct (select max(d.id) from (values (1)) v(x)) from docs d order by (select max(d.id) from (values (1)) v(x))
select distinct (select max(x)) from (values (1), (2)) v(x) order by (select max(x))
select (select max(x)) from (values (1), (2)) v(x) order by (select max(x))
select distinct on ((select max(x))) (select max(x)) from (values (1), (2)) v(x) order by (select max(x))
select (x, 1) = (select y, 1 from (values (1)) w(y)), count(*) from (values (1), (2)) v(x) group by (x, 1) = (select y, 1 from (values (1)) w(y)) order by 1
select (x, 1) in (select y, 1 from (values (1)) w(y)), count(*) from (values (1), (2)) v(x) group by (x, 1) in (select y, 1 from (values (1)) w(y)) order by 1
select (select x), (select (select x)), count(*) from (values (1), (2)) v(x) group by (select x), (select (select x)) order by 1
select sum((select x)) over (partition by (select x)), (select x) from (values (1), (2), (2)) v(x) group by (select x) order by 2
select (select y from (select x) q(y)), count(*) from (values (1), (1)) v(x) group by rollup((select y from (select x) q(y))) order by 1
select (select 'a'), count(*) from (values (1), (1)) v(x) group by (select 'a')
select (select 'a'), count(*) from (values (1), (1)) v(x) group by (select 'b')
select (select x), x from (values (1), (1)) v(x) group by (select x)
select q.a from (select (select x) a, x from (values (1), (2)) v(x)) q where (select x) = 1 or (q.a = 2 and (select x) = 2) order by 1
