-- Rows and records: (x).*
SELECT (jsonb_each('{"a":1,"b":2}')).*, 5
SELECT (x).* FROM (SELECT 1 AS a, 2 AS b) x
SELECT (x).b, (x).* FROM (SELECT 1 AS a, 2 AS b) x
SELECT (ROW(1, 'a'::text, true)).*
SELECT (lower('a')).*
SELECT (1).*
SELECT (generate_series(1, 2)).*
-- The names of columns.
SELECT position('a' IN 'ba'), strpos('ba', 'a'), trim('a'), substring('abc' FROM 2), extract(year FROM date '2020-01-01'), interval '1' day
SELECT NOT true, -1, 1 + 1, 'a' LIKE 'b', 1 IN (1), CASE WHEN true THEN 1 END, ARRAY[1], ROW(1), 1::text, now() IS NULL
SELECT coalesce(1), nullif(1, 2), greatest(1), current_user IS NULL, (SELECT 1 AS x), EXISTS (SELECT 1), 'a' COLLATE "C"
SELECT 1 GROUP BY ()
SELECT count(*) FROM generate_series(1, 3) GROUP BY ()
SELECT DEFAULT
