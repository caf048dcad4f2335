-- The hash functions that applications call for advisory locks and samples.
SELECT hashtext('a'), hashtext(''), hashtext('hello world'), hashtext('é'), hashtext(NULL), hashtext('123456789012'), hashtext('1234567890123'), hashtext('a rather long text that takes several rounds')
SELECT s, hashtext(repeat('x', s)), hashtextextended(repeat('y', s), s - 5) FROM generate_series(0, 26) s
SELECT hashtextextended('a', 0), hashtextextended('hello world, how are you', 42), hashtextextended('hello', -9223372036854775808), hashtextextended('', 7)
SELECT hashint4(1), hashint8(1), hashint8(12345678901), hashint2(1::smallint), hashint4(-1), hashint8(-1), hashint8(-12345678901), hashint4(0)
SELECT hashint4extended(1, 0), hashint8extended(1, 7), hashint8extended(-5000000000, -7), hashint2extended(3::smallint, 1)
SELECT hashfloat8(1.5), hashfloat4(1.5), hashfloat8('-0'), hashfloat8('nan'), hashfloat8('-infinity'), hashfloat8extended(0, 5), hashfloat8extended(1.5, 5)
SELECT hashoid(12::oid), hashname('a'), hashchar('a'), hashbpchar('a  '), hashchar(''), hashchar('é'::text::"char")
SELECT hashtext(1)
SELECT abs(hashtext(id)) % 10, count(*) FROM docs GROUP BY 1 ORDER BY 1
SELECT pg_try_advisory_lock(hashtext('migration')), pg_advisory_unlock(hashtext('migration')), pg_try_advisory_xact_lock(hashtextextended('a', 0)), pg_try_advisory_xact_lock(hashtext('a'), hashtext('b'))
