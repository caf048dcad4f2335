-- Assignments to parts of a document.
-- alone
BEGIN; UPDATE docs SET doc['w'] = '1' WHERE id < 'd02' RETURNING id, doc->'w', doc->'i'; ROLLBACK
BEGIN; UPDATE docs SET doc['nested']['v'] = '"x"' WHERE id = 'd00' RETURNING doc->'nested'; ROLLBACK
BEGIN; UPDATE docs SET doc['a']['b']['c'] = '{"d": [1]}' WHERE id = 'd00' RETURNING doc->'a'; ROLLBACK
BEGIN; UPDATE docs SET doc['key'][0] = '1', doc['key'][1] = '2', doc['city'] = to_jsonb(id) WHERE id = 'd01' RETURNING doc->'key', doc->'city'; ROLLBACK
BEGIN; UPDATE docs SET doc['key'][-1] = '9' WHERE id = 'd01' RETURNING doc->'key'; ROLLBACK
BEGIN; UPDATE docs SET doc['key'][4] = '9' WHERE id = 'd01' RETURNING doc->'key'; ROLLBACK
BEGIN; UPDATE docs SET doc['key']['2'] = '9' WHERE id = 'd01' RETURNING doc->'key'; ROLLBACK
BEGIN; UPDATE docs SET doc['key'][' +2'] = '9' WHERE id = 'd01' RETURNING doc->'key'; ROLLBACK
UPDATE docs SET doc['key'][-3] = '9' WHERE id = 'd01'
UPDATE docs SET doc['key']['x'] = '9' WHERE id = 'd01'
UPDATE docs SET doc['key']['1 '] = '9' WHERE id = 'd01'
UPDATE docs SET doc['key'][3000000000] = '9' WHERE id = 'd01'
UPDATE docs SET doc['key']['3000000000'] = '9' WHERE id = 'd01'
UPDATE docs SET doc['i']['x'] = '9' WHERE id = 'd01'
UPDATE docs SET doc['i'][0] = '9' WHERE id = 'd01'
BEGIN; UPDATE docs SET doc['x'][3][-2]['5'] = '1' WHERE id = 'd01' RETURNING doc->'x'; ROLLBACK
BEGIN; UPDATE docs SET doc['x']['1 ']['-']['+2'] = '1' WHERE id = 'd01' RETURNING doc->'x'; ROLLBACK
BEGIN; UPDATE docs SET doc['items'][3]['n'] = '1' WHERE id = 'd01' RETURNING (doc->'items')::text; ROLLBACK
BEGIN; UPDATE docs SET doc['items'][1]['n'] = doc['items'][0] WHERE id = 'd01' RETURNING (doc->'items')::text; ROLLBACK
BEGIN; UPDATE docs SET doc['tags'][0] = '1' WHERE id < 'd03' RETURNING id, doc->'tags'; ROLLBACK
UPDATE docs SET doc['tags'][0] = '1' WHERE id = 'd03'
BEGIN; UPDATE docs SET doc['x'] = NULL WHERE id = 'd01' RETURNING doc->'x'; ROLLBACK
BEGIN; UPDATE docs SET doc['x'] = NULL::text::jsonb WHERE id = 'd01' RETURNING doc->'x'; ROLLBACK
BEGIN; UPDATE docs SET doc['x'] = '{"a": 1}'::json WHERE id = 'd01' RETURNING doc->'x'; ROLLBACK
BEGIN; UPDATE docs SET doc[id][doc->>'city'] = doc['i'] WHERE id < 'd02' RETURNING doc->id; ROLLBACK
BEGIN; UPDATE docs SET doc[(SELECT 'x')] = (SELECT '3'::jsonb) WHERE id = 'd01' RETURNING doc->'x'; ROLLBACK
BEGIN; UPDATE docs SET (doc['x'], doc['y']) = ('1', '2') WHERE id = 'd01' RETURNING doc->'x', doc->'y'; ROLLBACK
BEGIN; UPDATE docs d SET doc['x'] = v.x FROM (VALUES ('d00', '5'::jsonb), ('d02', '6')) v(k, x) WHERE d.id = k RETURNING id, doc->'x'; ROLLBACK
BEGIN; UPDATE docs SET doc['x'] = '{}', doc['x']['y'] = '1' WHERE id = 'd01' RETURNING doc->'x'; ROLLBACK
UPDATE docs SET doc['x'] = '{}', doc = '{}'
UPDATE docs SET doc = '{}', doc['x'] = '{}'
UPDATE docs SET doc[NULL] = '1'
UPDATE docs SET doc['a'][NULL::int] = '1'
UPDATE docs SET doc[1:2] = '1'
UPDATE docs SET doc['a'][:2] = '1'
UPDATE docs SET doc[:] = '1'
UPDATE docs SET doc['a'][1.5] = '1'
UPDATE docs SET doc[true] = '1'
UPDATE docs SET doc['x'] = 1
UPDATE docs SET doc['x'] = id
UPDATE docs SET doc['x'] = row(1, 2)
UPDATE docs SET doc['x'] = 'no json'
UPDATE docs SET doc['x'] = DEFAULT
UPDATE docs SET doc['x'] = nope
UPDATE docs SET doc[nope] = '1'
UPDATE docs SET doc[count(*)] = '1'
UPDATE docs SET doc.x = '1'
UPDATE docs SET doc['x'].y = '1'
UPDATE docs SET id['x'] = '1'
UPDATE docs SET id.x = '1'
UPDATE docs SET nope['x'] = '1'
BEGIN; INSERT INTO docs (id, doc['a'], doc['b'][2]) VALUES ('n', '1', '{"x": 2}') RETURNING doc->'a', doc->'b'; ROLLBACK
BEGIN; INSERT INTO docs (doc['b'][2], id, doc['a']) VALUES ('1', 'n', '2'), ('3', 'm', '4') RETURNING id, doc->'a', doc->'b'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc['a']['b'], doc['a']['c']) SELECT id || 'x', doc->'i', '7' FROM docs WHERE id < 'd02' RETURNING id, doc->'a'; ROLLBACK
BEGIN; INSERT INTO docs (doc['a'], id) WITH w AS (SELECT 'y' AS k) SELECT '{"json": 1}'::json, k FROM w UNION ALL SELECT '2', 'z' ORDER BY 2 RETURNING id, doc->'a'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc['a']) VALUES ('d00', '7') ON CONFLICT (id) DO UPDATE SET doc['z']['y'] = excluded.doc->'a', doc['key'][0] = docs.doc->'i' WHERE docs.doc['i'] = '0' RETURNING doc->'z', doc->'key', doc->'a'; ROLLBACK
BEGIN; INSERT INTO docs (id, doc['a'], doc['a']) VALUES ('n', '1', '2') RETURNING doc->'a'; ROLLBACK
INSERT INTO docs (id, doc['a'], doc) VALUES ('n', '1', '2')
INSERT INTO docs (id, doc, doc['a']) VALUES ('n', '1', '2')
INSERT INTO docs (id, id['a']) VALUES ('n', '1')
INSERT INTO docs (id, doc[1:2]) VALUES ('n', '1')
INSERT INTO docs (id, doc['a']) VALUES ('n', 1)
INSERT INTO docs (id, doc['a']) VALUES ('n', DEFAULT)
INSERT INTO docs (id, doc['a']) SELECT 'n', 1
INSERT INTO docs (id, doc['a']) SELECT 'n', '{'
INSERT INTO docs (id, doc['a'], doc['b']) VALUES ('n', '1')
INSERT INTO docs (id, doc['a']) VALUES ('n', '1', '2')
INSERT INTO docs (id, doc[NULL]) VALUES ('n', '1')
INSERT INTO docs (id, doc[nope]) VALUES ('n', '1')
-- parameters: ["q", "7", "d01"]
UPDATE docs SET doc[$1] = $2 WHERE id = $3 AND false
SELECT doc['key'][1:2] FROM docs
SELECT doc['key']['x'][:2] FROM docs
SELECT (doc)['key'][0:] FROM docs
SELECT jsonb_set('[1]', '{"0 "}', '3')
SELECT jsonb_set('[1]', '{" 0"}', '3')
