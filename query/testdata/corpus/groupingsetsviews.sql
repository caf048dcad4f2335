-- Grouping sets over views and over documents that a view answers.
-- unordered
SELECT key #>> '{}', count(*), grouping(key #>> '{}') FROM by.v GROUP BY ROLLUP (1)
-- unordered
SELECT count(*), min(id), sum(value::int), avg(value::int) FROM by.v GROUP BY CUBE (key)
-- unordered
SELECT key->>0, count(*), max(key->>0) FROM by.arr GROUP BY GROUPING SETS ((key->>0), (), ())
-- unordered
SELECT key->>0, key->>1, count(*) FROM by.arr GROUP BY CUBE (key->>0, key->>1)
-- unordered
SELECT key->>0, count(*) FROM by.arr WHERE key->>0 > 'zzzz' GROUP BY ROLLUP (key->>0)
SELECT count(*) FROM by.arr WHERE key->>0 > 'zzzz' GROUP BY GROUPING SETS ((), ())
SELECT count(*), grouping(key->>0) FROM by.arr GROUP BY ROLLUP (key->>0) HAVING grouping(key->>0) = 1
-- unordered
SELECT doc->>'city', count(*) FROM docs GROUP BY ROLLUP (doc->>'city') HAVING count(*) > 1
-- unordered
SELECT doc->>'city', count(*), sum(count(*)) OVER () FROM docs GROUP BY CUBE (doc->>'city')
