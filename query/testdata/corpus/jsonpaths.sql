-- alone
-- A path is read only as far as the value goes.
SELECT '{}'::jsonb #- '{a,b,NULL}', jsonb_set('{}', '{a,b,NULL}', '1', false), jsonb_insert('{}', '{a,b,NULL}', '1'), jsonb_set_lax('{}', '{a,b,NULL}', '1', false), '{}'::jsonb #- '{NULL}', jsonb_set('{}','{NULL}','1',false), jsonb_set('[]','{NULL}','1',false), jsonb_set('{"b":1}', '{a,NULL}', '1'), jsonb_set('[]', '{a}', '1', false), '[]'::jsonb #- '{a}', jsonb_set('{"a":[7]}', '{a,5,NULL}', '1')
SELECT jsonb_set('{"a":1}', '{a,NULL}', '1', false)
SELECT jsonb_set('{"a":{}}', '{a,NULL}', '1', false)
SELECT jsonb_set('[]', '{NULL}', '1')
SELECT jsonb_set('[]', '{a}', '1')
SELECT jsonb_set('{"a":[]}', '{a,b}', '1', false)
SELECT jsonb_insert('[]', '{a}', '1')
SELECT jsonb_insert('{}', '{NULL}', '1')
SELECT '[[]]'::jsonb #- '{0,a}'
SELECT '{"a":[1]}'::jsonb #- '{a,NULL}'
SELECT jsonb_set('1', '{a,NULL}', '1')
SELECT jsonb_set('" "', '{a}', '1', false)
SELECT array_position('{}'::int[], 1, null), array_position(null::int[], 1, null), array_position('{1}'::int[], null, null)
SELECT array_position('{1}'::int[], 1, null)
