-- Texts, numbers, arrays and rows, with their errors.
-- alone
SELECT 'abc' ~ 'B', 'abc' ~* 'B', 'abc' !~ 'x', 'abc' !~* 'A', 'a.c' ~ '^a\.c$', 'foo' SIMILAR TO 'f(o|x)+', 'a%c' LIKE 'a\%c', 'abc' LIKE 'a!_c' ESCAPE '!', 'ABC' ILIKE '_b%'
SELECT regexp_replace('hello world', 'o', '0'), regexp_replace('hello world', 'o', '0', 'g'), regexp_replace('Hello', '(l+)', '<\1>'), regexp_replace('abc', '(?<x>b)', 'y')
SELECT regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g'), regexp_replace('A b c', '[a-z]', '\&\&', 'gi'), regexp_replace('abcabc', 'b', 'X', 2), regexp_replace('abcabc', 'b', 'X', 1, 2), regexp_replace('abcabc', 'B', 'X', 1, 0, 'i')
SELECT regexp_match('foobarbequebaz', '(bar)(beque)'), regexp_match('abc', 'x'), regexp_match('aXb', 'x', 'i'), regexp_matches('foobar', 'o', 'g')
SELECT regexp_split_to_array('a, b,c', ',\s*'), regexp_split_to_table('a1b2c', '\d'), regexp_count('banana', 'a'), regexp_instr('banana', 'an', 1, 2), regexp_substr('banana', '(a)(n)', 1, 1, '', 2), regexp_like('Abc', '^a', 'i')
SELECT regexp_matches('a', '(')
SELECT 'a' ~ '*a', 'a' ~ '+'
SELECT 'a' ~ '[z-a]'
SELECT 'a' ~ '[[:foo:]]'
SELECT 'a' ~ 'a{2,1}'
SELECT 'a' ~ '\'
SELECT 'a' ~ 'a{1000}'
SELECT regexp_replace('a', 'a', 'b', 'q1')
SELECT regexp_match('a', 'a', 'g')
SELECT regexp_split_to_array('a', 'b', 'g')
SELECT regexp_count('a', 'a', 0)
SELECT regexp_substr('a', 'a', 1, 0)
SELECT 'a' ~ '(?=a)a', 'ab' ~ 'a(?!b)', 'ab' ~ '(?<=a)b', 'ab' ~ '\ma', 'foo bar' ~ '\yfoo\y', 'aaa' ~ '^a{2,3}?$', 'é' ~ '\w', E'a\nb' ~ 'a.b', E'a\nb' ~ '(?n)a.b', 'x' ~ '(?x) x # c'
SELECT substring('Thomas' from '...$'), substring('Thomas' similar '%#"o_a#"_' escape '#'), substring('abcdef' from 2 for 3), substring('abc' from -1 for 3), substring('abc' from 2), substring('foobar' from 'o(.)b'), substring('abc' for 2)
SELECT substring('abc' from 1 for -1)
SELECT overlay('Txxxxas' placing 'hom' from 2 for 4), overlay('abc' placing 'X' from 2), position('b' in 'abc'), trim('  a '), trim(both 'x' from 'xax'), trim(leading from ' a'), trim(trailing 'a' from 'baa'), ltrim('xya', 'yx'), btrim('aba', 'a')
SELECT overlay('abc' placing 'X' from 0)
SELECT overlay('abc' placing 1 from 2)
SELECT position(1 in 'a')
SELECT substring(5 from 1)
SELECT trim(5)
SELECT extract(year from true)
SELECT ascii('é'), chr(233), chr(0)
SELECT chr(-1)
SELECT initcap('hello wORLD foo_bar'), lower('ÀÉ'), upper('straße'), reverse('abé'), repeat('ab', 3), lpad('a', 5, 'xy'), rpad('abcdef', 3), left('abc', -1), right('abc', 2), translate('12345', '143', 'ax'), starts_with('abc', 'ab'), string_to_array('a,b,,c', ',', ''), array_to_string(array[1,NULL,3], ',', '*')
SELECT length('é'), char_length('abc'), octet_length('é'), bit_length('é'), md5('a'), sha256('a'), encode(sha224('a'), 'hex'), encode('a\000b', 'escape'), decode('YWJj', 'base64'), encode('abc'::bytea, 'base64'), to_hex(255), to_hex(-1::bigint), crc32('a')
SELECT decode('zz', 'hex')
SELECT decode('abc', 'foo')
SELECT decode('a', 'base64')
SELECT decode('abc', 'hex')
SELECT convert_from('\xff', 'UTF8')
SELECT get_byte('\x01', 5)
SELECT '\xzz'::bytea
SELECT format('%s %I %L %%', 'a', 'b c', 'd''e'), format('%2$s %1$s', 'a', 'b'), format('%-5s|%5s', 'a', 'b'), format('%*s', 4, 'x'), format('%L', NULL), format('%s', NULL), format('%I', 'select')
SELECT format('%d', 1)
SELECT format('%s')
SELECT format('%I', NULL)
SELECT format('%')
SELECT format('%0$s', 1)
SELECT concat('a', NULL, 1, true), concat_ws('-', 'a', NULL, 'b'), 'a' || NULL, 'a' || 1, 1 || 'a', quote_ident('A b'), quote_literal('it''s'), quote_literal(E'a\\b'), quote_nullable(NULL), quote_ident('select')
SELECT 1 || 2
SELECT split_part('a-b-c', '-', 2), split_part('a-b-c', '-', -1), string_to_table('a b', ' '), unistr('\0041\+01F600'), normalize('é', NFD) = 'é', 'a' IS NORMALIZED, U&'\0041', E'\u00e9\x41\101'
SELECT split_part('a', '-', 0)
SELECT unistr('\zz')
SELECT parse_ident('"A b".c'), parse_ident('a..b')
SELECT 1 / 0
SELECT 1.0 / 0
SELECT 1 % 0
SELECT 1::float8 / 0
SELECT 2147483647 + 1
SELECT (-2147483648)::int / -1
SELECT -32768::int2
SELECT 32767::int2 + 1::int2
SELECT 9223372036854775807 + 1
SELECT 9223372036854775808, -9223372036854775808, 1e1000::numeric(1001) IS NULL
SELECT 1e400::float8
SELECT '1e-400'::float8
SELECT 1e38::float4 * 10
SELECT 'abc'::numeric
SELECT '1_000'::int
SELECT ' 42 '::int, '+5'::int, '-0'::float8, '0x1F'::text, '1e3'::numeric, '.5'::numeric, '5.'::float8, 'Infinity'::float8, '-inf'::float8, 'nan'::numeric, 'inf'::numeric
SELECT ''::int
SELECT '1.5'::int
SELECT 1.5::int, 2.5::int, -1.5::int, 2.5::float8::int, 1e10::int8, 0.5::numeric(3,1), 123.456::numeric(5,2), 99.995::numeric(4,2)
SELECT 123.456::numeric(4,2)
SELECT 1e10::int
SELECT 'NaN'::float8::int
SELECT 'infinity'::numeric::int
SELECT 123.456::numeric(5,-1), 0.00123::numeric(3,5), 1::numeric(1001)
SELECT round(2.5), round(-2.5), round(2.567, 2), round(1234.5, -2), trunc(2.567, 1), trunc(-2.5), ceil(-1.5), floor(-1.5), round(2.5::float8), sign(-3.2), abs(-3), mod(7, 3), div(7, 2), gcd(12, 18), lcm(4, 6), factorial(5), width_bucket(5, 0, 10, 4), scale(1.230), min_scale(1.230), trim_scale(1.230)
SELECT sqrt(-1)
SELECT ln(0)
SELECT log(-1::numeric)
SELECT power(0, -1)
SELECT factorial(-1)
SELECT width_bucket(5, 0, 0, 4)
SELECT width_bucket(5, array[1,3,6]), width_bucket(15.5, 0, 10, 4), width_bucket(-1, 0, 10, 4), asin(1), acos(0), atan(1), atan2(1, 1), sin(0), cos(0), sind(30), cosd(60), tand(45), asind(0.5), cot(1) > 0
SELECT asin(2)
SELECT 0.1 + 0.2, 0.1::float8 + 0.2::float8, 1/3.0, 10::numeric/3, 1e-20::numeric * 1e-20, 123456789012345678901234567890 * 987654321, 1.10 + 1.1, 2.0 * 3.00, 7.0 % 2.5, -7.5 % 2
SELECT 'NaN'::float8 = 'NaN', 'NaN'::numeric > 1e100, 'infinity'::numeric - 'infinity', 'infinity'::float8 * 0, -'NaN'::float8, 0::float8 = '-0', 1 = 1.0, 1::int2 = 1::int8, 1.5::float4 = 1.5, 0.1::float4 = 0.1
SELECT num_nulls(1, NULL, 2), num_nonnulls(VARIADIC array[1,NULL]), 1 IN (1,2,NULL), 3 IN (1,NULL), 3 NOT IN (1,2), NULL IS NULL, NULL = NULL, true AND NULL, false AND NULL, NOT NULL::bool, 1 BETWEEN 0 AND 2, 1 IS DISTINCT FROM NULL, true IS NOT TRUE, NULL::bool IS UNKNOWN
SELECT greatest(1, NULL, 3), least('b', 'a'), coalesce(NULL, 2), nullif(1, 1), CASE WHEN NULL THEN 1 ELSE 2 END, CASE 1 WHEN 1.0 THEN 'x' END, greatest(1, 2.5), least(NULL, NULL)
SELECT coalesce(1, 'x')
SELECT CASE WHEN true THEN 1 ELSE 'x' END
SELECT CASE WHEN 1 THEN 2 END
SELECT greatest(1, 'a'::text)
SELECT 1 = 'x'
SELECT 1 = 'x'::text
SELECT true + 1
SELECT true = 1
SELECT 'a' = true
SELECT true::int, 1::bool, 't'::bool, 'yes'::bool, 'off'::bool, true::text, 0::bool, 'TRUE'::bool
SELECT 'maybe'::bool
SELECT 1.5::bool
SELECT NOT 1
SELECT 1 AND true
SELECT 1 WHERE 'x'
SELECT array[1,2,3][2], array[1,2,3][1:2], (array[1,2,3])[-1], array[1,2] || 3, 0 || array[1], array[1] || array[2,3], array[1,2] = array[1,2], array[1,2] < array[1,3], array[1,2] @> array[1], array[1] <@ array[1,2], array[1,2] && array[2,3], '{}'::int[] = array[]::int[]
SELECT array_length(array[1,2], 1), array_upper(array[1,2], 1), array_lower(array[1], 1), cardinality(array[1,2]), array_position(array['a','b'], 'b'), array_positions(array[1,2,1], 1), array_remove(array[1,2,1], 1), array_replace(array[1,2], 2, 5), array_append(array[1], 2), array_prepend(0, array[1]), array_cat(array[1], array[2]), array_ndims(array[1]), array_fill(7, array[3]), trim_array(array[1,2,3], 1), array_dims(array[1,2])
SELECT array[1,'x']
SELECT array[1,2.5,NULL], array['a',NULL], array[]::text[], '{a,"b c",NULL,"NULL"}'::text[], '{1,2}'::int[], array[true,false], array[date '2024-01-01'], array['{"a":1}'::jsonb], array[1,2]::text[], '{"a,b","c\"d"}'::text[]
SELECT array[]
SELECT '{1,2'::int[]
SELECT '{1,x}'::int[]
SELECT '1,2'::int[]
SELECT '{1,2}x'::int[]
SELECT '[2:3]={1,2}'::int[]
SELECT 1 = ANY(array[1,2]), 3 > ALL(array[1,2]), 'a' LIKE ANY(array['a%','b']), 1 <> ANY('{1,1}'), NULL = ANY(array[1]), 1 = ANY('{}'::int[]), 1 = ALL('{}'::int[])
SELECT 1 = ANY(5)
SELECT 1 = ANY('x')
SELECT 1 = ANY(array['a'])
SELECT unnest(array[1,2]), unnest(array['a','b','c'])
SELECT * FROM unnest(array[1,2], array['a','b','c']) AS t(x, y)
SELECT * FROM unnest(array[1,2]) WITH ORDINALITY
SELECT * FROM ROWS FROM (generate_series(1,2), unnest(array['a','b','c'])) AS t(a, b)
SELECT (row(1,'a')).f1
SELECT row(1,'a'), (1,2) = (1,2), (1,2) < (1,3), (1,NULL) = (1,2), row(1,2) IS NULL, row(NULL,NULL) IS NULL, (1,NULL) IS NOT NULL, (1,2) IN ((1,2),(3,4)), row(1,row(2,3))
SELECT (1,2) = (1,2,3)
SELECT row(1) = row('x')
SELECT '6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid, '{6BA7B8109DAD11D180B400C04FD430C8}'::uuid, gen_random_uuid() IS NOT NULL, length(gen_random_uuid()::text)
SELECT 'xyz'::uuid
SELECT 'a'::char, 'abc'::char(2), 'abc'::varchar(2), 'a '::char(3) = 'a', length('a '::char(3)), 'abc'::"char", 'abc'::name, 'a'::bpchar || 'b', char 'x', 'abcdef'::varchar(3)::text
SELECT 'x'::varchar(0)
SELECT 'x'::text(5)
SELECT 'x'::nosuch
SELECT 'x'::int(5)
SELECT 1::varchar(0)
SELECT nosuch(1)
SELECT upper(1)
SELECT upper()
SELECT upper('a', 'b')
SELECT lower(NULL), abs(NULL), length(NULL), now(1)
SELECT nosuch FROM docs
SELECT docs.nosuch FROM docs
SELECT d.id FROM docs
SELECT * FROM nosuch
SELECT * FROM nosuch.docs
SELECT * FROM public.docs, docs
SELECT id FROM docs a, docs b
SELECT * FROM docs a JOIN docs b USING (nosuch)
SELECT * FROM docs a JOIN docs b ON a.id
SELECT a.id FROM docs a JOIN docs b ON a.id = b.id AND b.doc->>'city' = 'Oslo' ORDER BY a.id LIMIT 2
SELECT count(*) FROM docs a LEFT JOIN docs b ON a.doc->'i' = b.doc->'qty' WHERE b.id IS NULL
SELECT id FROM docs WHERE id IN (SELECT id FROM by.v WHERE value > '40')
SELECT (SELECT count(*) FROM by.v WHERE v.id = d.id) FROM docs d ORDER BY id LIMIT 2
SELECT (SELECT id FROM docs)
SELECT (SELECT 1, 2)
SELECT 1 IN (SELECT 1, 2)
SELECT EXISTS (SELECT 1 FROM docs WHERE id = 'nope'), NOT EXISTS (SELECT), ARRAY(SELECT id FROM docs ORDER BY id LIMIT 2), (SELECT max(id) FROM docs)
SELECT id FROM docs ORDER BY nosuch
SELECT id FROM docs ORDER BY 5
SELECT id FROM docs GROUP BY 2
SELECT id FROM docs LIMIT -1
SELECT id FROM docs LIMIT 'x'
SELECT id FROM docs LIMIT 1.5
SELECT id FROM docs LIMIT NULL OFFSET 41
SELECT id FROM docs OFFSET -1
SELECT id FROM docs WHERE
SELECT FROM WHERE
SELEC 1
SELECT 1 FORM docs
SELECT * FROM docs WHERE id = 'd01
SELECT (1
SELECT 1)
SELECT 'a' 'b'
SELECT "id" FROM "docs" WHERE "id" = "d01"
SELECT 1 AS select
SELECT 1 select
SELECT $1
SELECT 1;; SELECT 2
