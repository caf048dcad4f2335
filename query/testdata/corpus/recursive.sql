-- WITH RECURSIVE in any order, ORDER BY of UNION and VALUES, and functions of rows with DISTINCT ON.
select 1 as x union select 2 as y order by y
select 1 as x union select 2 as y order by x+1
select 1 as x union select 2 as y order by y+1
select 1 as x union select 2 as y order by t.x
select 1 as x union select 2 order by x desc
values (1),(3),(2) order by column1 desc
values (1),(3),(2) order by -column1
values (1),(3),(2) order by -column1 limit 1 offset 1
values (1),(3),(2) order by column2
values (1,'a'),(3,'b') order by column2 || 'x' desc
select * from (values (1),(3),(2) order by -column1) v
with recursive t(n) as (select n from t) select * from t
with recursive a as (select * from b), b as (select 1 as x) select * from a
with recursive a as (select * from b union all select 2), b as (select 1 as x) select * from a order by 1
with recursive a as (select * from b), b as (select * from a) select * from a
with recursive u as (select * from t), t as (select 1 as n union all select n+1 from t where n<3) select * from u
with recursive a as (select * from c), b as (select 1 as x union all select x+1 from b where x < 3), c as (select * from b where x > 1) select * from a, c order by 1,2
with recursive t(n) as (select n+1 from t union all select 1) select * from t
with recursive t(n) as (select 1 intersect select n from t) select * from t
with recursive t as (select 1 as n union all select n+1 from t where n < 3 order by 1) select * from t
with recursive t as (select 1 as n union all select 2 order by 1 desc) select * from t
with recursive t as (select 1 as n union all select 2 limit 1) select * from t
with recursive t as (select 1 as n union all select n+1 from t limit 3) select * from t
with recursive t as (select 1 as n union all select n+1 from t offset 3) select * from t
with recursive t as (select 1 as n union all select n+1 from (select * from t) q where n<3) select * from t
with recursive t as (select 1 as n union all select n+1.5 from t where n<3) select * from t
with recursive t as (select 'a' as n union all select n||'b' from t where length(n)<3) select * from t
with recursive t as (select 'a'::varchar as n union all select n||'b' from t where length(n)<3) select * from t
with recursive t(n, n) as (select 1, 2) select * from t
with recursive t as (select 1), t as (select 2) select * from t
with a as (select * from b), b as (select 1 as x) select * from a
with recursive a(x) as (select 1 union select x+y from a, (select 1 as y) q where x < 4), b as (select count(*) from a) select * from b, a order by 2
with recursive t as (select 1 as n union all select (select n+1 from t) where false) select * from t
with recursive x as (select 1 as a union all select a+1 from x where a < 3), y as (select a from x union all select a + 10 from y where a < 20) select * from y order by 1
with recursive t(n) as (values (1) union all select n+1 from t where n < 3) select sum(n) from t
with recursive c as (select 1 as v union all select v + 1 from d where v < 3), d as (select 1 as v union all select v from c) select * from c
with recursive t(n) as (select 1 union all select n from (select 1) x left join t on true) select * from t
-- unordered
select distinct on (generate_series(1,3)) generate_series(1,3), 5
-- unordered
select distinct on (generate_series(1,3)/2) generate_series(1,3)/2 as g, 5
select distinct on (g) generate_series(1,4)/2 as g, x from (values (1),(2)) v(x) order by g, x desc
-- WITH inside of a recursive query.
WITH RECURSIVE t(n) AS (WITH y AS (SELECT 1 AS k) SELECT k FROM y UNION ALL SELECT n+1 FROM t WHERE n < 3) SELECT * FROM t
WITH RECURSIVE t(n) AS (WITH y AS (SELECT 1 AS k) SELECT k FROM y UNION ALL SELECT n+k FROM t, y WHERE n < 3) SELECT * FROM t
WITH RECURSIVE t(n) AS (WITH y AS MATERIALIZED (SELECT generate_series(1,2) AS k) SELECT k FROM y UNION SELECT n+k FROM t, y WHERE n < 4) SELECT * FROM t ORDER BY 1
WITH RECURSIVE t(n) AS (WITH RECURSIVE y(k) AS (SELECT 1 UNION ALL SELECT k+1 FROM y WHERE k < 2) SELECT k FROM y UNION ALL SELECT n+1 FROM t WHERE n < 3) SELECT * FROM t ORDER BY 1
WITH RECURSIVE t(n) AS (WITH y AS (SELECT n FROM t) SELECT 1 UNION ALL SELECT n+1 FROM t WHERE n < 3) SELECT * FROM t
WITH RECURSIVE t(n) AS (WITH t AS (SELECT 7 AS k) SELECT k FROM t UNION ALL SELECT k+1 FROM t WHERE k < 3) SELECT * FROM t
WITH RECURSIVE t(n) AS (WITH y AS (SELECT 1 AS k) SELECT k FROM y UNION ALL SELECT n+1 FROM t WHERE n < 3 ORDER BY 1) SELECT * FROM t
WITH RECURSIVE t(n) AS (WITH y AS (SELECT 1 AS k) SELECT k FROM y UNION ALL SELECT k FROM y) SELECT * FROM t
SELECT x, (WITH RECURSIVE t(n) AS (WITH y AS (SELECT x AS k) SELECT k FROM y UNION ALL SELECT n+k FROM t, y WHERE n < 6) SELECT array_agg(n) FROM t) FROM generate_series(2,3) x
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL (WITH x AS (SELECT n+1 AS n FROM t WHERE n < 3) SELECT n FROM x)) SELECT * FROM t
-- More of the same, together.
-- unordered
WITH RECURSIVE f(a, b) AS (VALUES (0, 1) UNION ALL SELECT b, a + b FROM f WHERE b < 50) SELECT array_agg(a) FROM f
-- unordered
WITH RECURSIVE t(id, path) AS (SELECT 1, ARRAY[1] UNION ALL SELECT id * 2, path || id * 2 FROM t WHERE id < 10) SELECT * FROM t
-- unordered
WITH RECURSIVE t(s) AS (SELECT 'a' UNION ALL SELECT s || 'b' FROM t WHERE length(s) < 3) SELECT * FROM t
-- unordered
WITH RECURSIVE t(s) AS (SELECT 'a'::varchar UNION ALL SELECT s || 'b' FROM t WHERE length(s) < 3) SELECT * FROM t
WITH a AS (SELECT 1 AS x) SELECT (WITH b AS (SELECT x + 1 AS y FROM a) SELECT y FROM b)
WITH a(x) AS (VALUES (1),(2)) SELECT * FROM a UNION SELECT 3 ORDER BY x DESC LIMIT 2
