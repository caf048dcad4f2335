-- Pairs of types: which casts, operators and common types exist.
SELECT pg_typeof(CASE WHEN true THEN 1 ELSE 'pg_class'::regclass END), pg_typeof(coalesce(1, 'pg_class'::regclass)), pg_typeof(coalesce(1::oid, 'pg_class'::regclass))
SELECT pg_typeof(x), x FROM (SELECT 'pg_class'::regclass UNION SELECT 1259) t(x)
SELECT pg_typeof(x) FROM (VALUES ('pg_class'::regclass), (1::oid), (1)) t(x)
SELECT pg_typeof(ARRAY['pg_class'::regclass, 1]), pg_typeof(ARRAY[1::bigint, 1::oid]), pg_typeof(ARRAY['int4'::regtype, 1::oid])
SELECT coalesce('pg_class'::regclass, 'int4'::regtype)
SELECT ARRAY['pg_class'::regclass, 'int4'::regtype]
SELECT CASE WHEN true THEN 'int4'::regtype ELSE 'pg_class'::regclass END
VALUES ('pg_class'::regclass), ('int4'::regtype)
SELECT 'pg_class'::regclass UNION ALL SELECT 'int4'::regtype
SELECT pg_typeof(nullif('pg_class'::regclass, 1)), pg_typeof(nullif(1::smallint, 2::bigint)), pg_typeof(nullif('a'::varchar, 'b')), pg_typeof(nullif(1::smallint, NULL))
SELECT pg_typeof(nullif('a'::name, 'b'::text)), pg_typeof(nullif('a'::"char", 'b')), pg_typeof(nullif(1.5::real, 2)), pg_typeof(nullif(ARRAY[1], ARRAY[2]))
SELECT pg_typeof(coalesce(ARRAY['a'::text], ARRAY['b'::varchar])), pg_typeof(coalesce(ARRAY['a'::name], ARRAY['b'::text]))
SELECT '1'::xid < '2'::xid
SELECT '1'::xid = '1'::xid, '1'::xid = 1, '4294967295'::xid = -1, '1'::xid <> 2, '1'::xid IN (1, 2), '1'::xid = ANY (ARRAY[1, 3])
SELECT 1 = '1'::xid
SELECT '1'::xid = 1::bigint
SELECT '1'::xid::oid
SELECT x FROM (VALUES ('1'::xid), ('2')) t(x) ORDER BY x
SELECT greatest('1'::xid, '2'::xid)
SELECT count(DISTINCT x) FROM (VALUES ('1'::xid), ('1')) t(x)
-- unordered: PostgreSQL hashes
SELECT DISTINCT x FROM (VALUES ('1'::xid), ('1'), ('2')) t(x)
SELECT max('1'::xid)
SELECT greatest('1'::json, '2'::json)
SELECT DISTINCT '$'::jsonpath
SELECT ARRAY['{}'::json] ORDER BY 1
SELECT '1'::oid + 1
SELECT '1'::oid & 1
SELECT 'pg_class'::regclass * 2
SELECT '1'::oid = 1::bigint, '1'::oid < 2, 'pg_class'::regclass = 1259, 'pg_class'::regclass IN (1259, 7)
SELECT '1'::oid = 4294967296
SELECT 'pg_class'::regclass = 'pg_class'::text
SELECT 'pg_class'::text::regclass, 'int4'::text::regtype
SELECT 'pg_class'::regclass::regtype
SELECT 'a'::"char"::bigint
SELECT 'a'::"char"::int, 97::"char", 'a'::"char"::varchar, 'a'::"char"::name
SELECT 'true'::"char"::bool
SELECT 'ab'::"char" || ARRAY['x']
SELECT coalesce('a'::"char", 'b'::text)
SELECT 1::unknown
SELECT row(1)::"char"
SELECT '(1)'::text::record
SELECT ARRAY[1, 2]::int2vector
SELECT NULL::anyarray::int[]
SELECT '1 2'::int2vector::int[], '1 2'::oidvector::bigint[]
SELECT '1 2'::int2vector || '3 4'::int2vector, pg_typeof('1 2'::oidvector || 3::oid)
SELECT pg_typeof('a'::name || ARRAY['b'::text]), pg_typeof('a'::text || ARRAY['b'::varchar]), pg_typeof(ARRAY['a'::name] || ARRAY['b'::text])
SELECT pg_typeof(1::regclass || ARRAY[2]), pg_typeof(1::bigint || ARRAY[2::oid])
SELECT ARRAY[1] || ARRAY['a'::text]
SELECT ARRAY[1] || 'a'::text
SELECT ARRAY[1] || ARRAY[1.5], 1.5 || ARRAY[1], ARRAY[1] || 2::bigint
SELECT ARRAY[1] && ARRAY[1.5]
SELECT ARRAY[1] @> ARRAY[1::bigint]
SELECT ARRAY['a'::text] <@ ARRAY['a'::varchar]
SELECT ARRAY[1] = ARRAY[1::bigint]
SELECT '1 2'::oidvector = ARRAY[1::oid, 2::oid]
SELECT array_append(ARRAY[1], 2.5), array_prepend(1::bigint, ARRAY[2]), array_cat(ARRAY[1], ARRAY[2.5]), array_position(ARRAY[1, 2], 2::bigint), array_remove(ARRAY[1, 2], 2.0)
SELECT 1 @> NULL
SELECT NULL @> 1
SELECT 5 <@ NULL
SELECT '{"a": 1}'::jsonb -> 1::bigint
SELECT '[1, 2]'::jsonb -> 1::smallint
SELECT 'a'::"char" ~~ 5
SELECT 'a' ~ 5
SELECT json '1' = json '1'
SELECT json '1' IS DISTINCT FROM NULL, NULL IS NOT DISTINCT FROM json '1', NULL IS DISTINCT FROM NULL
SELECT json '1' IS DISTINCT FROM json '1'
SELECT 1 IS DISTINCT FROM 'a'::text
SELECT time '1:00' IN (interval '1 hour', interval '2 hours'), time '1:00' = interval '1 hour'
SELECT coalesce(time '1:00', interval '1 hour')
SELECT 1 IN (1, 'a'::text)
SELECT 1.5::real IN (1.5, 2), 0.1::real IN (0.1), 0.1::real IN (0.1, 0.2)
SELECT ARRAY[row(1)] = row(1)
SELECT coalesce(ARRAY[row(1)], ARRAY[1])
SELECT '0/10'::pg_lsn + 5, 5.7 + '0/10'::pg_lsn, '0/10'::pg_lsn - 3::numeric, '0/10'::pg_lsn - '0/5'::pg_lsn, '0/10'::pg_lsn - 0.5
SELECT '0/10'::pg_lsn - 17
SELECT '0/10'::pg_lsn + 'NaN'::numeric
SELECT '0/10'::pg_lsn - 'Infinity'::numeric
SELECT 'FFFFFFFF/FFFFFFFF'::pg_lsn + 1
SELECT '0/10'::pg_lsn < '1/0', '7'::xid8 > '6'::xid8, '0/10'::pg_lsn IN ('0/10', '0/11')
SELECT '1'::cid, cid '-1', '(0,1)'::tid, tid '(4294967295,65535)', '1'::cid = '1'::cid, '(0,2)'::tid < '(0,10)'::tid, '(1,0)'::tid > '(0,7)'::tid
SELECT max(x), min(x) FROM (VALUES (tid '(0,2)'), ('(0,10)')) t(x)
SELECT '(0,65536)'::tid
SELECT '(0)'::tid
SELECT 'x'::tid
SELECT '{1,2}'::xid[], '{"(0,1)"}'::tid[], ARRAY[1::regrole]
SELECT '1'::cid < '2'::cid
SELECT array_agg(x ORDER BY x) FROM (VALUES (tid '(0,10)'), ('(0,9)')) t(x)
SELECT json_agg('x')
SELECT jsonb_agg(NULL)
SELECT json_object_agg('x', 'y'), min('x'), max('y')
SELECT mode() WITHIN GROUP (ORDER BY 'x')
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY 'x')
SELECT max('int4'::regtype), pg_typeof(max('int4'::regtype)), max('1'::xid8), max('0/1'::pg_lsn)
SELECT max('1 2'::oidvector)
SELECT x, (SELECT grouping(x)+grouping(y)*10), (SELECT grouping(y)), rank() OVER (ORDER BY (SELECT grouping(x)), x) FROM (VALUES (1,2),(2,3)) t(x,y) GROUP BY GROUPING SETS ((x),(y),()) ORDER BY 1, 2, 3, 4
SELECT array_append(NULL, ARRAY[1])
SELECT array_fill(ARRAY[1], ARRAY[2])
SELECT array_length(NULL, 1)
SELECT array_to_string('{1,2}', ',')
SELECT rank(1)
SELECT cume_dist(1, 2)
SELECT width_bucket(ARRAY[1], NULL)
SELECT cardinality('{1}')
SELECT unnest('{1,2}')
SELECT * FROM unnest('{1,2}')
SELECT (SELECT array_agg((SELECT t.x) ORDER BY (SELECT -t.x))) FROM (VALUES (1),(2)) t(x)
