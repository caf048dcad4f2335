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
-- Values with parts.
SELECT hash_numeric(1.0), hash_numeric(1.00), hash_numeric(0), hash_numeric('NaN'), hash_numeric('Infinity'), hash_numeric(-1234.5678), hash_numeric(100000000), hash_numeric(1e-10), hash_numeric(-1)
SELECT hash_numeric_extended(1.0, 0), hash_numeric_extended(1.00, 5), hash_numeric_extended('NaN', 3), hash_numeric_extended(0, 7), hash_numeric_extended(12345678901234567890.123456789, 7)
SELECT jsonb_hash('{"a":1,"b":[true,null,"x",1.50]}'), jsonb_hash('1'), jsonb_hash('"x"'), jsonb_hash('[]'), jsonb_hash('{}'), jsonb_hash('null'), jsonb_hash('true'), jsonb_hash('false'), jsonb_hash('[[1],{"a":[2]}]'), jsonb_hash('{"bb":1,"a":2}')
SELECT jsonb_hash_extended('{"a":1,"b":[true,null,"x",1.50]}', 0), jsonb_hash_extended('1', 42), jsonb_hash_extended('true', 42), jsonb_hash_extended('[]', 1), jsonb_hash_extended('{"a":false}', -1)
SELECT hash_array(ARRAY[1,2,NULL]), hash_array(ARRAY['a','b']), hash_array('{}'::int[]), hash_array(ARRAY[1.5, 2]), hash_array(ARRAY[true]), hash_array(ARRAY[now()]) IS NOT NULL, hash_array(ARRAY['1 day'::interval]), hash_array(ARRAY['2020-01-01'::date])
SELECT hash_array_extended(ARRAY[1,2,NULL], 0), hash_array_extended(ARRAY['a','b'], 5), hash_array_extended('{}'::int[], 5)
SELECT uuid_hash('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), time_hash('12:00'), timetz_hash('12:00+01'), timetz_hash('12:00-07:30'), interval_hash('1 day'), interval_hash('24:00'), interval_hash('-3 mons'), timestamp_hash('2020-01-01'), timestamp_hash('1990-01-01 00:00:00.5'), hash_record(ROW(1, 'a'::text, NULL::int, 2.5))
SELECT uuid_hash_extended('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 1), time_hash_extended('12:00', 1), timetz_hash_extended('12:00+01', 1), interval_hash_extended('1 day', 1), timestamp_hash_extended('2020-01-01', 1), hash_record_extended(ROW(1, 'a'::text, NULL::int, 2.5), 7)
SELECT hash_array(ARRAY['2020-01-01'::timestamp]), hash_array(ARRAY['12:00'::time]), hash_array(ARRAY['{"a": 1}'::jsonb, '[]']), hash_array(ARRAY['\x01'::bytea]), hash_array(ARRAY['a'::"char"]), hash_array(ARRAY['a'::name]), hash_array(ARRAY['ab '::bpchar]), hash_array(ARRAY[1.5::float4]), hash_array(ARRAY[1::int8, -1]), hash_array(ARRAY[ROW(1)])
SELECT hash_array(ARRAY['1'::json])
SELECT hash_array_extended(ARRAY['1'::json], 1)
SELECT hash_array(1)
