-- Relations whose aliases hide their names.
SELECT pg_class.relname FROM pg_class c LIMIT 1
SELECT pg_class.relname FROM pg_catalog.pg_class c LIMIT 1
SELECT columns.table_name FROM information_schema.columns c LIMIT 1
SELECT docs.id FROM docs d
SELECT docs.id FROM public.docs d
SELECT public.docs.id FROM docs d
SELECT docs.* FROM docs d
SELECT nope.* FROM docs d
SELECT d.id FROM docs d WHERE EXISTS (SELECT FROM docs e WHERE docs.id = e.id)
WITH w AS (SELECT 1 x) SELECT w.x FROM w v
WITH RECURSIVE w(x) AS (SELECT 1 UNION ALL SELECT w.x + 1 FROM w v) SELECT x FROM w
INSERT INTO docs AS d (id, doc) VALUES ('a', '{}') ON CONFLICT (id) DO UPDATE SET doc = docs.doc
INSERT INTO docs AS d (id, doc) VALUES ('a', '{}') RETURNING docs.id
INSERT INTO docs (id, doc) VALUES ('a', '{}') ON CONFLICT (id) DO UPDATE SET doc = exclude.doc
INSERT INTO docs (id, doc) VALUES ('a', '{}') RETURNING excluded.doc
UPDATE docs d SET doc = '{}' WHERE docs.id = 'a'
UPDATE docs d SET doc = '{}' RETURNING docs.id
UPDATE docs SET doc = excluded.doc
DELETE FROM docs d WHERE docs.id = 'a'
-- The name of another database.
INSERT INTO nope.public.docs (id, doc) VALUES ('a', '{}')
UPDATE nope.public.docs SET doc = '{}'
DELETE FROM nope.public.docs
INSERT INTO a.b.c.docs (id, doc) VALUES ('a', '{}')
SELECT 1 FROM a.b.c.docs
