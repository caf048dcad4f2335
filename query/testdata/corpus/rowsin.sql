-- long
-- Rows compared with those of a sub-query, by their hashes if these are many, with NULLs on both sides.
SELECT g, (g, g % 3) IN (SELECT i, i % 3 FROM generate_series(1, 30, 2) i), (g, g % 3) NOT IN (SELECT i, i % 3 FROM generate_series(1, 30, 2) i) FROM generate_series(1, 6) g
SELECT g, (g, g % 3) NOT IN (SELECT i, nullif(i % 3, 1) FROM generate_series(1, 30, 2) i) FROM generate_series(1, 12) g
SELECT g, (nullif(g, 3), g % 3) NOT IN (SELECT i, nullif(i % 3, 1) FROM generate_series(1, 30, 2) i) FROM generate_series(1, 12) g
SELECT g, (nullif(g, 3), nullif(g % 3, 0)) IN (SELECT nullif(i, 5), nullif(i % 3, 1) FROM generate_series(1, 30, 2) i) FROM generate_series(1, 12) g
SELECT g FROM generate_series(1, 40) g WHERE (g, g % 7) NOT IN (SELECT i, i % 7 FROM generate_series(1, 100, 2) i) ORDER BY g LIMIT 5
SELECT g FROM generate_series(1, 40) g WHERE (g, null) NOT IN (SELECT i, i % 7 FROM generate_series(1, 100, 2) i) ORDER BY g LIMIT 5
SELECT g FROM generate_series(1, 40) g WHERE NOT (g, g::text) = ANY (SELECT i, i::text FROM generate_series(1, 100, 3) i) ORDER BY g LIMIT 5
SELECT g FROM generate_series(1, 40) g WHERE (g, g) <> ALL (SELECT i, i FROM generate_series(1, 100, 3) i) ORDER BY g LIMIT 5
SELECT g FROM generate_series(1, 40) g WHERE (g::numeric, g::float8) NOT IN (SELECT i, i::real FROM generate_series(1, 100, 3) i) ORDER BY g LIMIT 5
SELECT g FROM generate_series(1, 40) g WHERE (g, g) < ANY (SELECT i, i FROM generate_series(1, 20) i) ORDER BY g DESC LIMIT 5
SELECT count(*) FROM generate_series(1, 8000) x WHERE (x, x % 7) NOT IN (SELECT g, g % 7 FROM generate_series(1, 20000, 2) g)
-- Rows that are NULL in several columns, on both sides.
SELECT a, b, c, (a, b, c) IN (SELECT nullif(i % 4, 1), nullif(i % 3, 2), nullif(i % 5, 0) FROM generate_series(1, 40) i) FROM (SELECT nullif(g % 5, 0) a, nullif(g % 4, 3) b, nullif(g % 6, 1) c FROM generate_series(1, 60) g) x ORDER BY 1, 2, 3
SELECT count(*), sum(a) FROM (SELECT g, nullif(g % 5, 0) a, nullif(g, 7) b FROM generate_series(1, 60) g) x WHERE (a, b) NOT IN (SELECT i % 3, i FROM generate_series(1, 40) i)
SELECT count(*) FILTER (WHERE r), count(*) FILTER (WHERE NOT r), count(*) FILTER (WHERE r IS NULL) FROM (SELECT (nullif(g % 5, 0), nullif(g, 7)) NOT IN (SELECT i % 3, CASE WHEN i % 4 <> 0 THEN i END FROM generate_series(1, 40) i) r FROM generate_series(1, 60) g) x
SELECT count(*) FILTER (WHERE r), count(*) FILTER (WHERE NOT r), count(*) FILTER (WHERE r IS NULL) FROM (SELECT (nullif(g % 5, 0)::numeric, to_jsonb(g), nullif(g, 7)::text) IN (SELECT i % 3, to_jsonb(i::numeric), i::text FROM generate_series(1, 40) i WHERE i > 50) r FROM generate_series(1, 60) g) x
SELECT count(*) FILTER (WHERE r), count(*) FILTER (WHERE NOT r), count(*) FILTER (WHERE r IS NULL) FROM (SELECT (null, null::int) NOT IN (SELECT i, i FROM generate_series(1, 40) i) r FROM generate_series(1, 60) g) x
SELECT count(*) FILTER (WHERE r), count(*) FILTER (WHERE NOT r), count(*) FILTER (WHERE r IS NULL) FROM (SELECT (nullif(g & 1, 0), nullif(g & 2, 0), nullif(g & 4, 0), nullif(g & 8, 0), nullif(g & 16, 0), g) IN (SELECT nullif(i & 1, 0), nullif(i & 2, 0), nullif(i & 4, 0), nullif(i & 8, 0), nullif(i & 16, 0), i / 2 FROM generate_series(1, 70) i) r FROM generate_series(1, 70) g) x
SELECT count(*) FROM (SELECT nullif(g % 2, 0) a, (g % 7) / 10.0 b, nullif((g % 7)::float8, 0) c FROM generate_series(2, 1000) g) x WHERE (a, b, c) NOT IN (SELECT g, (g % 2) / 2.0, nullif((g % 7)::float8, 0) FROM generate_series(3, 5000) g)
-- Rows that differ from all.
SELECT count(*) FROM generate_series(1, 8000) x WHERE (x, x % 7) <> ALL (SELECT g, g % 7 FROM generate_series(1, 20000, 2) g)
SELECT count(*) FILTER (WHERE r), count(*) FILTER (WHERE NOT r), count(*) FILTER (WHERE r IS NULL) FROM (SELECT (nullif(g % 5, 0), nullif(g, 7)) != ALL (SELECT i % 3, CASE WHEN i % 4 <> 0 THEN i END FROM generate_series(1, 40) i) r FROM generate_series(1, 60) g) x
SELECT (1, 2) <> ALL (SELECT 1, 'x'::text WHERE false)
SELECT (1, 2, 3) <> ALL (SELECT 1, 2)
