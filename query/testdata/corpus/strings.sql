-- Characters and binary strings.
SELECT chr(65), chr(233), chr(128512), ascii('é'), ascii('')
SELECT chr(0)
SELECT chr(-1)
SELECT chr(1114112)
SELECT chr(55296)
SELECT encode('\x000102ff'::bytea, 'hex'), encode('hello world'::bytea, 'base64'), encode('\x00415cff'::bytea, 'escape'), decode('68656c6c6f', 'hex'), decode('aGVsbG8=', 'base64'), decode('a\\b\001', 'escape'), encode(repeat('x', 70)::bytea, 'base64'), decode('6 8', 'hex')
SELECT encode('a'::bytea, 'foo')
SELECT decode('6', 'hex')
SELECT decode('zz', 'hex')
SELECT decode('a', 'base64')
SELECT decode('!!!!', 'base64')
SELECT sha256('abc'::bytea), sha224(''::bytea), sha512('abc'::bytea), sha384('abc'), md5('abc'), md5('abc'::bytea), encode(sha256('abc'), 'hex')
SELECT length('\x0102'::bytea), octet_length('\x0102'::bytea), bit_length('abc'), bit_length('\x01'::bytea), octet_length('é'), get_byte('\x0102'::bytea, 1), convert_to('é', 'UTF8'), convert_from('\xc3a9', 'UTF8')
SELECT get_byte('\x0102'::bytea, 2)
SELECT convert_from('\xff', 'UTF8')
SELECT length(gen_random_uuid()::text), pg_typeof(gen_random_uuid()), gen_random_uuid() <> gen_random_uuid(), substr(gen_random_uuid()::text, 15, 1)
SELECT format('Hello %s', 'World'), format('%I %L %%', 'a b', 'it''s'), format('%2$s %1$s', 'a', 'b'), format('|%10s|%-10s|', 'x', 'y'), format('%s', NULL), format('%L', NULL), format('|%*s|', 5, 'a'), format('%s %s', 1, true), format('none')
SELECT format('%I', NULL)
SELECT format('%s')
SELECT format('%x', 1)
SELECT format('%1$s %s', 'a', 'b'), format('%s', ARRAY[1,2]), format('|%-*s|', 4, 'a')
SELECT overlay('Txxxxas' placing 'hom' from 2 for 4), overlay('abcdef' placing 'XX' from 3), overlay('abc' placing 'X' from 10)
SELECT overlay('abc' placing 'X' from 0)
SELECT quote_nullable(NULL), quote_nullable('a''b'), quote_nullable(1), quote_literal(E'a\\b'), quote_ident('A b'), quote_ident('select')
SELECT string_to_array('a,b,,c', ','), string_to_array('a,b,N', ',', 'N'), string_to_array('abc', NULL), string_to_array('abc', ''), string_to_array('', ','), array_to_string(ARRAY['a', NULL, 'b'], ',', '*')
SELECT left('abc', -1), right('abc', -1), lpad('a', 3, 'xy'), rpad('abc', 2), split_part('a,b,c', ',', 2), split_part('a,b,c', ',', -1), reverse('abc'), initcap('hello wORLD'), translate('abc', 'ab', 'x'), strpos('abc', 'c'), position('b' in 'abc'), starts_with('abc', 'ab'), 'abc' ^@ 'ab', repeat('ab', 2), concat('a', NULL, 1), concat_ws('-', 'a', NULL, 'b')
SELECT split_part('a,b', ',', 0)
SELECT trim(both 'x' from 'xaxx'), ltrim('  a'), rtrim('a  '), btrim('xyaxy', 'xy'), trim(leading from '  a'), upper('é'), lower('É'), length('é'), char_length('abc')
SELECT substring('abcdef' from 2 for 3), substr('abc', 0, 2), substring('abc', -1, 3)
SELECT substr('abc', 1, -1)
SELECT unistr('\0041\+000042'), string_to_table('a,b', ',')
SELECT array_positions(ARRAY[1, 2, 1], 1), array_replace(ARRAY[1, 2], 1, 9), array_prepend(0, ARRAY[1]), trim_array(ARRAY[1, 2, 3], 1), array_dims(ARRAY[1, 2]), array_ndims(ARRAY[1]), array_fill(7, ARRAY[3]), array_position(ARRAY['a', 'b'], 'b'), array_remove(ARRAY[1, NULL, 2], NULL), cardinality(ARRAY[1, 2]), array_upper(ARRAY[1, 2], 1)
-- trailing blanks of char(n) are ignored
SELECT 'a '::char(3) = 'a', 'a'::char(3) = 'a  '::text, 'a'::char(3) < 'b', 'a'::char(3) <> 'a  '
SELECT substring('\x010203'::bytea from 2 for 1), substr('\x010203'::bytea, 0, 2), substr('\x010203'::bytea, 5)
SELECT position('\x02'::bytea in '\x0102'::bytea), set_byte('\x00',0,5), bit_count('\xff'::bytea)
SELECT substring('\x0102'::bytea from 1 for -1)
SELECT set_byte('\x00',1,5)
-- constants keep the modifier of their type
SELECT '1.5'::numeric(5,2), 'abc'::varchar(5), 1.23456::numeric(10,3), cast('x' as char(4))
SELECT array[]::int[], cast(array[] as text[]), array[1] || array[]::int[], 1 = ANY(array[]::int[])
SELECT array[]
-- Unicode's normal forms.
SELECT normalize(U&'\0061\0308bc', NFC) = U&'\00E4bc', length(normalize(U&'\00E4bc', NFD)), normalize(U&'\FB01\2460', NFKC), normalize(null), normalize('', nfkd)
SELECT U&'\0061\0308' IS NORMALIZED, U&'\0061\0308' IS NFD NORMALIZED, U&'\00E4' IS NOT NFKD NORMALIZED, NULL IS NORMALIZED
SELECT normalize(id) = id FROM docs WHERE id < 'd03' ORDER BY 1
SELECT normalize('a', 'NFC')
SELECT normalize('a', nope)
-- Pattern matching does not ignore the trailing blanks of a char(n).
SELECT octet_length('ab'::char(5))
SELECT 'ab'::char(5) LIKE 'ab'
SELECT length('ab'::char(5)), 'ab'::char(5) LIKE 'ab%', 'ab'::char(5) || 'x', 'ab   '::char(5) = 'ab'
-- ORDER BY ... USING
SELECT x FROM (VALUES (2),(1),(3)) v(x) ORDER BY x USING <
SELECT x FROM (VALUES (2),(1),(3)) v(x) ORDER BY x USING >
SELECT x FROM (VALUES (2),(1),(3)) v(x) ORDER BY x USING =
SELECT x FROM (VALUES (2),(1),(3)) v(x) ORDER BY x USING <=
SELECT x FROM (VALUES (2),(1),(3)) v(x) ORDER BY x USING +
SELECT x FROM (VALUES (2),(1),(3)) v(x) ORDER BY x USING ~<~
SELECT x FROM (VALUES ('b'),('a'),('C')) v(x) ORDER BY x USING ~<~
SELECT x FROM (VALUES ('b'),('a'),('C')) v(x) ORDER BY x USING ~>~
SELECT x FROM (VALUES ('b'),('a'),('C')) v(x) ORDER BY x USING ~<=~
SELECT x FROM (VALUES (2),(1),(3)) v(x) ORDER BY x USING OPERATOR(pg_catalog.<)
SELECT x FROM (VALUES (2),(1),(3)) v(x) ORDER BY x USING OPERATOR(pg_catalog.>) NULLS LAST
SELECT x FROM (VALUES (2),(1),(NULL)) v(x) ORDER BY x USING > NULLS LAST
SELECT x FROM (VALUES (2),(1),(NULL)) v(x) ORDER BY x USING >
SELECT x FROM (VALUES (2),(1),(NULL)) v(x) ORDER BY x USING < NULLS FIRST
SELECT x FROM (VALUES (2),(1),(NULL)) v(x) ORDER BY x USING <>
SELECT x FROM (VALUES (2),(1),(NULL)) v(x) ORDER BY x USING @@@
SELECT array_agg(x ORDER BY x USING >) FROM (VALUES (2),(1),(3)) v(x)
SELECT row_number() OVER (ORDER BY x USING >), x FROM (VALUES (2),(1),(3)) v(x)
SELECT x FROM (VALUES ('{"a":1}'::jsonb),('1')) v(x) ORDER BY x USING >
SELECT x FROM (VALUES ('{"a":1}'::json),('1')) v(x) ORDER BY x USING >
SELECT x FROM (VALUES ('b '::bpchar),('a')) v(x) ORDER BY x USING ~>~
SELECT x FROM (VALUES (ARRAY[1]),(ARRAY[2])) v(x) ORDER BY x USING >
SELECT DISTINCT ON (x) x FROM (VALUES (2),(1),(3)) v(x) ORDER BY x USING >
-- Names in a text, and base64.
SELECT parse_ident('a."B c".D'), parse_ident('"a""b"'), parse_ident('a.b(int)', false), parse_ident(' a . b ')
SELECT parse_ident('a.')
SELECT parse_ident('.a')
SELECT parse_ident('1a')
SELECT parse_ident('"a')
SELECT parse_ident('""')
SELECT parse_ident('a b')
SELECT parse_ident('')
SELECT parse_ident('a.1')
SELECT parse_ident('a!')
SELECT decode('=', 'base64')
SELECT decode('AA=', 'base64')
SELECT decode('AAA', 'base64')
SELECT decode('A=AA', 'base64')
SELECT decode('AAAA=', 'base64')
SELECT decode('AA==', 'base64'), decode('AAA=', 'base64'), decode('', 'base64')
SELECT 'a' ~<~ 'b', 'a'::bpchar ~>=~ 'b', 'a'::name ~>~ 'b'
SELECT 1 ~<~ 2
-- More of the same, together.
SELECT 'abc' < 'abd', 'a' || 'b' = 'ab', 'abc' BETWEEN 'abb' AND 'abd', '10' < '9', '10' < 9, 'a'::name < 'b'::text, 'A' ILIKE 'a', 'a\b' LIKE 'a\\b', 'abc' LIKE 'a%c' AND NOT 'abc' LIKE 'a_', '' LIKE '', 'é' LIKE '_', 'abc' SIMILAR TO 'a(b|c)*', 'abc' NOT SIMILAR TO '_'
SELECT format('%1$s-%1$s', 'a'), format('%s', ARRAY[1,2]), format('%s', ROW(1,2)), format('%L', ARRAY['a']), format('%I', 'select'), format('%5s', 'é'), format('%-5s|', NULL), format('%s %s', 1, 2.50), format('%s', true), format('%s', '2020-01-01'::date), format('%L', E'a\\b')
SELECT get_byte('\x01', 5)
SELECT convert_from('\xff', 'UTF8')
SELECT convert_from('\xff', 'nope')
SELECT lpad('abc', 5, ''), lpad('abc', 0), rpad('a', 3, 'é'), left('abc', 0), right('abc', -5), substr('abc', 5), repeat('', 5), translate('abc', 'abc', ''), translate('aab', 'a', 'xy'), split_part('abc', '', 1), split_part('a.b', '.', 3), strpos('abc', ''), position('' in 'a'), replace('abc', '', 'x'), overlay('abc' placing 'XY' from 2 for 1), btrim('  a  '), concat_ws(NULL, 'a'), concat_ws('-', ARRAY[1,2], 'b'), reverse(''), ascii('a'), chr(97), initcap('a1b c_d')
SELECT substr('abc', 1, -1)
SELECT lpad('a', 2147483647)
SELECT DISTINCT ON (doc->'key'->0) doc->'key'->0, id FROM docs ORDER BY doc->'key'->0, id DESC
SELECT count(*) FROM docs WHERE doc->>'v' IS NULL OR doc->'v' = 'null'
SELECT id FROM docs ORDER BY doc->>'v' COLLATE "C" NULLS FIRST, id LIMIT 5
-- differs: the first value that is no number is found in another order, as a view is read
SELECT sum((doc->>'v')::numeric) FROM docs
SELECT parse_ident('ÅÄö ß', false), parse_ident('ÅÄö.Abc'), parse_ident('ABC."ÅB".Éc')
