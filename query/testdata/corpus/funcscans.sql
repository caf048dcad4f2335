-- Functions in FROM whose arguments refer to nothing before them.
SELECT a.x, g FROM (VALUES (1), (9)) a(x) RIGHT JOIN generate_series(1, 3) g ON g = a.x ORDER BY 2
SELECT a.x, g FROM (VALUES (1), (9)) a(x) FULL JOIN generate_series(1, 3) g ON g = a.x ORDER BY 1, 2
SELECT a.x, g FROM (VALUES (1), (9)) a(x) LEFT JOIN generate_series(1, 3) g ON g = a.x ORDER BY 1
SELECT a, b FROM generate_series(1, 4) a FULL JOIN generate_series(3, 6) b USING (a)
SELECT * FROM generate_series(1, 4) n FULL JOIN generate_series(3, 6) m(n) USING (n) ORDER BY 1
SELECT * FROM generate_series(1, 4) n NATURAL FULL JOIN generate_series(3, 6) WITH ORDINALITY m(n, o) ORDER BY 1
SELECT count(*) FROM generate_series(1, 3000) a(g) JOIN generate_series(1, 3000) b(g) ON a.g = b.g + 1
SELECT count(*) FROM generate_series(1, 3000) a(g), generate_series(1, 3000) b(g), generate_series(1, 3000) c(g) WHERE a.g = b.g AND b.g = c.g
SELECT count(DISTINCT r) FROM generate_series(1, 20) g, LATERAL (SELECT random() + g * 0 AS r) x
SELECT count(DISTINCT r) FROM generate_series(1, 20) g, unnest(ARRAY[random(), random()]) r
SELECT count(DISTINCT r) FROM generate_series(1, 20) g, unnest(ARRAY[random() + g, random() + g]) r
SELECT * FROM (VALUES (1)) a(x), current_database() c(y) WHERE y IS NULL
SELECT d.id, x FROM docs d RIGHT JOIN jsonb_array_elements_text('["d01", "nope", "d03"]') x ON d.id = x ORDER BY 2
SELECT d.id, k FROM jsonb_each('{"d01": 1, "d02": 2}') e(k, v) LEFT JOIN docs d ON d.id = k ORDER BY 2
SELECT a.x, g FROM (VALUES (1)) a(x) RIGHT JOIN generate_series(1, a.x) g ON true
SELECT a.x, g FROM (VALUES (1)) a(x) FULL JOIN LATERAL (SELECT 1 AS y) g ON g.y = a.x
SELECT a.x, g FROM (VALUES (1)) a(x) FULL JOIN LATERAL (SELECT a.x) g ON true
SELECT (SELECT count(*) FROM generate_series(1, o.n) a RIGHT JOIN generate_series(1, o.n + 1) b ON a = b) FROM (VALUES (2), (5)) o(n)
SELECT o.n, j.b FROM (VALUES (2), (3)) o(n), LATERAL (SELECT b FROM generate_series(1, 2) a RIGHT JOIN generate_series(1, o.n) b ON a = b) j ORDER BY 1, 2
SELECT n, (SELECT array_agg(a ORDER BY a) FROM generate_series(1, n) a FULL JOIN generate_series(2, n) b ON a = b WHERE b IS NULL) FROM generate_series(1, 3) n ORDER BY 1
SELECT * FROM ROWS FROM (generate_series(1, 2), generate_series(1, 3)) r(a, b) RIGHT JOIN generate_series(2, 4) c ON c = b ORDER BY c
SELECT * FROM (VALUES (1), (3)) a(x), ((VALUES (5), (6)) b(y) CROSS JOIN generate_series(1, a.x) g) ORDER BY 1, 2, 3
SELECT * FROM (VALUES (1), (3)) a(x) LEFT JOIN ((VALUES (5), (6)) b(y) JOIN LATERAL (SELECT a.x + b.y) c(z) ON z > 7) ON true ORDER BY 1, 2, 3
SELECT * FROM (VALUES (1), (3)) a(x) RIGHT JOIN ((VALUES (5), (6)) b(y) CROSS JOIN generate_series(1, a.x) g) ON true
SELECT * FROM (VALUES (1), (3)) a(x) RIGHT JOIN ((VALUES (2), (3)) b(y) CROSS JOIN generate_series(1, b.y) g) ON g = x ORDER BY 2, 3
SELECT x, r FROM (VALUES (1, 2), (3, 4)) a(x, y) FULL JOIN LATERAL (SELECT a) r ON true
SELECT a.x, r.p FROM (VALUES (1, 2), (3, 4)) a(x, y) LEFT JOIN LATERAL (SELECT a.*) r(p, q) ON true ORDER BY 1
SELECT (SELECT count(*) FROM (SELECT a.*, b.* FROM (VALUES (7)) b(z)) s WHERE s.y = 2 AND z = 7) FROM (VALUES (1, 2), (3, 4)) a(x, y)
SELECT (SELECT a.* FROM (VALUES (7)) b(z)) FROM (VALUES (1, 2), (3, 4)) a(x, y)
SELECT (SELECT a.*) AS x FROM (VALUES (1), (3)) a(x)
SELECT (SELECT nope.*) FROM (VALUES (1), (3)) a(x)
SELECT d.id, s.* FROM docs d, LATERAL (SELECT d.id, d.doc->'i' AS i WHERE d.id < 'd02') s ORDER BY 1
