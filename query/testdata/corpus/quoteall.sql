-- quote_all_identifiers
SET quote_all_identifiers = true
SELECT 'pg_class'::regclass, 'lower(text)'::regprocedure, '+(int4,int4)'::regoperator, '_text'::regtype, format_type(25,-1), format_type(1043,8), format_type(1009,-1), quote_ident('a'), quote_ident('A b'), format('%I %s','b','c')
SELECT '"char"'::regtype, 'anyelement'::regtype, 'int4'::regtype, 'numeric'::regtype, 'interval'::regtype, 'timestamptz'::regtype, 'jsonb'::regtype, 'oidvector'::regtype, 'pg_catalog'::regnamespace
SELECT pg_typeof('a'::text), pg_typeof(1), pg_typeof(ARRAY['a'])
SELECT format_type(1700, 327686), format_type(1186, -1), format_type(1042, 8), format_type(18, NULL), format_type(705, NULL)
SELECT 'int4pl'::regproc, 'abs(int8)'::regprocedure
SELECT identity, schema, name FROM pg_identify_object('pg_type'::regclass, 25, 0)
SELECT 'docs'::regclass, 'docs'::regtype, '"C"'::regcollation
SELECT format_type(1042, -1), format_type(1014, -1), format_type(1042, NULL)
SHOW quote_all_identifiers
RESET quote_all_identifiers
SELECT 'pg_class'::regclass, quote_ident('a')
SELECT quote_ident('a'), 'pg_class'::regclass, format_type(25, -1)
