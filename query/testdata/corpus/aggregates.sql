-- Ordered-set aggregates.
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n), percentile_disc(0.5) WITHIN GROUP (ORDER BY n), percentile_cont(0.25) WITHIN GROUP (ORDER BY n DESC), percentile_disc(0) WITHIN GROUP (ORDER BY n), percentile_disc(1) WITHIN GROUP (ORDER BY n), mode() WITHIN GROUP (ORDER BY n % 3) FROM generate_series(1, 10) n
SELECT percentile_cont(ARRAY[0, 0.25, 0.5, 1, NULL]) WITHIN GROUP (ORDER BY n), percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY n::text) FROM generate_series(1, 9) n
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY i), percentile_disc(0.5) WITHIN GROUP (ORDER BY i) FROM (VALUES (interval '1 day'), ('2 days 3 hours'), (NULL)) v(i)
SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY x), percentile_cont(NULL) WITHIN GROUP (ORDER BY x) FROM (VALUES (1.5), (2.5), (NULL)) v(x)
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x), percentile_disc(0.5) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY x), percentile_cont(ARRAY[0.5]) WITHIN GROUP (ORDER BY x) FROM (SELECT 1 AS x WHERE false) v
SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY n) FILTER (WHERE n > 2), mode() WITHIN GROUP (ORDER BY n DESC) FROM (SELECT n, n % 2 AS g FROM generate_series(1, 8) n) x GROUP BY g ORDER BY g
SELECT g, percentile_cont(g::float8 / 2) WITHIN GROUP (ORDER BY n) FROM (SELECT n, n % 2 AS g FROM generate_series(1, 8) n) x GROUP BY g ORDER BY g
SELECT percentile_cont(n) WITHIN GROUP (ORDER BY n) FROM generate_series(0, 1) n
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY n) FROM generate_series(0, 1) n
SELECT percentile_disc(-1) WITHIN GROUP (ORDER BY n) FROM generate_series(0, 1) n
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n::text) FROM generate_series(0, 1) n
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n, n) FROM generate_series(0, 1) n
SELECT percentile_cont(0.5) FROM generate_series(0, 1) n
SELECT percentile_cont(0.5, 1) WITHIN GROUP (ORDER BY n) FROM generate_series(0, 1) n
SELECT mode() FROM generate_series(0, 1) n
SELECT sum(n) WITHIN GROUP (ORDER BY n) FROM generate_series(0, 1) n
SELECT lower('x') WITHIN GROUP (ORDER BY n) FROM generate_series(0, 1) n
SELECT rank(3) WITHIN GROUP (ORDER BY n), dense_rank(3) WITHIN GROUP (ORDER BY n / 2), percent_rank(3) WITHIN GROUP (ORDER BY n), cume_dist(3) WITHIN GROUP (ORDER BY n) FROM generate_series(1, 6) n
SELECT rank(3) WITHIN GROUP (ORDER BY n DESC), rank('c', 2) WITHIN GROUP (ORDER BY t, n), dense_rank('b') WITHIN GROUP (ORDER BY t DESC) FROM (VALUES ('a', 1), ('b', 2), ('b', 3), ('c', 1), ('c', 2)) v(t, n)
SELECT rank(3) WITHIN GROUP (ORDER BY n), dense_rank(3) WITHIN GROUP (ORDER BY n), percent_rank(3) WITHIN GROUP (ORDER BY n), cume_dist(3) WITHIN GROUP (ORDER BY n) FROM (SELECT 1 AS n WHERE false) x
SELECT rank(NULL::int) WITHIN GROUP (ORDER BY n), cume_dist(NULL::int) WITHIN GROUP (ORDER BY n NULLS FIRST) FROM (VALUES (1), (NULL), (2)) v(n)
SELECT rank(1, 2) WITHIN GROUP (ORDER BY n) FROM generate_series(1, 2) n
SELECT rank('x') WITHIN GROUP (ORDER BY n) FROM generate_series(1, 2) n
SELECT rank(true) WITHIN GROUP (ORDER BY n) FROM generate_series(1, 2) n
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n) OVER () FROM generate_series(1, 2) n
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY doc->'i') FROM docs
-- Statistics.
SELECT stddev(n), stddev_pop(n), stddev_samp(n), variance(n), var_pop(n), var_samp(n) FROM generate_series(1, 10) n
SELECT stddev(n), stddev_pop(n), variance(n), var_pop(n) FROM (VALUES (1.5), (2.25), (3.125), (100)) v(n)
SELECT stddev(n), stddev_pop(n), variance(n), var_pop(n) FROM (VALUES (1.5::float8), (2.25), (3.125), (100)) v(n)
SELECT stddev(n), var_pop(n) FROM (VALUES (1.5::float4), (2.25), (3.125), (100)) v(n)
SELECT stddev(n::int2), var_samp(n::int8), stddev_pop(n::int8) FROM generate_series(1, 4) n
SELECT stddev(n), stddev_pop(n), variance(n), var_pop(n), stddev(n::float8), var_pop(n::float8) FROM (VALUES (7)) v(n)
SELECT stddev(n), stddev_pop(n), stddev(n::float8) FROM (SELECT 1 AS n WHERE false) v
SELECT stddev(n), variance(n) FROM (VALUES ('NaN'::numeric), (1)) v(n)
SELECT stddev(n), variance(n), var_pop(n) FROM (VALUES ('NaN'::float8), (1)) v(n)
SELECT var_pop(n), var_samp(n) FROM (VALUES ('Infinity'::float8), (1)) v(n)
SELECT var_pop(n) FROM (VALUES (1e200::float8), (-1e200)) v(n)
SELECT variance(n) FROM (VALUES (5), (5), (5)) v(n)
SELECT stddev(n) FROM (VALUES (0.000001), (0.0000011)) v(n)
SELECT stddev(n) FROM (VALUES (123456789012345678901234567890), (123456789012345678901234567891)) v(n)
SELECT variance('x')
SELECT variance(true)
SELECT corr(y, x), covar_pop(y, x), covar_samp(y, x), regr_slope(y, x), regr_intercept(y, x), regr_r2(y, x), regr_count(y, x), regr_avgx(y, x), regr_avgy(y, x), regr_sxx(y, x), regr_syy(y, x), regr_sxy(y, x) FROM (VALUES (1.0, 2.0), (2.5, 3.7), (3.1, 4.9), (NULL, 1), (4, NULL)) v(y, x)
SELECT corr(y, x), covar_samp(y, x), regr_slope(y, x), regr_r2(y, x), regr_count(y, x) FROM (VALUES (1, 2)) v(y, x)
SELECT corr(y, x), regr_slope(y, x), regr_r2(y, x), regr_intercept(y, x) FROM (VALUES (1, 2), (1, 3)) v(y, x)
SELECT corr(y, x), regr_count(y, x), regr_sxx(y, x) FROM (SELECT 1 AS y, 2 AS x WHERE false) v
SELECT bit_and(n), bit_or(n), bit_xor(n), bit_and(n::int2), bit_or(n::int8) FROM (VALUES (7), (5), (NULL), (13)) v(n)
SELECT bit_and(n), bit_or(n) FROM (SELECT 1 AS n WHERE false) v
SELECT bool_and(b), bool_or(b), every(b) FROM (VALUES (true), (NULL), (false)) v(b)
SELECT sum(i), avg(i), min(i), max(i) FROM (VALUES (interval '1 day 2 hours'), ('3 hours'), (NULL), ('1 mon')) v(i)
SELECT avg(i) FROM (VALUES (interval '1 mon'), ('2 mons 1 day')) v(i)
-- ORDER BY and DISTINCT in the arguments.
SELECT string_agg(x, ',' ORDER BY x), string_agg(x, ',' ORDER BY x DESC), string_agg(DISTINCT x, ','), string_agg(DISTINCT x, '-' ORDER BY x DESC) FROM (VALUES ('b'), ('a'), ('c'), ('a')) v(x)
SELECT array_agg(DISTINCT x), array_agg(DISTINCT x ORDER BY x DESC), array_agg(x ORDER BY y DESC, x), array_agg(DISTINCT y) FROM (VALUES (3, 'a'), (1, 'b'), (NULL, 'a'), (3, 'b')) v(x, y)
SELECT array_agg(x ORDER BY x NULLS FIRST), array_agg(x ORDER BY x DESC NULLS LAST) FROM (VALUES (3), (1), (NULL)) v(x)
SELECT count(DISTINCT x), sum(DISTINCT x), avg(DISTINCT x), count(DISTINCT (x, y)) FROM (VALUES (3, 'a'), (1, 'b'), (NULL, 'a'), (3, 'b'), (3, 'b')) v(x, y)
SELECT json_agg(DISTINCT x), jsonb_agg(DISTINCT x ORDER BY x DESC), jsonb_agg(x ORDER BY y) FROM (VALUES (3, 2), (1, 1), (3, 0)) v(x, y)
SELECT string_agg(x, y ORDER BY x) FROM (VALUES ('b', '-'), ('a', '+'), ('c', NULL)) v(x, y)
SELECT string_agg(x::bytea, '\x00'::bytea ORDER BY x) FROM (VALUES ('b'), ('a')) v(x)
SELECT array_agg(DISTINCT x ORDER BY y) FROM (VALUES (3, 2), (1, 1)) v(x, y)
SELECT string_agg(DISTINCT x, ',' ORDER BY y) FROM (VALUES ('3', 2), ('1', 1)) v(x, y)
SELECT count(DISTINCT '{}'::json)
SELECT array_agg(x ORDER BY '{}'::json) FROM (VALUES (1)) v(x)
SELECT string_agg(1, ',')
SELECT string_agg('a')
SELECT count(DISTINCT *)
SELECT sum(*)
SELECT count()
SELECT sum()
SELECT sum(x) FILTER (WHERE x > 1), count(*) FILTER (WHERE x IS NULL), string_agg(x::text, ',' ORDER BY x DESC) FILTER (WHERE x < 3), count(x) FILTER (WHERE NULL) FROM (VALUES (1), (2), (3), (NULL)) v(x)
SELECT lower('a') FILTER (WHERE true)
SELECT sum(x) FILTER (WHERE x) FROM (VALUES (1)) v(x)
SELECT sum(x) FILTER (WHERE sum(x) > 1) FROM (VALUES (1)) v(x)
SELECT sum(sum(x)) FROM (VALUES (1)) v(x)
SELECT x FROM (VALUES (1)) v(x) WHERE sum(x) > 0
SELECT x, sum(x) FROM (VALUES (1)) v(x)
SELECT min(true)
SELECT max('{}'::json)
SELECT min(x), max(x) FROM (VALUES ('b'), ('a'), ('C')) v(x)
SELECT min(x), max(x) FROM (VALUES (ARRAY[1,2]), (ARRAY[1]), (ARRAY[0,5,6])) v(x)
SELECT array_agg(n), array_agg(NULL::int), array_agg('x'::text) FROM generate_series(1, 2) n
SELECT json_object_agg(k, v ORDER BY k DESC), jsonb_object_agg(k, v) FROM (VALUES ('a', 1), ('b', 2)) x(k, v)
SELECT jsonb_object_agg(NULL, 1)
-- Square roots, logarithms and powers of e.
SELECT sqrt(2), sqrt(2.0), sqrt(2::numeric), sqrt(0.0), sqrt(1e20), sqrt(1e-20), sqrt(123456789.123456789), sqrt('NaN'::numeric), sqrt('Infinity'::numeric)
SELECT sqrt(4::int8), pg_typeof(sqrt(4)), pg_typeof(sqrt(4.0)), pg_typeof(ln(2.0)), pg_typeof(exp(1.0)), pg_typeof(log(10.0)), pg_typeof(log(2.0, 8.0)), pg_typeof(log(100))
SELECT sqrt(0.00000000000000000000000001234), sqrt(99999), sqrt(10000.0), sqrt(9999.9999), sqrt(0.5), sqrt(12345678901234567890123456789012345678901234567890.5)
SELECT sqrt(-1.0)
SELECT sqrt(-1)
SELECT sqrt('-Infinity'::numeric)
SELECT ln(2.0), ln(10.0), ln(1.0), ln(0.5), ln(1.1), ln(1.0001), ln(0.99999999), ln(1e100), ln(1e-100), ln(123456.789), ln(2.71828182845904523536), ln(100000000000000000000.0), ln(0.9), ln(1.00000000000000000001)
SELECT ln(0.0)
SELECT ln(-1.0)
SELECT ln(0)
SELECT ln(-1)
SELECT ln('Infinity'::numeric), ln('NaN'::numeric)
SELECT ln('-Infinity'::numeric)
SELECT log(100.0), log(2.0), log(0.001), log(1e50), log10(1000.0), log10(2.0), log(100), log10(0.5)
SELECT log(2.0, 64.0), log(2.0, 3.0), log(0.5, 8.0), log(1.1, 1000.0), log(10.0, 1.0), log(1.0001, 2.0), log(3.0, 1e100), log(12.0, 0.0000001)
SELECT log(1.0, 2.0)
SELECT log(0.0, 2.0)
SELECT log(-2.0, 2.0)
SELECT log(2.0, 0.0)
SELECT log('Infinity'::numeric, 2.0), log(2.0, 'Infinity'::numeric), log('Infinity'::numeric, 'Infinity'::numeric), log('NaN'::numeric, 2.0)
SELECT exp(1.0), exp(0.0), exp(-1.0), exp(10.0), exp(100.0), exp(-100.0), exp(0.5), exp(1.000000000000000000000000001), exp(1000.0), exp(5.5555)
SELECT exp(-10000.0), exp('-Infinity'::numeric), exp('Infinity'::numeric), exp('NaN'::numeric), exp(-1000.0)
SELECT exp(10000.0)
SELECT exp(1), exp(1::float8), exp(710)
SELECT exp(710::float8)
-- There is no max of varchar or name.
SELECT max('a'::varchar), min('a'::name), max(x) FROM (VALUES ('a'::varchar(3)), ('b')) t(x)
-- Negative zero.
SELECT sum(-0.0), sum(x), avg(x), min(x), max(x) FROM (VALUES ('-0'::float8)) v(x)
SELECT sum(x::float8), avg(x::float8) FROM (VALUES ('-0'), ('-0')) v(x)
SELECT sum(x::float4), avg(x::float4) FROM (VALUES ('-0'), ('-0')) v(x)
SELECT sum(x::float8) OVER (), avg(x::float8) OVER () FROM (VALUES ('-0'), ('-0')) v(x)
SELECT sum(x) OVER (ROWS 1 PRECEDING) FROM (VALUES ('-0'::float8), ('-0'), ('0'), ('-0'), ('-0')) v(x)
SELECT min(x), max(x) FROM (VALUES ('-0'::float8), ('0')) v(x)
SELECT min(x), max(x) FROM (VALUES ('0'::float8), ('-0')) v(x)
SELECT x FROM (VALUES ('0'::float8), ('-0')) v(x) GROUP BY x
SELECT DISTINCT x FROM (VALUES ('-0'::float8), ('0')) v(x)
SELECT -0.0, - 0.0::float8, -(0.0::float4), 0.0 * -1, 0::float8 * -1, '-0'::numeric, '-0.00'::numeric, -0.00
SELECT variance(x), stddev(x), var_pop(x), stddev_pop(x) FROM (VALUES ('-0'::float8), ('-0')) v(x)
SELECT sum(x) FILTER (WHERE x > 1) FROM (VALUES ('-0'::float8)) v(x)
SELECT regr_slope(y, x), regr_avgx(y, x), regr_sxx(y, x), regr_sxy(y, x), corr(y, x), covar_pop(y,x), covar_samp(y,x), regr_count(y,x), regr_intercept(y,x), regr_r2(y,x) FROM (VALUES ('-0'::float8, '-0'::float8), (1, 1)) v(x, y)
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM (VALUES ('-0'::float8), ('-0')) v(x)
SELECT mode() WITHIN GROUP (ORDER BY x) FROM (VALUES ('-0'::float8), ('0')) v(x)
SELECT count(DISTINCT x) FROM (VALUES ('-0'::float8), ('0')) v(x)
SELECT array_agg(x), string_agg(x::text, ','), json_agg(x), jsonb_agg(x) FROM (VALUES ('-0'::float8), ('0')) v(x)
