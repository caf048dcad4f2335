-- Aggregates and DISTINCT that Divan reads from an end, counts or reduces.
SELECT count(*) FROM docs
SELECT count(*), count(id), count(doc) FROM docs
SELECT min(id), max(id) FROM docs
SELECT max(id) FROM docs WHERE id < 'd10'
SELECT min(id), count(*) FROM docs WHERE id > 'd10'
SELECT min(id) FROM docs WHERE id > 'x'
SELECT max(id) AS m FROM docs HAVING count(*) > 3
SELECT max(id) || 'x' FROM docs WHERE id BETWEEN 'd03' AND 'd07'
SELECT (SELECT max(id) FROM docs d WHERE d.id < e.id) FROM docs e WHERE e.id < 'd05' ORDER BY e.id
SELECT count(*) FILTER (WHERE id > 'd05'), max(id) FROM docs
SELECT count(DISTINCT id) FROM docs
SELECT min(DISTINCT id) FROM docs
SELECT max(id COLLATE "C") FROM docs
SELECT count(*) FROM by.v
SELECT count(*), count(key), count(value) FROM by.arr
SELECT min(id), max(id) FROM by.v
-- unordered
SELECT DISTINCT key->>0 FROM by.arr
SELECT DISTINCT key->>0 FROM by.arr ORDER BY 1
SELECT DISTINCT key->>0 FROM by.arr WHERE key->>0 > 'n1' ORDER BY 1 DESC LIMIT 2
SELECT count(DISTINCT key->>0), count(DISTINCT key), count(*) FROM by.arr
SELECT key->>0, count(DISTINCT key->>1), count(*) FROM by.arr GROUP BY 1 ORDER BY 1
SELECT key->>0 FROM by.arr GROUP BY 1 ORDER BY 1
SELECT max(key->>0), min(key->>1) FROM by.arr
SELECT key->>0, sum((value)::numeric), count(*) FROM by.arr GROUP BY 1 ORDER BY 1
SELECT sum((value)::numeric), sum(value::text::numeric), sum((value #>> '{}')::numeric) FROM by.arr
SELECT sum(value::int), sum(value::bigint), sum(value::smallint), sum(value::float8), avg(value::int), min(value::int), max(value::numeric) FROM by.arr
SELECT sum((value)::numeric) FROM by.arr WHERE key->>0 = 'n1'
SELECT sum((value)::numeric), count(*) FROM by.arr WHERE key->>0 = 'none'
SELECT key->>0 AS n, sum(value::numeric) FROM by.arr WHERE key->>0 IN ('n1', 'n3') GROUP BY 1 HAVING count(*) > 2 ORDER BY 2 DESC
SELECT sum(value::numeric(10,2)) FROM by.arr
SELECT sum(DISTINCT value::int) FROM by.arr
