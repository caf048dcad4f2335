-- long
-- to_char of numbers.
SELECT to_char(1234.5, '9999.99'), to_char(-1234.5, '9999.99'), to_char(0.5, '9.99'), to_char(0.5, '0.99'), to_char(1234567.891, '9,999,999.99'), to_char(12, '9999'), to_char(12, '0000'), to_char(12, 'FM9999'), to_char(12345, '999'), to_char(0, '9.9'), to_char(0, '0.0'), to_char(-0.1, '9.9')
SELECT to_char(1234.5, 'FM9999.99'), to_char(1234, 'FM9999.99'), to_char(1234.50, 'FM9999.00'), to_char(0.1, 'FM9.99'), to_char(0.1, 'FM0.99'), to_char(1234567, 'FM9,999,999'), to_char(-5, 'FM999'), to_char(1.0, 'FM9.9'), to_char(100, 'FM999.099')
SELECT to_char(12, 'S999'), to_char(-12, 'S999'), to_char(12, '999S'), to_char(-12, '999S'), to_char(-12, '999MI'), to_char(12, '999MI'), to_char(-12, 'MI999'), to_char(12, 'PL999'), to_char(-12, '999PR'), to_char(12, '999PR'), to_char(-12, 'SG999'), to_char(12, 'SG999'), to_char(-12, 'FM999PR'), to_char(12, 'FM999MI')
SELECT to_char(1, '9th'), to_char(2, '9th'), to_char(3, 'FM9TH'), to_char(11, '99th'), to_char(12, 'RN'), to_char(1994, 'FMRN'), to_char(4000, 'RN'), to_char(0, 'RN'), to_char(12, 'rn'), to_char(-3, '9th')
SELECT to_char(12.4, '99V99'), to_char(12, '99V999'), to_char(1234, '9.99EEEE'), to_char(0.00012, '9.9EEEE'), to_char(-1234567.0, '9.999EEEE'), to_char(0, '9.9EEEE'), to_char(12.34, '99D99'), to_char(1234, '9G999'), to_char(12, 'L99'), to_char(485, '"Good number:"999'), to_char(485.8, '"Pre:"999" Post:" .999'), to_char(12, '99 99'), to_char(148.5, '999D999'), to_char(-485, '9 9 9')
SELECT to_char(1234.5678::float8, '9999.99'), to_char(0.1::float8 + 0.2::float8, '0.99999'), to_char(1e20::float8, '999999999999999999999'), to_char(1.5::float4, '9.99'), to_char(123456789.123::float4, '999999999.999'), to_char('NaN'::float8, '999'), to_char(1234.5::float8, '9.9EEEE'), to_char('Infinity'::numeric, '999'), to_char('NaN'::numeric, '9.99EEEE'), to_char(2.5::float8, '9'), to_char(3.5::float8, '9')
SELECT to_char(1234567890123456789::int8, '9,999,999,999,999,999,999'), to_char(5::int2, '09'), to_char(123, ''), to_char(NULL::int, '9'), to_char(1, NULL), to_char(125, '999.9'), to_char(9.999, '9.99'), to_char(99.999, '99.99'), to_char(1234, '00000.00'), to_char(-1234, '00000.00'), to_char(12, 'B99'), to_char(0, 'B99')
SELECT to_char(1, '9.9.9')
SELECT to_char(1, 'S9S')
SELECT to_char(1, 'SG9S')
SELECT to_char(1, '9V9.9')
SELECT to_char(1, '9EEEE9')
SELECT to_char(1, 'FM9EEEE')
SELECT to_char(1, 'PR9')
SELECT to_char('1', '9')
SELECT to_number('1,234.50', '9,999.99'), to_number('-12', 'S99'), to_number('12-', '99S'), to_number('<12>', '99PR'), to_number('  12', '9999'), to_number('12.345', '99.9'), to_number('$1,234', 'L9,999'), to_number('1234', '9G999'), to_number('12', '99V9'), to_number('0012', '9999'), to_number('-1.5', '9.9'), to_number('1st', '9th'), to_number('12abc', '99')
SELECT to_number('abc', '999')
SELECT to_number('', '999')
SELECT to_number('1', '9EEEE')
SELECT to_number('X', 'RN')
SELECT to_number('1', NULL), to_number(NULL, '9')
SELECT to_hex(255), to_hex(-1), to_hex(9223372036854775807), to_hex(0)
SELECT trunc(12.345, 1), round(-2.5), round(2.5::float8), ceil(-0.5), mod(-7, 3), div(7, -2), sign(-3.2), abs(-5), gcd(12, 18), lcm(4, 6), factorial(5), scale(1.200), min_scale(1.200), trim_scale(1.200), width_bucket(5.5, 0, 10, 4), degrees(pi()), sind(30), cosd(60), tand(45), sinh(1), cosh(0), tanh(0)
SELECT factorial(-1)
SELECT gcd(0, 0), lcm(0, 5), gcd(12.5, 5.0), lcm(1.5, 2)
SELECT asind(0.5), acosd(0.5), atand(1), atan2d(1, 1), asinh(1), acosh(1), atanh(0.5), cotd(45)
SELECT acosh(0.5)
SELECT width_bucket(5.35, 0.024, 10.06, 5), width_bucket(5, ARRAY[1, 3, 4, 10])
-- a real and another number
SELECT 1/3::float4, 2.5 * 2::real, 1::real + 1, 3::bigint - 1.5::real, 2::smallint * 1.5::real, 1.5::real / 2
SELECT 0.1::real = 0.1, 0.5::real = 0.5, 1::real = 1, 0.1::real < 0.1::float8
SELECT 0.1::real IN (0.1), 0.1::real IN (0.1, 0.2), 0.1::real = ANY(array[0.1]), 0.1::real BETWEEN 0.1 AND 0.1
SELECT CASE 0.1::real WHEN 0.1 THEN 'y' ELSE 'n' END, nullif(0.1::real, 0.1) IS NULL, 0.1::real NOT IN (0.1)
SELECT 1 << 4, 16 >> 2, 1::bigint << 40, (-8) >> 1, 1::smallint << 15, 1 << 31, 1 << 32, 1::bigint << 63, 5 << -1
-- operators, ranges, and errors of numbers
SELECT |/ 16
SELECT |/ 2.0
SELECT |/ (-1)
SELECT @ -5
SELECT @ -5.50
SELECT @ '-5'::float8
SELECT @ -5::smallint
SELECT @ -2 + 1
SELECT |/ 4 + 5
SELECT 5 # 3, 5 & 3, 5 | 3, ~5, 1 << 4, -16 >> 2
SELECT 5::bigint # 3, 5::smallint & 3::smallint, ~5::bigint, 1::bigint << 40
SELECT 5.0 & 3
SELECT 5 !
SELECT !! 5
SELECT 5 ^ 2 ^ 2
SELECT abs(-5), abs(-5.5), abs('-5'::float8), abs(-5::real)
SELECT sum(x::float4) from (values (1.1),(2.2),(3.3)) v(x)
SELECT sum(x::float4), avg(x::float4), pg_typeof(sum(x::float4)) from generate_series(1,10) x
SELECT sum(x::float4/3) over (order by x) from generate_series(1,5) x
SELECT 1.1::real = 1.1, 1.1::real < 1.1::numeric, 1.1::real + 1.1::numeric, pg_typeof(1.1::real+1.1::numeric), 1.1::real = 1.1::float8, 0.1::real::numeric, 0.1::real::float8, 1.1::real * 2, pg_typeof(1::real*2)
SELECT 123456.789::real, 1e10::real, 1e-10::real, 3.4e38::real, '1e40'::real
SELECT 16777217::real, 16777217::real::int, 1.5::real::int, 2.5::real::int, 2.5::float8::int, -2.5::float8::int, 2.5::numeric::int
SELECT exp(-1000.0::float8)
SELECT exp(1000.0::float8)
SELECT power(0,-1)
SELECT power(0.0,-1.0)
SELECT power(-8, 1.0/3)
SELECT power(-8::float8, 1.5::float8)
SELECT sqrt(-1)
SELECT sqrt(-1.0)
SELECT ln(0)
SELECT ln(0.0)
SELECT ln(-1.0)
SELECT log(-1)
SELECT log(0.0)
SELECT log(2.0, 64.0), log(10, 100), log(100), log10(100.0), ln(2.0), ln(2::float8)
SELECT 1/0
SELECT 1.0/0
SELECT 1::float8/0
SELECT 5 % 0
SELECT mod(5,0)
SELECT 'nan'::numeric::int
SELECT 'inf'::numeric::int
SELECT 'nan'::float8::int
SELECT 'inf'::float8::bigint
SELECT 'nan'::numeric::float8, 'inf'::numeric::real, 'nan'::float8::numeric, 'infinity'::float8::numeric
SELECT '0x10'::float8
SELECT ' 12 '::int, '+5'::int, '-0'::float8, '1e3'::numeric, '.5'::numeric, '5.'::numeric, ' nan '::numeric, '1_000'::int
SELECT '0x1F'::int
SELECT '1e400'::float8
SELECT '1e-400'::float8
SELECT 1e400::float8
SELECT 99999999999::int
SELECT 40000::smallint
SELECT 1.5::numeric(2,2)
SELECT 1.555::numeric(3,2), 1234.5::numeric(5), 99.995::numeric(4,1), 12345::numeric(3,-2), 0.0012::numeric(2,4), 123::numeric(5,2)
SELECT 12345::numeric(2,-2)
SELECT 1::numeric(1001,0)
SELECT 1::numeric(0)
SELECT 1::numeric(5,2000)
SELECT round(2.5), round(-2.5), round(2.567,2), round(1234.5,-2), round(2.5::float8), round(3.5::float8), trunc(2.567,1), trunc(-2.5), ceil(-1.5), ceiling(1.2), floor(-1.5), sign(-3), sign(-3.5), sign(0::float8)
SELECT div(7,2), div(-7.5,2), mod(-7,2), mod(7.5,2), 7 % -2, -7.5 % 2
SELECT width_bucket(5.35, 0.024, 10.06, 5), width_bucket(5::float8, 0, 10, 5), width_bucket(11,0,10,5), width_bucket(-1,0,10,5), width_bucket(5,10,0,5)
SELECT width_bucket(5,0,0,5)
SELECT width_bucket(5,0,10,0)
SELECT sinh(1), cosh(1), tanh(1), asinh(1), acosh(1), atanh(0.5)
SELECT acos(2)
SELECT acosh(0.5)
SELECT atanh(1)
SELECT atanh(2)
SELECT factorial(5), factorial(20), gcd(12,18), lcm(4,6), gcd(1.2,0.9), lcm(1.2,0.9), scale(1.230), min_scale(1.230), trim_scale(1.230)
SELECT factorial(-1)
SELECT num_nulls(1,null,2), num_nonnulls(1,null,'a',null), num_nulls(null), num_nonnulls(1.5,true)
SELECT num_nulls()
SELECT num_nonnulls()
SELECT setseed(2)
SELECT setseed('nan')
SELECT random() between 0 and 1
SELECT greatest(1,2.5,3), least(1,null,2), greatest(null,null)
SELECT 10 / 4, 10 / 4.0, 10 / -4, -10 % 3, 2 ^ 0.5, 2 ^ -1, 2.0 ^ 3, (-2) ^ 3
SELECT 9223372036854775807 + 1
SELECT -9223372036854775808
SELECT 2147483647 + 1
SELECT -(-2147483648)::int
SELECT abs((-2147483648)::int)
SELECT 1.0::float8 / 3, 1::real / 3, 1.0 / 3, 2.0/3, 1e-20/3, 1e20/3
SELECT 0.1::float8 + 0.2::float8, 1e15::float8, 1e16::float8, 123456789012345678::float8, 1e-5::float8, 0.0001::float8
SELECT to_hex(255), to_hex(-1), to_hex(255::bigint)
SELECT bit_count('\x1234567890'::bytea)
SELECT numeric '1e-16383', 1e131071 > 0
SELECT 1e131072
SELECT exp(1.0), exp(0), exp(2.5), exp(5000.0) > 0, exp(-50.0)
SELECT exp(1000000.0)
SELECT 0.1::numeric = 0.1::float8, 1 = 1.0, 1::real = 1, 'NaN'::float8 = 'NaN'::float8, 'NaN'::numeric > 1e100, 'NaN'::float8 > 'inf'::float8
SELECT int2 '5' + int4 '5', pg_typeof(int2 '5' + int4 '5'), pg_typeof(int8 '5' * int2 '5'), pg_typeof(1 + 1.0), pg_typeof(1 + 1::real), pg_typeof(1.0+1::real), pg_typeof(2^2), pg_typeof(-5::smallint), pg_typeof(abs(5::smallint)), pg_typeof(round(1.5)), pg_typeof(round(1)), pg_typeof(ceil(1)), pg_typeof(sqrt(4)), pg_typeof(sqrt(4.0))
SELECT generate_series(1,10,3), generate_series(5,1,-2)
SELECT generate_series(1.0,2.0,0.5)
SELECT * from generate_series(0,1,0.25)
SELECT generate_series(1,2,0)
SELECT to_char(1234.5,'9,999.99'), to_char(-1,'S9'), to_char(12,'RN'), to_char(0.1,'0.99'), to_char(1234,'9.99EEEE'), to_char(1e10,'99'), to_char(5,'9th'), to_char(-5,'9PR'), to_char(485,'L999'), to_char(12,'099V99')
SELECT to_number('1,234.5','9,999.9'), to_number('-5','S9'), to_number('12<','99PR')
SELECT setseed(0.5)
SELECT random(), random()
SELECT setseed(-1)
SELECT random() FROM generate_series(1,3)
-- Numbers that a floating point type cannot hold.
SELECT 1e-400::float8
SELECT 1e39::float4
SELECT 1e-50::numeric::real
SELECT 0.0::float8, 1e-300::numeric::float8, (1e-40::numeric)::float8
-- Infinities, and scales that are as large as they can be.
SELECT div('Infinity'::numeric, -2.50), div(5, 'Infinity'::numeric), div('NaN'::numeric, 1), lcm(0.0, 'NaN'::numeric), lcm('Infinity'::numeric, 2)
SELECT div(1, 0::numeric)
SELECT length(round(2.5, 3000)::text), length(trunc(2.5, 100000)::text), round(123.456, -2), round(5.5, -2147483648), trunc(99, -1), length(round(-2.5, 2147483647)::text)
SELECT log(0.1::float8), log(1000::float8), log10(1e-5::float8), log(1e300::float8), log(2::float8)
SELECT width_bucket(-5, array[3, null, 1])
SELECT radians(1.5::float8), degrees(1e300), degrees(1::float8)
SELECT width_bucket(5::float8, 0::float8, 1::float8, 2147483647)
SELECT width_bucket(-0.0::float8, 0.1::float8, -0.0::float8, 2147483647)
-- Operators of one operand that do not exist or are ambiguous, and the display scale of results.
SELECT !true
SELECT ~'1'
SELECT ~1.5
SELECT @'x'
SELECT -true
SELECT - '5'::text
SELECT 'a' * 'b'
SELECT now() + now()
SELECT 1/3.0, 2/3.0, 10/3.0, 100/3.0, 1000/3.0, 10000/3.0, 12345.678/3, 1/7.00000000000000000000, 1.0/70000, 1e-10/3, 1e20/3
SELECT 1.000/3.0, 0.001/3, 0.0001/3, 0.00001/3, 99999/7.0, 100000/7.0, 9999.9999/7, 10000.0/9999, 0/3.0, 0.0/7.000, 5.000/2.5
SELECT 1e-20/3e-20, 1e100/7, 7/1e100, 1e-100/7, 123456789012345678901234567890/7.0, 1.5e10/2e-10
SELECT sqrt(2.0), sqrt(2.00000000000000000000), sqrt(200000.0), sqrt(0.0002), sqrt(1e20), sqrt(1e-20), sqrt(0.0), sqrt(4.0), sqrt(12345678901234567890.0), sqrt(1e100)
SELECT exp(1.0), exp(0.0), exp(10.0), exp(100.0), exp(-1.0), exp(-10.0), exp(0.5), exp(2.00000000000000000000), exp(1e-10), exp(300.5)
SELECT ln(2.0), ln(10.0), ln(1.0), ln(0.5), ln(1e10), ln(1e-10), ln(1.0000001), ln(2.00000000000000000000), ln(12345.6789), ln(1e100)
SELECT log(2.0), log(10.0), log(100.0), log(1.0), log(0.5), log(1e10), log(1e-10), log(12345.6789), log(2.0, 8.0), log(3.0, 10.0), log(10.0, 1000.0), log(0.5, 8)
SELECT power(2.0, 3.0), power(2.0, 0.5), power(2.0, -1), power(10.0, 20), power(10.0, -20), power(1.5, 2.5), power(0.5, 10), power(1.0001, 1000), power(2, 100.0), power(9.9, 9.9), power(0.0, 0), power(0.0, 1.5), power(-2.0, 3), power(-2.0, -3)
SELECT power(2.0, 0.1), power(12345.678, 0.5), power(1e10, 0.3), power(1e-10, 0.3), power(3.00, 3), power(3.000000, 3.00), power(100.0, 1.5), power(7.77, -7.77)
SELECT 2.0 ^ 0.5, 2 ^ 0.5, 2.5 ^ 3, 2::numeric ^ 3, (-8.0) ^ 3
SELECT avg(x) FROM (VALUES (1.0), (2.00), (3)) v(x)
SELECT avg(x) FROM (VALUES (1.10), (2.225)) v(x)
SELECT avg(x) FROM (VALUES (1e10), (3.5)) v(x)
SELECT avg(x) FROM (VALUES (1e-10), (2e-10), (4e-10)) v(x)
SELECT avg(x) FROM (VALUES (1e30), (2)) v(x)
SELECT stddev(x), variance(x), stddev_pop(x), var_pop(x) FROM (VALUES (1), (2), (4)) v(x)
SELECT stddev(x), variance(x), stddev_pop(x), var_pop(x) FROM (VALUES (1.5), (2.25), (4.125)) v(x)
SELECT stddev(x), variance(x), stddev_pop(x), var_pop(x) FROM (VALUES (1e10), (2e10), (4e10)) v(x)
SELECT stddev(x), variance(x), stddev_pop(x), var_pop(x) FROM (VALUES (1e-5), (2e-5), (4e-5)) v(x)
SELECT stddev(x), variance(x), stddev_pop(x), var_pop(x) FROM (VALUES (5)) v(x)
SELECT stddev(x), variance(x), stddev_pop(x), var_pop(x) FROM (VALUES (5), (5)) v(x)
SELECT stddev(x), variance(x), stddev_pop(x), var_pop(x) FROM (VALUES (5.00), (5.0)) v(x)
SELECT stddev(x), variance(x), stddev_pop(x), var_pop(x) FROM (VALUES ('NaN'::numeric), (1)) v(x)
SELECT stddev(x), variance(x), stddev_pop(x), var_pop(x) FROM (VALUES ('Infinity'::numeric), (1)) v(x)
SELECT sum(x), avg(x) FROM (VALUES ('Infinity'::numeric), ('-Infinity')) v(x)
SELECT sum(x), avg(x) FROM (VALUES ('Infinity'::numeric), (1)) v(x)
SELECT 1.10 + 2.225, 1.10 * 2.225, 1.10 - 1.1, 2.50 % 0.7, -7.5 % 2, 7 % -3, 1.0 * 0, 0.00 * 5, 1e3 + 1, 1e-3 + 1
SELECT round(2.5), round(-2.5), round(2.345, 2), round(2.3, 5), round(12345, -2), round(15, -1), round(1e20, -5), round(-0.5), round(0.5), round(1.005, 2)
SELECT trunc(2.9), trunc(-2.9), trunc(2.999, 2), trunc(2.9, 5), trunc(12345.6, -2), ceil(2.1), ceil(-2.1), floor(-2.1), floor(2.9), ceiling(2.0)
-- A numeric has at most 131072 digits before the decimal point and 16383 after it.
SELECT length((10::numeric ^ 131072)::text)
SELECT length((10::numeric ^ 131071)::text)
SELECT -(10::numeric ^ 131072) < 0
SELECT 10::numeric ^ 131071 * 10
SELECT 1e131071 * 10
SELECT length((1e131071 * 9.99)::text), length(1e131071::text)
SELECT 1e131072
SELECT .1e131072 = 1e131071, length('0.00001e131076'::numeric::text)
SELECT '1e131072'::numeric
SELECT '0e131072'::numeric, '0e999999'::numeric, '-0e131072'::numeric
SELECT '0e2147483648'::numeric
SELECT '1e1073741823'::numeric
SELECT '1e-1073741824'::numeric
SELECT '1e-16384'::numeric
SELECT '0e-16384'::numeric
SELECT '0.0e-16383'::numeric
SELECT length('1e-16383'::numeric::text), length(('0.' || repeat('1', 16383))::numeric::text)
SELECT length(('0.' || repeat('1', 16384))::numeric::text)
SELECT length(('0.' || repeat('0', 16384))::numeric::text)
SELECT length(repeat('9', 131072)::numeric::text), length((repeat('0', 131073) || '1')::numeric::text), length((repeat('9', 131072) || '.9')::numeric::text)
SELECT repeat('9', 131073)::numeric
SELECT repeat('9', 131072)::numeric + 1
SELECT length((repeat('9', 131072)::numeric + 0.1)::text)
SELECT ceil(repeat('9', 131072)::numeric + 0.5)
SELECT floor(-repeat('9', 131072)::numeric - 0.5)
SELECT round(5e131071, -131072)
SELECT round(4e131071, -131072), round(4e131071, -231072)
SELECT 1e131071 / 0.1
SELECT div(9e131071, 0.1)
SELECT 9e131071 - -9e131071
SELECT sum(x) FROM (VALUES (9e131071), (2e131071)) t(x)
SELECT avg(x) FROM (VALUES (9e131071), (2e131071)) t(x)
SELECT length(sum(x)::text) FROM (VALUES (9e131071), (2e131071), (-2e131071)) t(x)
SELECT length((2::numeric ^ 435411)::text)
SELECT 2::numeric ^ 435412
SELECT length((9.99::numeric ^ 131100)::text)
SELECT scale('1e-16383'::numeric * '1e-16383'::numeric), length((('1.' || repeat('0', 16383))::numeric * 1e131071)::text)
SELECT length(lcm(1e131071, 3)::text), length(lcm(1e131070, 7e131071)::text)
SELECT 1e131071 % 7
SELECT count(*) FROM generate_series(9e131071, 9.9e131071, 9e131071)
SELECT length((jsonb '1e131071')::numeric::text)
SELECT jsonb_path_query(jsonb '[9e131071]', '$[0] + $[0]')
-- The bounds of a float are not among its shortest texts.
SELECT 44000000000::real, 9400000000::float4, (-44000000000)::real, 1e23::float8, 7e22::float8, '2.793320432587915e+16'::float8, (2 ^ -12)::real
SELECT to_jsonb(1e23::float8), ARRAY[7e22::float8, 0.1], 1e15::float8, 123456789012345::float8, 0.0001::real, 1e-5::real, -100000::real, 1e6::real
SELECT 4294967295::oid::int4, 2147483648::oid::int4, 7::oid::int4, 4294967295::oid::int8
SELECT (1e-300::float8)::real
SELECT to_char(-5, '99.MI'), to_char(-5, '9.S'), to_char(-1234.5, '9,999.SG'), to_char(0, '9D,'), to_char(5, 'FM9."x"9'), to_char(5, '9.9MI')
SELECT to_char(-12345.6::float8, '9.99EEEE'), to_char(-5::float8, '9EEEE')
SELECT to_char(12, 'RNSGx'), to_char(12, 'PLRN'), to_char(12, 'MIFMRN')
SELECT to_char('NaN'::numeric, 'RN')
SELECT to_char(99999999999::numeric, 'RN')
SELECT to_number('<5>', 'L9'), to_number('  7', 'SG9B'), to_number('-12', 'th0')
SELECT to_number('-12', 'MI')
SELECT to_number('7+', 'MIx9THSG')
SELECT to_number('123.4', '99.9')
