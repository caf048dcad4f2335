-- alone
-- width_bucket of numerics is exact; logarithms of denormal doubles.
SELECT width_bucket(0.29,0,1,100), width_bucket(0.57,0,1,100), width_bucket(1e400,0,1e401,10), width_bucket(1e400,0,1,10), width_bucket(3,1,3,10), width_bucket(0.999999999,0,1,2147483647)
SELECT i, width_bucket(i / 100.0, 0, 1, 100), width_bucket(i / 100.0, 1, 0, 100), width_bucket(i / 100.0::float8, 0, 1, 100) FROM generate_series(-1, 101) i
SELECT width_bucket(5,0,1,2147483647)
SELECT width_bucket(5::numeric,0,1,2147483647)
SELECT width_bucket('nan'::numeric,0,1,10)
SELECT width_bucket('nan'::numeric,1,1,10)
SELECT width_bucket('nan'::float8,1,1,10)
SELECT width_bucket(1::float8,1,1,0)
SELECT width_bucket(1::numeric,1,1,0)
SELECT width_bucket(1::numeric,1,1,10)
SELECT width_bucket(1::numeric,'inf',1,10)
SELECT width_bucket(1::numeric,'nan',1,10)
SELECT width_bucket('inf'::numeric,0,1,10), width_bucket('-inf'::numeric,0,1,10), width_bucket('-inf'::numeric,1,0,10), width_bucket('inf'::numeric,1,0,10)
SELECT width_bucket(0.5,1,0,10), width_bucket(1,1,0,10), width_bucket(0,1,0,10), width_bucket(-1,1,0,10), width_bucket(2,1,0,10)
SELECT width_bucket(9e131071,-9e131071,9.1e131071,2147483646), width_bucket(1e-16383,0,2e-16383,2147483646)
SELECT width_bucket(0.5,array[0.1,0.2,1]), width_bucket(5,array[]::int[]), width_bucket('nan'::float8,array[0.1,1,'nan'::float8]), width_bucket(3, array[5,1,4,2,8,0,3])
SELECT width_bucket(0.5,array[0.1,null])
SELECT width_bucket(0.99999999999999999999999999999, 0,1,3), width_bucket(0.66666666666666666666666666666666666666666666666666, 0,1,3), width_bucket(1/3.0, 0,1,3), width_bucket(0.9999999999999999::float8, 0, 1, 2147483646)
SELECT width_bucket('1'::text, 0, 1, 2)
SELECT width_bucket(1::int8, 0, 10::float8, 2), width_bucket(1::int2, 0::int8, 10, 2)
SELECT ln(5e-324::float8), log(5e-324::float8), log10(5e-324::float8), log(1e-310::float8), ln(2.2e-308::float8), ln(2.3e-308::float8), log(1e-320::float8), log(1e23::float8), log(1e-5::float8), log(8::float8), log(2.2250738585072014e-308::float8), ln(2.2250738585072014e-308::float8)
SELECT i, ln(i * 5e-324::float8), log(i * 5e-324::float8), ln(i * 1e-318::float8), log10(i * 1e-312::float8) FROM generate_series(1, 40) i
