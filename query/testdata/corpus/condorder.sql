-- Conditions of one WHERE, of which the cheapest comes first, so that casts do not see the rows that others leave out.
SELECT x FROM (VALUES ('1'), ('a'), ('22')) v(x) WHERE x::int > 0 AND x <> 'a' ORDER BY 1
SELECT x FROM (VALUES ('1'), ('a'), ('22')) v(x) WHERE x::int > 0 AND x LIKE '2%' ORDER BY 1
SELECT x FROM (VALUES ('1'), ('a'), ('22')) v(x) WHERE x::int BETWEEN 1 AND 30 AND x IN ('1', '22') ORDER BY 1
SELECT x FROM (VALUES ('1'), ('a'), (NULL)) v(x) WHERE x::int > 0 AND x IS NULL
SELECT x FROM (VALUES (0), (2)) v(x) WHERE 1 / x >= 0 AND x <> 0
SELECT x FROM (VALUES ('1'), ('a')) v(x) WHERE x <> 'b' AND x::int > 0
SELECT x FROM (VALUES ('a')) v(x) WHERE x::int > 0 AND length(lower(upper(lower(x)))) > 1
SELECT x FROM (VALUES ('{"n": 1}'::jsonb), ('{"n": 1e30}')) v(x) WHERE (x->>'n')::int > 0 AND x->>'n' = '1'
SELECT id FROM docs WHERE (doc->>'city')::int > 0 AND id LIKE 'nosuch%'
SELECT id FROM docs WHERE (doc #>> '{city}')::bigint BETWEEN 1 AND 9 AND id = 'nosuch'
