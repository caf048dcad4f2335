-- Powers of numerics.
SELECT 2 ^ 0.5, 2.0 ^ 3, 2 ^ 3, power(2, 0.5), power(2.0, 3), power(2, 3), pow(2.5, 2), pow(9.0, 0.5)
SELECT pg_typeof(2 ^ 0.5), pg_typeof(power(2, 3)), pg_typeof(2.0 ^ 2), pg_typeof(2::float8 ^ 2.0), pg_typeof(power(2.0, 2)), pg_typeof(2::int8 ^ 2)
SELECT 2::numeric ^ 0.5::numeric, 2.00000000000000000000 ^ 0.5, 2 ^ 0.50000000000000000000
SELECT 0.0 ^ 0, 0.0 ^ 1, 1.0 ^ 100, (-2.0) ^ 3, (-2.0) ^ -3, 0.0 ^ 0.5, 7.0 ^ 1, 7.0 ^ -1, 1.5 ^ 2
SELECT (-2.0) ^ 0.5
SELECT 0.0 ^ -1
SELECT 0.0 ^ -0.5
SELECT 1.000001 ^ 1000000, 0.999999 ^ 1000000, 1.1 ^ -100
SELECT 2.0 ^ 100, 2.0 ^ -100, 10.0 ^ -20, 10.0 ^ -1000, 0.1 ^ 5000
SELECT 10.0 ^ 1000
SELECT 10.0 ^ 200000
SELECT 10.0 ^ 5000.5
SELECT 10.0 ^ -5000.5
SELECT length((10.0 ^ 130000)::text)
SELECT 'NaN'::numeric ^ 0, 'NaN'::numeric ^ 2, 1 ^ 'NaN'::numeric, 2.0 ^ 'NaN'::numeric, 'NaN'::numeric ^ 'Infinity'::numeric
SELECT 'Infinity'::numeric ^ 2, 'Infinity'::numeric ^ -2, 'Infinity'::numeric ^ 0, 2.0 ^ 'Infinity'::numeric, 0.5 ^ 'Infinity'::numeric, (-2.0) ^ 'Infinity'::numeric, 2.0 ^ '-Infinity'::numeric, 0.5 ^ '-Infinity'::numeric, (-1.0) ^ 'Infinity'::numeric, 1.0 ^ 'Infinity'::numeric
SELECT '-Infinity'::numeric ^ 2, '-Infinity'::numeric ^ 3, '-Infinity'::numeric ^ -3, '-Infinity'::numeric ^ -2, 'Infinity'::numeric ^ 'Infinity'::numeric, '-Infinity'::numeric ^ '-Infinity'::numeric, 0.0 ^ 'Infinity'::numeric
SELECT '-Infinity'::numeric ^ 0.5
SELECT 0.0 ^ '-Infinity'::numeric
SELECT 1.5 ^ 2.5, 123.456 ^ 1.1, 0.001 ^ 0.001, 99999 ^ 3.3::numeric, 1e-20 ^ 0.5, 1e20 ^ 0.5, 3.14159 ^ 2.71828, 1e300 ^ 1.5, 1e-300 ^ 1.5
SELECT 0.5 ^ 17, 2.5 ^ 17, (-2.5) ^ 17, 1.00000000000000000001 ^ 3, 12345678901234567890.123456789 ^ 3, 0.00000000000000000001 ^ 2
SELECT 5.0 ^ 3000000000, 1.0 ^ 3000000000, (-1.0) ^ 3000000001, (-1.0) ^ 3000000000
SELECT 1.0000000001 ^ 3000000000, NULL::numeric ^ 2
SELECT 2.0 ^ (repeat('1', 3)::numeric / 1000), 1.0000001 ^ 12345678.9, length((2 ^ ('0.' || repeat('3', 16000))::numeric)::text)
