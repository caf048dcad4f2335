-- Statements that write. Each line undoes what it has written, because other files read the same documents.
BEGIN; INSERT INTO docs (id, doc) VALUES ('n', '{"v": 1}'); SELECT id, doc->'v' FROM docs WHERE id = 'n'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) VALUES ('n', '{"v": 1}'), ('m', '{"v": [1, 2]}') RETURNING id, doc->'v', id || 'x' AS y; ROLLBACK
BEGIN; INSERT INTO docs (doc, id) VALUES ('{"v": 1}', 'n') RETURNING id; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) SELECT 'x' || id, jsonb_build_object('of', doc->'i') FROM docs WHERE id < 'd03' ORDER BY id RETURNING id, doc->'of'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) SELECT 'x', '{"a": 1}' RETURNING doc->'a'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) SELECT 5, '{"a": 1}'::json RETURNING id, doc->'a'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) VALUES (5, '{"a": 1}'::json) RETURNING id, doc->'a'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) (VALUES ('b', '{}'::jsonb), ('a', '{}') ORDER BY 1 LIMIT 1) RETURNING id; ROLLBACK
BEGIN; WITH w AS (SELECT id, doc->'i' AS i FROM docs WHERE id < 'd02') INSERT INTO docs (id, doc) SELECT 'w' || id, jsonb_build_object('i', i) FROM w RETURNING id, doc->>'i'; ROLLBACK
BEGIN; INSERT INTO docs AS d (id, doc) VALUES ('n', '{"v": 1}') RETURNING d.id, d.doc->'v'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) VALUES ('n', '{"v": 1}'); INSERT INTO docs (id, doc) VALUES ('n', '{"v": 2}')
ROLLBACK
BEGIN; INSERT INTO docs (id, doc) VALUES ('d00', '{}')
ROLLBACK
BEGIN; INSERT INTO docs (id, doc) VALUES ('n', '{}'), ('n', '{}')
ROLLBACK
INSERT INTO docs (id, doc) VALUES (NULL, '{}')
INSERT INTO docs (id) SELECT NULL
INSERT INTO docs (id, nope) VALUES ('n', '{}')
INSERT INTO docs (id, id) VALUES ('n', 'm')
INSERT INTO docs (id, doc) VALUES ('n')
INSERT INTO docs (id, doc) VALUES ('n', '{}', 3)
INSERT INTO docs (id, doc) VALUES ('n', '{}'), ('m')
INSERT INTO docs (id, doc) SELECT 'n'
INSERT INTO docs (id, doc) SELECT 'n', '{}'::jsonb, 3
INSERT INTO docs (id, doc) VALUES ('n', 5)
INSERT INTO docs (id, doc) VALUES ('n', '{}'::text)
INSERT INTO docs (id, doc) SELECT 'n', id FROM docs
INSERT INTO docs (id, doc) VALUES ('n', '{')
INSERT INTO nope (id) VALUES ('n')
INSERT INTO docs (id, doc) VALUES ('n', '{}') RETURNING nope
INSERT INTO docs (id, doc) VALUES ('n', '{}') RETURNING count(*)
INSERT INTO docs (id, doc) VALUES ('n', '{}') RETURNING row_number() OVER ()
INSERT INTO docs (id, doc) VALUES ('n', '{}') RETURNING generate_series(1, 2)
INSERT INTO docs (id, doc) VALUES (count(*), '{}')
-- differs: PostgreSQL says that the table cannot be referenced from here
INSERT INTO docs (id, doc) VALUES (docs.id, '{}')
-- ON CONFLICT
BEGIN; INSERT INTO docs (id, doc) VALUES ('d00', '{}'), ('n', '{}') ON CONFLICT DO NOTHING RETURNING id; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) VALUES ('d00', '{}'), ('n', '{}') ON CONFLICT (id) DO NOTHING; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) VALUES ('n', '{"a": 1}'), ('n', '{"a": 2}') ON CONFLICT DO NOTHING RETURNING id, doc->'a'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) VALUES ('d00', '{"w": 1}'), ('n', '{"w": 2}') ON CONFLICT (id) DO UPDATE SET doc = docs.doc || excluded.doc RETURNING id, doc->'w', doc->'i'; ROLLBACK
BEGIN; INSERT INTO docs AS t (id, doc) VALUES ('d00', '{"w": 1}'), ('d01', '{"w": 2}') ON CONFLICT (id) DO UPDATE SET doc = t.doc || jsonb_build_object('w', excluded.doc->'w') WHERE t.doc->>'i' = '1' RETURNING t.id, t.doc->'w'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) VALUES ('d00', '{"w": 1}') ON CONFLICT ON CONSTRAINT docs_pkey DO UPDATE SET (doc) = (SELECT excluded.doc) RETURNING doc->'w'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) SELECT id, '{"w": 1}' FROM docs WHERE id < 'd03' ON CONFLICT (id) DO UPDATE SET doc = jsonb_set(docs.doc, '{w}', excluded.doc->'w') RETURNING id, doc->'w'; ROLLBACK
INSERT INTO docs (id, doc) VALUES ('n', '{}'), ('n', '{}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc
BEGIN; INSERT INTO docs (id, doc) VALUES ('d00', '{}'), ('d00', '{"a": 1}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc WHERE false RETURNING id; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) VALUES ('d00', '{}'), ('d00', '{"a": 1}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc WHERE excluded.doc ? 'a' RETURNING id, doc->'a'; ROLLBACK
INSERT INTO docs (id, doc) VALUES ('d00', '{}') ON CONFLICT DO UPDATE SET doc = excluded.doc
INSERT INTO docs (id, doc) VALUES ('d00', '{}') ON CONFLICT (doc) DO UPDATE SET doc = excluded.doc
INSERT INTO docs (id, doc) VALUES ('d00', '{}') ON CONFLICT (nope) DO NOTHING
INSERT INTO docs (id, doc) VALUES ('d00', '{}') ON CONFLICT ON CONSTRAINT nope DO NOTHING
INSERT INTO docs (id, doc) VALUES ('d00', '{}') ON CONFLICT (id) DO UPDATE SET doc = doc
INSERT INTO docs (id, doc) VALUES ('d00', '{}') ON CONFLICT (id) DO UPDATE SET nope = '{}'
INSERT INTO docs (id, doc) VALUES ('d00', '{}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc WHERE 5
-- differs: PostgreSQL says that the table cannot be referenced from here
INSERT INTO docs (id, doc) VALUES ('d00', '{}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc RETURNING excluded.id
-- UPDATE
BEGIN; UPDATE docs SET doc = jsonb_set(doc, '{w}', '1') WHERE id = 'd00' RETURNING id, doc->'w', doc->'i'; ROLLBACK
BEGIN; UPDATE docs SET doc = doc - 'v' WHERE id < 'd02'; SELECT id, doc ? 'v' FROM docs WHERE id < 'd03' ORDER BY id; ROLLBACK
BEGIN; UPDATE docs AS d SET doc = d.doc || '{"w": 1}' WHERE d.id IN ('d00', 'd02', 'no') RETURNING d.id; ROLLBACK
BEGIN; UPDATE docs d SET doc = d.doc || jsonb_build_object('w', x.n) FROM (VALUES ('d00', 7), ('d01', 8)) x(k, n) WHERE x.k = d.id RETURNING d.id, d.doc->'w', x.n, x.*; ROLLBACK
BEGIN; UPDATE docs d SET doc = d.doc || jsonb_build_object('w', e.doc->'i') FROM docs e WHERE d.id = 'd00' AND e.id = 'd03' RETURNING d.doc->'w', e.id; ROLLBACK
BEGIN; UPDATE docs SET doc = doc || jsonb_build_object('n', (SELECT count(*) FROM docs)) WHERE id = 'd00' RETURNING doc->'n'; ROLLBACK
BEGIN; UPDATE docs SET doc = doc || '{"w": 1}' WHERE EXISTS (SELECT FROM docs e WHERE e.id = docs.id AND e.id < 'd02'); ROLLBACK
BEGIN; WITH w AS (SELECT 'd01' AS k) UPDATE docs SET doc = doc || '{"w": 1}' FROM w WHERE id = k RETURNING id; ROLLBACK
BEGIN; UPDATE docs SET doc = '{}' WHERE id = 'no' RETURNING id; ROLLBACK
BEGIN; UPDATE docs SET doc = '{}' WHERE false; ROLLBACK
BEGIN; UPDATE docs SET (doc) = ROW (doc || '{"w": 1}') WHERE id = 'd00' RETURNING doc->'w'; ROLLBACK
BEGIN; UPDATE docs SET doc = doc || '{"w": 1}' WHERE id = 'd00'; UPDATE docs SET doc = doc || '{"x": 2}' WHERE id = 'd00' RETURNING doc->'w', doc->'x'; ROLLBACK
UPDATE docs SET nope = 1
UPDATE docs SET doc = 5
UPDATE docs SET doc = doc, doc = doc
UPDATE docs SET doc = count(*)
UPDATE docs SET doc = doc WHERE count(*) > 1
UPDATE docs SET doc = doc WHERE 5
UPDATE docs SET doc = doc FROM docs
UPDATE docs d SET doc = docs.doc
UPDATE nope SET doc = doc
UPDATE docs SET doc = doc RETURNING nope
WITH w AS (SELECT 1 AS doc) UPDATE w SET doc = 2
-- DELETE
BEGIN; DELETE FROM docs WHERE id = 'd00' RETURNING id, doc->'i'; SELECT count(*) FROM docs WHERE id = 'd00'; ROLLBACK
BEGIN; DELETE FROM docs WHERE id < 'd03'; SELECT min(id) FROM docs; ROLLBACK
BEGIN; DELETE FROM docs d USING (VALUES ('d01', 5)) x(k, n) WHERE x.k = d.id RETURNING d.id, x.n, d.doc->'v'; ROLLBACK
BEGIN; DELETE FROM docs WHERE id IN (SELECT id FROM docs ORDER BY id LIMIT 2) RETURNING id; ROLLBACK
BEGIN; DELETE FROM docs; SELECT count(*) FROM docs; INSERT INTO docs (id, doc) VALUES ('d00', '{"v": "again"}') RETURNING doc->'v'; SELECT id FROM docs; ROLLBACK
BEGIN; DELETE FROM docs WHERE id = 'no' RETURNING *; ROLLBACK
DELETE FROM docs WHERE nope
DELETE FROM docs USING docs
DELETE FROM nope
-- parameters
-- parameters: ["n", "{\"v\": 1}"]
INSERT INTO docs (id, doc) VALUES ($1, $2) RETURNING id, doc->'v'
-- parameters: ["n"]
DELETE FROM docs WHERE id = $1 RETURNING id
-- parameters: ["{\"w\": 5}", "d00"]
UPDATE docs SET doc = doc || $1 WHERE id = $2 AND false
-- parameters: ["x", "{"]
INSERT INTO docs (id, doc) SELECT $1, $2
-- prepared
PREPARE ins AS INSERT INTO docs (id, doc) VALUES ($1, $2) RETURNING id; SELECT parameter_types FROM pg_prepared_statements WHERE name = 'ins'; BEGIN; EXECUTE ins ('n', '{"v": 1}'); EXECUTE ins ('m', '{}'); ROLLBACK; DEALLOCATE ins
-- differs: null is not a document
BEGIN; INSERT INTO docs (id, doc) VALUES ('n', NULL)
ROLLBACK
PREPARE del AS DELETE FROM docs WHERE id = $1; BEGIN; EXECUTE del ('d00'); EXECUTE del ('d00'); ROLLBACK; DEALLOCATE del
-- transactions
BEGIN; INSERT INTO docs (id, doc) VALUES ('n', '{"v": 1}'); SAVEPOINT a; UPDATE docs SET doc = doc || '{"v": 2}' WHERE id = 'n'; SAVEPOINT b; DELETE FROM docs WHERE id = 'n'; ROLLBACK TO b; SELECT doc->'v' FROM docs WHERE id = 'n'; ROLLBACK TO a; SELECT doc->'v' FROM docs WHERE id = 'n'; ROLLBACK
BEGIN; SAVEPOINT a; INSERT INTO docs (id, doc) VALUES ('n', '{}'); RELEASE a; SELECT count(*) FROM docs WHERE id = 'n'; ROLLBACK
BEGIN; SAVEPOINT a; INSERT INTO docs (id, doc) VALUES ('d00', '{}')
ROLLBACK TO a; INSERT INTO docs (id, doc) VALUES ('n', '{}'); SELECT count(*) FROM docs WHERE id IN ('n', 'd00'); ROLLBACK
INSERT INTO docs (id, doc) VALUES ('n', '{}'); INSERT INTO docs (id, doc) VALUES ('d00', '{}')
SELECT count(*) FROM docs WHERE id = 'n'
INSERT INTO docs (id, doc) VALUES ('n', '{}'); SELECT count(*) FROM docs WHERE id = 'n'; DELETE FROM docs WHERE id = 'n'; SELECT count(*) FROM docs WHERE id = 'n'
BEGIN READ ONLY; INSERT INTO docs (id, doc) VALUES ('n', '{}')
ROLLBACK
BEGIN READ ONLY; UPDATE docs SET doc = doc
ROLLBACK
BEGIN; SET TRANSACTION READ ONLY; DELETE FROM docs
ROLLBACK
BEGIN READ ONLY; SET TRANSACTION READ WRITE; DELETE FROM docs WHERE id = 'no'; ROLLBACK
BEGIN READ ONLY; SELECT count(*) FROM docs WHERE false; SET TRANSACTION READ WRITE
ROLLBACK
SET default_transaction_read_only = on
SHOW transaction_read_only
DELETE FROM docs WHERE id = 'no'
BEGIN; SHOW transaction_read_only; ROLLBACK
BEGIN READ WRITE; DELETE FROM docs WHERE id = 'no'; ROLLBACK
RESET default_transaction_read_only
SHOW transaction_read_only
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; SHOW default_transaction_read_only; SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE; SHOW default_transaction_read_only
BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM docs WHERE id = 'n'; INSERT INTO docs (id, doc) VALUES ('n', '{}'); SELECT count(*) FROM docs WHERE id = 'n'; ROLLBACK
BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs ORDER BY id; FETCH 1 FROM c; DELETE FROM docs; FETCH 1 FROM c; ROLLBACK
-- locks
BEGIN; SELECT id FROM docs WHERE id < 'd02' ORDER BY id FOR UPDATE; ROLLBACK
SELECT id FROM docs WHERE id = 'd00' FOR NO KEY UPDATE OF docs NOWAIT
SELECT id FROM docs WHERE id = 'd00' FOR SHARE SKIP LOCKED
SELECT d.id FROM docs d WHERE id = 'd00' FOR UPDATE OF d
SELECT id FROM docs FOR UPDATE OF nope
SELECT DISTINCT id FROM docs FOR UPDATE
SELECT count(*) FROM docs FOR UPDATE
SELECT id FROM docs GROUP BY id FOR UPDATE
SELECT id FROM docs UNION SELECT id FROM docs FOR UPDATE
SELECT row_number() OVER () FROM docs FOR UPDATE
BEGIN READ ONLY; SELECT id FROM docs FOR UPDATE
ROLLBACK
-- Assignments of the id that a document has, as clients make them.
BEGIN; UPDATE docs SET id = 'd00', doc = jsonb_set(doc, '{w}', '1') WHERE id = 'd00' RETURNING id, doc->'w'; ROLLBACK
BEGIN; UPDATE docs SET id = id WHERE id < 'd02' RETURNING id, doc->'i'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc) VALUES ('d00', '{"w": 1}'), ('n', '{}') ON CONFLICT (id) DO UPDATE SET id = excluded.id, doc = docs.doc || excluded.doc RETURNING id, doc->'w', doc->'i'; ROLLBACK
BEGIN; INSERT INTO docs AS d (id, doc) VALUES ('d00', '{"w": 1}') ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING id, doc->'w', doc->'i'; ROLLBACK
UPDATE docs SET id = NULL WHERE id = 'd00'
UPDATE docs SET id = 1 / 0 WHERE id = 'd00'
UPDATE docs SET id = 'x', id = 'y' WHERE id = 'd00'
-- Assignments of rev by clients that write all columns.
BEGIN; INSERT INTO docs (id, rev, doc) VALUES ('n', NULL, '{"v": 1}'), ('m', DEFAULT, '{}') RETURNING id, doc->'v'; ROLLBACK
BEGIN; INSERT INTO docs (rev, id, doc) SELECT NULL, 'x' || id, '{}' FROM docs WHERE id < 'd02' ORDER BY id RETURNING id; ROLLBACK
BEGIN; INSERT INTO docs (id, rev, doc) VALUES ('d00', NULL, '{"w": 1}') ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, doc = docs.doc || excluded.doc RETURNING id, doc->'w', doc->'i'; ROLLBACK
BEGIN; UPDATE docs SET rev = rev, doc = jsonb_set(doc, '{w}', '1') WHERE id = 'd00' RETURNING id, doc->'w'; ROLLBACK
BEGIN; UPDATE docs SET id = id, rev = NULL, doc = jsonb_set(doc, '{w}', '1') WHERE id = 'd00' RETURNING id, doc->'w'; ROLLBACK
BEGIN; UPDATE docs SET (rev, id, doc) = (o.rev, o.id, '{"w": 2}') FROM docs o WHERE o.id = docs.id AND docs.id = 'd00' RETURNING docs.id, docs.doc->'w'; ROLLBACK
UPDATE docs SET rev = nope
