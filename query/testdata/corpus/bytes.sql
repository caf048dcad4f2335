-- Bounds and subscripts of arrays, binary strings and their encodings.
select (array[1,2,3])[2:3][1], (array[1,2,3])[1][1], ((array[1,2,3])[2:3])[1], (array[1,2,3])[2:3][1:1], (array[1,2])[null:1][1] is null, ('{"a":{"b":1}}'::jsonb)['a']['b']
select array_fill(7,array[2],array[5]), array_fill(7,array[3]), array_fill(null::text,array[2]), array_fill(7, array[]::int[])
select array_fill(1,array[2],null)
select array_fill(1,null)
select array_fill(1,array[2],array[1,2])
select array_fill(1,array[null::int])
select array_position(array[1,2,1],1,2), array_position(array['a',null],null), array_position(null::int[],1), array_position('[0:2]={1,2,1}'::int[],1,1)
select array_position(array[1],1,null)
select array_prepend(0,'[0:1]={1,2}'::int[]), array_prepend(0,null), array_prepend(null,array[1]), 4 || '[0:2]={1,2,3}'::int[]
select '[2:1]={}'::int[]
select '[1:0]={}'::int[]
select '[1:2]={1}'::int[]
select 'a'||array['b']
select array['b']||'a'
select '{a}'||array['b'], array['b']||'{a}', null||array['b'], array['b']||null
select 1||array['b']
select overlay('\x616263'::bytea placing '\x7a' from 2), overlay('\x616263'::bytea placing '\x7a7a' from 2 for 0), overlay('\x616263'::bytea placing '\x7a7a' from 5), overlay('\x616263'::bytea placing '\x7a7a' from 1 for 10), overlay('\x616263'::bytea placing '\x' from 2 for -1)
select overlay('\x616263'::bytea placing '\x7a' from 0)
select get_byte('\x6162'::bytea,1), set_byte('\x6162'::bytea,1,0), get_bit('\x61'::bytea,0), get_bit('\x6180'::bytea,15), set_bit('\x61'::bytea,1,1), set_bit('\x61'::bytea,0,0), set_byte('\x61'::bytea,0,300)
select get_byte('\x61'::bytea,-1)
select get_bit('\x61'::bytea,8)
select set_bit('\x61'::bytea,0,2)
select set_bit('\x61'::bytea,9,1)
select get_byte(''::bytea,0)
select trim('\x00'::bytea from '\x006100'::bytea), btrim('\x006100'::bytea,'\x00'::bytea), ltrim('\x006100'::bytea,'\x00'::bytea), rtrim('\x006100'::bytea,'\x00'::bytea), trim(leading '\x00'::bytea from '\x0061'::bytea), trim(both '\x6100'::bytea from '\x006100'::bytea)
select convert_from('\xc3a9'::bytea,'UTF8'), convert_to('é','UTF8'), convert('\xc3a9'::bytea,'UTF8','UTF8'), convert_from('\xe9'::bytea,'LATIN1'), convert_to('é','LATIN1'), convert('\xc3a9'::bytea,'UTF8','LATIN1'), convert('\xe9'::bytea,'latin1','utf-8'), convert_to('€','WIN1252'), convert_from('\xa4'::bytea,'LATIN9'), convert_from('\x61'::bytea,'SQL_ASCII'), convert_to('a','SQL_ASCII'), convert_to('ж','KOI8R'), convert_from('\xe6','ISO_8859_5'), convert_to('é', 'iso-8859-1')
select convert_to('€','LATIN1')
select convert_from('\x61'::bytea,'NOPE')
select convert_to('a','NOPE')
select convert('a','NOPE','UTF8')
select convert_from('\xff'::bytea,'UTF8')
select convert_from('\xe282'::bytea,'UTF8')
select convert_from('\xe28261'::bytea,'UTF8')
select convert_from('\xc328'::bytea,'UTF8')
select convert_from('\x6100'::bytea,'UTF8')
select convert_from('\x6100'::bytea,'LATIN1')
select convert('\xe9','LATIN1','LATIN2')
select '\x61'::bytea like '\x61', '\x6162'::bytea like '\x6125'::bytea, '\x6162'::bytea not like '\x615f'::bytea
select 'é'::bytea, E'\\x6162 6364'::bytea, '\xAbCd'::bytea, '\x'::bytea
select '\x6'::bytea
select '\xzz'::bytea
select '\x6g'::bytea
select '\x6 1'::bytea
select 'a\9'::bytea
select decode('0','hex')
select decode('zz','hex')
SELECT '\x5c25'::bytea LIKE '\x5c5c25'::bytea ESCAPE '\x5c'::bytea
SELECT 'abc'::bytea LIKE 'a%'::bytea ESCAPE '!'::bytea, 'a%'::bytea LIKE 'a!%'::bytea ESCAPE '!', 'a%c'::bytea NOT LIKE 'a!%'::bytea ESCAPE '!'
SELECT 'abc'::bytea LIKE 'a%' ESCAPE '!'
SELECT 'a\b'::bytea LIKE 'a\\b'::bytea ESCAPE ''::bytea
SELECT 'abc'::bytea LIKE 'a%'::bytea ESCAPE 'xy'::bytea
SELECT 'abc'::bytea ILIKE 'a%'::bytea
SELECT 'abc'::bytea SIMILAR TO 'a%'::bytea
SELECT 'abc' LIKE 'a%'::bytea ESCAPE '!'
SELECT 'abc'::text LIKE 'a%' ESCAPE '!'::bytea
SELECT like_escape('a!%\', '!'), like_escape('a%', ''), like_escape('é%é', 'é'), like_escape('\x01'::bytea, '\x01'::bytea)
SELECT like_escape('a', 'bc')
