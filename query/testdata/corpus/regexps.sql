-- Functions of regular expressions.
SELECT regexp_match('foobarbequebaz', 'bar.*que'), regexp_match('foobarbequebaz', '(bar)(beque)'), regexp_match('abc', 'x'), regexp_match('aBc', 'b', 'i'), regexp_match('abc', '(x)?b'), regexp_match('abc', 'a|ab'), regexp_match('abcabc', '.*?c')
SELECT regexp_matches('foobarbequebazilbarfbonk', '(b[^b]+)(b[^b]+)', 'g')
SELECT regexp_matches('foo', 'x')
SELECT regexp_matches('abab', 'a')
SELECT m[1] FROM regexp_matches('a1b2c3', '[a-z](\d)', 'g') m
SELECT regexp_match('abc', 'a', 'g')
-- differs: what is wrong is said in other words
SELECT regexp_match('abc', '(')
SELECT regexp_match('abc', 'a', 'z')
SELECT regexp_count('ABCABCAXYaxy', 'A.'), regexp_count('ABCABCAXYaxy', 'A.', 1, 'i'), regexp_count('abcabc', 'b', 3), regexp_count('abc', ''), regexp_count('abc', 'x'), regexp_count('aaa', 'a', 99)
SELECT regexp_count('abc', 'b', 0)
SELECT regexp_count('abc', 'b', 1, 'g')
SELECT regexp_instr('number of your street, town zip, FR', '[^,]+', 1, 2), regexp_instr('ABCDEFGHI', '(c..)(...)', 1, 1, 0, 'i', 2), regexp_instr('abcabc', 'b'), regexp_instr('abcabc', 'b', 3), regexp_instr('abcabc', 'b', 1, 2, 1), regexp_instr('abc', 'x'), regexp_instr('éab', 'b')
SELECT regexp_instr('abc', 'b', 1, 0)
SELECT regexp_instr('abc', 'b', 1, 1, 2)
SELECT regexp_instr('abc', 'b', 1, 1, 0, 'i', -1)
SELECT regexp_like('Hello World', 'world$', 'i'), regexp_like('Hello World', 'world$'), regexp_like('abc', '^b')
SELECT regexp_substr('number of your street, town zip, FR', '[^,]+', 1, 2), regexp_substr('ABCDEFGHI', '(c..)(...)', 1, 1, 'i', 2), regexp_substr('abc', 'x'), regexp_substr('abcabc', 'b.', 3), regexp_substr('abc', '(x)?b', 1, 1, '', 1)
SELECT regexp_substr('abc', 'b', 1, 1, 'g')
SELECT regexp_split_to_array('hello world', '\s+'), regexp_split_to_array('abc', ''), regexp_split_to_array('aXbxc', 'x', 'i'), regexp_split_to_array('abc', 'x'), regexp_split_to_array('', 'x'), regexp_split_to_array(',a,,b,', ',')
SELECT regexp_split_to_table('hello world again', '\s+')
SELECT regexp_split_to_table('aXbxc', 'x', 'i') AS part
SELECT regexp_split_to_array('a', 'b', 'g')
SELECT regexp_replace('foobarbaz', 'b..', 'X'), regexp_replace('foobarbaz', 'b..', 'X', 'g'), regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g'), regexp_replace('abc', 'B', 'x', 'i'), regexp_replace('abc', 'b', '[\&]'), regexp_replace('a.c', '.', 'x', 'q'), regexp_replace('abab', 'a|ab', 'x', 'g')
SELECT regexp_replace('A PostgreSQL function', 'a|e|i|o|u', 'X', 1, 0, 'i'), regexp_replace('A PostgreSQL function', 'a|e|i|o|u', 'X', 1, 3, 'i'), regexp_replace('abcabc', 'b', 'X', 3), regexp_replace('abcabcabc', 'b', 'X', 1, 2)
SELECT regexp_replace('a', 'a', 'b', 'z')
SELECT regexp_replace('a', 'a', 'b', '1')
SELECT regexp_replace('abc', 'b', 'x', 0)
SELECT regexp_match(E'a\nb', 'a.b'), regexp_match(E'a\nb', 'a.b', 'n'), regexp_match(E'a\nb', '^b', 'n'), regexp_match(E'a\nb', '^b'), regexp_match('a b', 'a b', 'x'), regexp_match('ab', 'a b # c', 'x'), regexp_match(E'a\nb', 'a$', 'w')
SELECT 'foobar' ~ 'o+b', 'foobar' ~* 'OB', 'foobar' !~ 'x', 'foobar' !~* 'FOO', 'abc' ~ '\mabc\M', 'a1' ~ '^[[:alpha:]][[:digit:]]$', 'a\b' ~ '\\', 'foo' ~ 'fo{2}', 'x' ~ NULL
SELECT substring('foobar' from 'o.b'), substring('foobar' from 'o(.)b'), substring('foobar' from 'x'), substring('foobar', 'a|ar')
SELECT regexp_match('xyz', 'y', 'c'), regexp_match('XYZ', 'y', 'ic'), regexp_match('XYZ', 'y', 'ci')
-- letters are not ASCII's alone
SELECT 'é' ~ '\w', 'é' ~ '[[:alpha:]]', 'é' ~ '[[:alnum:]]', 'É' ~ '[[:upper:]]', 'é' ~ '[[:lower:]]', 'é' ~ '[\w]'
SELECT 'é' ~ '\W', 'é' ~ '[^\w]', '٣' ~ '\d', '٣' ~ '\w', '—' ~ '[[:punct:]]', E'\u00a0' ~ '\s', E'\u2003' ~ '\s'
SELECT '²' ~ '\w', 'ª' ~ '\w', '_' ~ '[[:alnum:]]', '漢' ~ '\w', '😀' ~ '\w', 'Ⅷ' ~ '\w', '½' ~ '\w', 'é' ~* 'É'
SELECT regexp_replace('Zoë Ångström', '\w+', 'x', 'g'), regexp_split_to_array('naïve café', '\W+')
SELECT regexp_replace('déjà', '[^[:alnum:]]', '', 'g'), regexp_matches('über-cool', '\w+')
-- differs: boundaries of words are those of ASCII letters
SELECT 'aé' ~ '\yé', 'é' ~ '\yé\y'
-- options in front, brackets and escapes
SELECT E'a\nb' ~ '^b', E'a\nb' ~ '(?n)^b', E'a\nb' ~ '(?w)^b', 'AB' ~ '(?i)ab', 'a b' ~ '(?x) a \s b', E'a\nb' ~ '(?n)a.b'
SELECT 'AB' ~* '(?c)ab', 'a.c' ~ '(?q)a.c', 'abc' ~ '(?q)a.c', 'a\mb' ~ 'a\\mb', 'a]b' ~ '[]]', 'a^' ~ '[\^]'
SELECT 'x' ~ '[^[:alpha:]]', 'a1_' ~ '^[[:alnum:]_]+$', 'foo bar' ~ '\mbar\M', regexp_replace('x[y]', '[][]', '', 'g')
