-- alone
-- encode, decode and hashes of long values, which are made in pieces.
SELECT n, md5(encode(repeat(E'\\001\\377\\\\a', n)::bytea, 'base64')), md5(encode(repeat(E'\\001\\377\\\\a', n)::bytea, 'escape')), md5(encode(repeat(E'\\001\\377\\\\a', n)::bytea, 'hex')), sha256(repeat(E'\\001\\377\\\\a', n)::bytea), md5(repeat('x', n)) FROM (VALUES (0), (1), (14), (15), (57), (58), (9000), (20000)) v(n)
SELECT n, encode(repeat('a', n)::bytea, 'base64'), encode(repeat('a', n)::bytea, 'BASE64') FROM generate_series(0, 120) n WHERE n % 19 IN (0, 1, 18)
SELECT n, decode(encode(b, 'base64'), 'base64') = b, decode(encode(b, 'escape'), 'escape') = b, decode(encode(b, 'hex'), 'hex') = b FROM (SELECT n, repeat(E'\\001\\377\\\\a', n)::bytea FROM generate_series(0, 5000, 777) n) v(n, b)
SELECT encode('a', 'Nope')
SELECT sha224(''), sha384('a'), sha512('b'), sha256('\x00ff'), md5('\x00ff'::bytea)
