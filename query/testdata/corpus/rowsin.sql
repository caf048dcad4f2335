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
