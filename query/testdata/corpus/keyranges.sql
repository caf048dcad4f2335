-- Conditions on parts, texts and casts of keys, which become ranges of a view.
SELECT id FROM by.arr WHERE key->>0 = 'n1' AND (key->>1)::int > 12 ORDER BY id
SELECT id FROM by.arr WHERE key->0 = '"n2"' AND key->1 = '7'
SELECT key->>0, count(*) FROM by.arr WHERE key->>0 IN ('n1', 'n3') AND (key->>1)::int BETWEEN 5 AND 30 GROUP BY 1 ORDER BY 1
SELECT id FROM by.v WHERE key #>> '{}' = '42' ORDER BY id
SELECT id FROM by.v WHERE key->>0 = '1' ORDER BY id
SELECT id FROM by.v WHERE key::text = '"Oslo"'
SELECT id FROM by.v WHERE key::text = '1000.00'
SELECT id FROM by.v WHERE starts_with(key #>> '{}', '004')
SELECT id FROM by.v WHERE key #>> '{}' ~ '^299[01]$' ORDER BY id
SELECT id FROM docs WHERE id ~ '^d0[1-3]' AND starts_with(id, 'd0') ORDER BY id
SELECT id FROM by.v WHERE key #>> '{}' BETWEEN '1' AND '2' ORDER BY id
