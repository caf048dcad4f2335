-- Functions of regular expressions.
SELECT regexp_match('foobarbequebaz', 'bar.*que'), regexp_match('foobarbequebaz', '(bar)(beque)'), regexp_match('abc', 'x'), regexp_match('aBc', 'b', 'i'), regexp_match('abc', '(x)?b'), regexp_match('abc', 'a|ab'), regexp_match('abcabc', '.*?c')
SELECT regexp_matches('foobarbequebazilbarfbonk', '(b[^b]+)(b[^b]+)', 'g')
SELECT regexp_matches('foo', 'x')
SELECT regexp_matches('abab', 'a')
SELECT m[1] FROM regexp_matches('a1b2c3', '[a-z](\d)', 'g') m
SELECT regexp_match('abc', 'a', 'g')
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
-- letters outside ASCII
SELECT 'é' ~ '\w', 'é' ~ '[[:alpha:]]', 'é' ~ '[[:alnum:]]', 'É' ~ '[[:upper:]]', 'é' ~ '[[:lower:]]', 'é' ~ '[\w]'
SELECT 'é' ~ '\W', 'é' ~ '[^\w]', '٣' ~ '\d', '٣' ~ '\w', '—' ~ '[[:punct:]]', E'\u00a0' ~ '\s', E'\u2003' ~ '\s'
SELECT '²' ~ '\w', 'ª' ~ '\w', '_' ~ '[[:alnum:]]', '漢' ~ '\w', '😀' ~ '\w', 'Ⅷ' ~ '\w', '½' ~ '\w', 'é' ~* 'É'
SELECT regexp_replace('Zoë Ångström', '\w+', 'x', 'g'), regexp_split_to_array('naïve café', '\W+')
SELECT regexp_replace('déjà', '[^[:alnum:]]', '', 'g'), regexp_matches('über-cool', '\w+')
-- words contain letters outside ASCII
SELECT 'aé' ~ '\yé', 'é' ~ '\yé\y'
-- embedded options, bracket expressions and escapes
SELECT E'a\nb' ~ '^b', E'a\nb' ~ '(?n)^b', E'a\nb' ~ '(?w)^b', 'AB' ~ '(?i)ab', 'a b' ~ '(?x) a \s b', E'a\nb' ~ '(?n)a.b'
SELECT 'AB' ~* '(?c)ab', 'a.c' ~ '(?q)a.c', 'abc' ~ '(?q)a.c', 'a\mb' ~ 'a\\mb', 'a]b' ~ '[]]', 'a^' ~ '[\^]'
SELECT 'x' ~ '[^[:alpha:]]', 'a1_' ~ '^[[:alnum:]_]+$', 'foo bar' ~ '\mbar\M', regexp_replace('x[y]', '[][]', '', 'g')
-- what parts match, SIMILAR TO, text before the start of a search, and errors of patterns
SELECT regexp_match('abcd','(a|ab)(c|bcd)(d*)')
SELECT regexp_replace('foobar','foo|foobar','X')
SELECT regexp_replace('xaby','(a|ab)(b?)','<\1,\2>')
SELECT regexp_match('aaa','a+?')
SELECT regexp_match('aaa','(a+?)(a*)')
SELECT regexp_match('<b>x</b><b>y</b>','<b>(.*?)</b>')
SELECT regexp_replace('<b>x</b><b>y</b>','<b>(.*?)</b>','[\1]','g')
SELECT regexp_match('foo123bar','^(.+?)(\d+)')
SELECT regexp_match('key=val;k2=v2','(\w+?)=(\w+)')
SELECT regexp_split_to_array('a1b22c333d','\d+?')
SELECT regexp_match('ABC','[a-c]+','i')
SELECT regexp_match(e'line1\nline2','^line2$','n')
SELECT regexp_match(e'line1\nline2','^line2$')
SELECT regexp_match(e'line1\nline2','.*')
SELECT regexp_match(e'line1\nline2','1$')
SELECT e'a\n' ~ 'a$'
SELECT regexp_match('x.y','x[.]y')
SELECT 'a\b' ~ 'a\\b'
SELECT 'ab' ~ 'a\u0062'
SELECT '中文' ~ '^\w+$'
SELECT 'a_b' ~ '[[:punct:]]'
SELECT 'ab c' ~ '[[:<:]]c[[:>:]]'
SELECT regexp_replace('hello','l','$1','g')
SELECT regexp_replace('hello','(l)','\0','g')
SELECT regexp_replace('hello','(l)','\\1','g')
SELECT regexp_replace('hello','(l)','\2','g')
SELECT regexp_replace('a.b.c','.','-','g')
SELECT regexp_replace('a.b.c','\.','-')
SELECT regexp_replace('  x ','^\s+|\s+$','','g')
SELECT regexp_replace('abc','$','X')
SELECT regexp_replace('aXbX','x','-','gi')
SELECT regexp_matches('aXbX','(x)','gi')
SELECT regexp_split_to_table('one  two','\s')
SELECT regexp_split_to_array('abc','b*')
SELECT regexp_count('abababa','aba')
SELECT regexp_count('','')
SELECT regexp_instr('abc','')
SELECT regexp_substr('2024-01-02','\d+',1,3)
SELECT substring('foobar' similar '%#"o_b#"%' escape '#'), substring('foobar' from '%#"o_b#"%' for '#'), substring('foobar' similar '#"o_b#"%' escape '#'), substring('abcdefg' similar 'a#"%#"g' escape '#'),substring('abcdefg' similar 'a#"%#"x|g' escape '#')
SELECT substring('foobar' similar '%#"o_#"b#"%' escape '#')
SELECT substring('foobar' similar '%oo%' escape '##')
SELECT substring('foobar' similar null escape '#'), substring('foobar' similar '%' escape null), 'abc' similar to 'a%' escape null
SELECT 'abc' similar to '%(b|d)%', 'abc' similar to '(b|c)%', 'a.c' similar to 'a.c', 'abc' similar to 'a.c', 'abc' similar to 'a[b-d]c', 'abbc' similar to 'ab{2}c', 'abc' similar to 'a\wc', 'a%c' similar to 'a#%c' escape '#', 'abc' not similar to 'x%', 'aXc' similar to 'a_c', 'ab' similar to 'a|b', E'a\nb' similar to 'a_b'
SELECT 'abc' similar to 'abc\', 'x' similar to '('
SELECT regexp_replace('abc','b','\'), regexp_replace('abc','b','\\'), regexp_replace('abc','b','\x'), regexp_replace('abc','(b)','[\1\2\0\&]'), regexp_replace('abc','b','$1${1}')
SELECT regexp_match('abc','b',null), regexp_replace('abc','b',null), regexp_match(null,'x')
SELECT regexp_instr('abcabc','^a',2), regexp_count('abab','^a',1), regexp_substr('xabc','^a',2), regexp_replace('xab','^a','Y',2), regexp_count(E'a\na','^a',1,'n'), regexp_substr('abc','\mc',3)
SELECT regexp_matches('foobarbequebazilbarfbonk','(b[^b]+)(b[^b]+)','g')
SELECT regexp_matches('abc','','g')
SELECT regexp_split_to_array('the quick brown fox','\s*'), regexp_split_to_table('ab','')
SELECT 'a' ~ 'a{256}'
SELECT 'a' ~ 'a{1'
SELECT 'a' ~ 'a{1,0}'
SELECT 'a' ~ '[b-a]'
SELECT 'a' ~ '[[:foo:]]'
SELECT 'a' ~ '[[.foo.]]'
SELECT 'a' ~ '\'
SELECT 'a' ~ '(?z)a'
SELECT 'a' ~ '***?a'
SELECT 'a' ~ '(a'
SELECT 'a' ~ 'a)'
SELECT 'a' ~ '[a'
SELECT 'a' ~ '*a'
SELECT 'a' ~ '\q'
SELECT 'a' ~ '(?=(a))\1'
SELECT 'a' ~ '\x110000'
SELECT 'a' ~ '(((a{100}){100}){100})'
SELECT regexp_match('a','a','gi')
SELECT regexp_replace('a','a','b','ü')
SELECT 'A' ~ '(?i)[[:lower:]]', 'ß' ~* 'ẞ', 'ſ' ~* 's', 'K' ~* 'k', 'Σ' ~* 'ς', 'İ' ~* 'i', 'ǅ' ~* 'ǆ'
SELECT '{"a":"ab\ncd"}'::jsonb @? '$.a ? (@ like_regex "b.c")', '{"a":"ab\ncd"}'::jsonb @? '$.a ? (@ like_regex "b.c" flag "s")', '"abab"'::jsonb @@ '$ like_regex "(ab)\\1"', '"A.B"'::jsonb @@ '$ like_regex "a.b" flag "iq"'
SELECT position('b' in 'abc'), strpos('ab','b'), regexp_substr('foo bar','\w+',1,2)
-- Options that do not exist.
SELECT regexp_match('abc', 'b', 'é')
SELECT regexp_match('abc', 'b', 'k')
SELECT regexp_match('abc', 'b', 'ik')
SELECT regexp_match('abc', 'b', 'z')
SELECT regexp_replace('abc', 'b', 'x', 'z')
SELECT regexp_replace('abc', 'b', 'x', '1')
SELECT regexp_replace('abc', 'b', 'x', 'é')
SELECT regexp_replace('abc', 'b', 'x', 'gg')
SELECT regexp_replace('abc', 'b', 'x', 1, 1, 'g')
SELECT regexp_replace('abc', 'b', 'x', 'g1')
SELECT regexp_split_to_array('abc', 'b', 'z')
SELECT regexp_split_to_array('abc', 'b', 'g')
SELECT regexp_split_to_table('abc', 'b', 'é')
SELECT regexp_matches('abc', 'b', 'gé')
SELECT regexp_count('abc', 'b', 1, 'é')
SELECT regexp_like('abc', 'b', 'g')
SELECT regexp_like('abc', 'b', 'é')
SELECT regexp_instr('abc', 'b', 1, 1, 0, 'ö')
SELECT regexp_substr('abc', 'b', 1, 1, 'ü')
SELECT regexp_match('ABC', 'b', 'ci'), regexp_match('ABC', 'b', 'ic')
SELECT regexp_match('abc', 'b', 'b'), regexp_match('abc', 'b', 'e'), regexp_match('abc', 'b', 'm'), regexp_match('abc', 'b', 'n'), regexp_match('abc', 'b', 'p'), regexp_match('abc', 'b', 'q'), regexp_match('abc', 'b', 's'), regexp_match('abc', 'b', 't'), regexp_match('abc', 'b', 'w'), regexp_match('abc', 'b', 'x')
SELECT regexp_match('abc', 'b', 'd')
SELECT regexp_match('abc', 'b', 'o')
SELECT regexp_match('abc', 'b', ' ')
SELECT regexp_match('abc', 'b', 'I')
SELECT regexp_match('abc', 'b', NULL)
SELECT regexp_match(NULL, 'b', 'z')
SELECT regexp_match('abc', '(?z)b')
SELECT regexp_match('abc', '(?é)b')
SELECT regexp_match('abc', '***:b'), regexp_match('abc', '***=b')
SELECT regexp_match('abc', '***z')
-- Patterns are checked before the start.
SELECT regexp_replace('abc', '(', 'x', 9)
SELECT regexp_replace('abc', 'b', 'x', 9, 1, 'z')
SELECT regexp_replace('abc', 'b', 'x', '2x')
SELECT regexp_match('a', '***?a')
SELECT regexp_match('a', '(?ié)a')
SELECT regexp_match('a', '(?i')
SELECT regexp_match('A', '(?i)a'), regexp_match('A', '***:(?i)a')
-- More of the same, together.
SELECT regexp_matches('a1b2c3', '([a-z])(\d)', 'g'), regexp_split_to_table('a1b2', '\d'), regexp_replace('Hello World', '(\w+) (\w+)', '\2 \1'), regexp_replace('aaa', 'a*?', 'x', 'g'), regexp_replace('abc', '', '-', 'g'), regexp_replace('foo.bar', '\.', '\\'), regexp_match('aXb', '(?i)x'), regexp_match(E'a\nb', 'a.b'), regexp_match(E'a\nb', 'a.b', 'n'), regexp_match('ab', '(a)(c)?'), regexp_match('xyz', 'a')
SELECT regexp_match('foobar', '(?<=foo)bar'), regexp_match('foobaz', 'foo(?!bar)'), regexp_match('aa', '(a)\1'), regexp_match('a.b', 'a\.b'), regexp_match('été', 't.'), regexp_match('tab	x', '\t'), regexp_match('x1', '[[:alpha:]][[:digit:]]'), regexp_match('ab12', '^\w+$'), regexp_match('a b', '\mb\M'), regexp_match('abc', 'a|ab|abc'), regexp_match('xabcx', '(a|ab)(c|bcd)?'), regexp_count('aaa', 'aa'), regexp_instr('abcabc', '(b)(c)', 1, 2, 1, '', 2)
SELECT regexp_split_to_array('abc', ''), regexp_split_to_array('', 'x'), regexp_split_to_array('a,,b', ','), regexp_split_to_array(',a,', ','), regexp_substr('abc', 'x'), regexp_substr('foobarbaz', 'ba.', 5), regexp_like('a', ''), regexp_count('', 'a*')
