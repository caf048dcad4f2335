-- What administration tools ask about objects: pgAdmin's dependents, DBeaver's aggregates, schema diffs.
SELECT * FROM pg_identify_object('pg_class'::regclass, 'docs'::regclass, 0)
SELECT * FROM pg_identify_object('pg_class'::regclass, 'docs'::regclass, 2)
SELECT * FROM pg_identify_object('pg_class'::regclass, 'docs'::regclass, 77)
SELECT * FROM pg_identify_object('pg_class'::regclass, 'docs_pkey'::regclass, 0)
SELECT * FROM pg_identify_object('pg_class'::regclass, 'pg_stat_activity'::regclass, 1)
SELECT * FROM pg_identify_object('pg_class'::regclass, 999999, 0)
SELECT * FROM pg_identify_object('pg_type'::regclass, 'int4'::regtype, 0)
SELECT * FROM pg_identify_object('pg_type'::regclass, 'jsonb[]'::regtype, 0)
SELECT * FROM pg_identify_object('pg_type'::regclass, '"char"'::regtype, 0)
SELECT * FROM pg_identify_object('pg_type'::regclass, 999999, 0)
SELECT * FROM pg_identify_object('pg_namespace'::regclass, 'by'::regnamespace, 0)
SELECT * FROM pg_identify_object('pg_namespace'::regclass, 999999, 0)
SELECT type, schema, name, identity = 'docs_pkey on public.docs' FROM pg_identify_object('pg_constraint'::regclass, (SELECT oid FROM pg_constraint WHERE conname = 'docs_pkey'), 0)
SELECT type, schema, name = current_database(), identity = current_database() FROM pg_identify_object('pg_database'::regclass, (SELECT oid FROM pg_database WHERE datname = current_database()), 0)
SELECT type, schema, name = current_user FROM pg_identify_object('pg_authid'::regclass, current_user::regrole, 0)
SELECT * FROM pg_identify_object('pg_proc'::regclass, 'starts_with'::regproc, 0)
SELECT * FROM pg_identify_object('pg_proc'::regclass, 'pg_typeof'::regproc, 0)
SELECT * FROM pg_identify_object('pg_proc'::regclass, 'bool_and'::regproc, 0)
-- differs: PostgreSQL reports an internal error, XX000
SELECT * FROM pg_identify_object('pg_index'::regclass, 1, 0)
-- differs: PostgreSQL reports an internal error, XX000
SELECT * FROM pg_identify_object(999998, 1, 0)
SELECT * FROM pg_identify_object_as_address('pg_class'::regclass, 'docs'::regclass, 0)
SELECT * FROM pg_identify_object_as_address('pg_class'::regclass, 'docs'::regclass, 2)
SELECT * FROM pg_identify_object_as_address('pg_type'::regclass, 'int4[]'::regtype, 0)
SELECT * FROM pg_identify_object_as_address('pg_proc'::regclass, 'starts_with'::regproc, 0)
SELECT * FROM pg_identify_object_as_address('pg_namespace'::regclass, 'by'::regnamespace, 0)
SELECT * FROM pg_identify_object_as_address('pg_constraint'::regclass, (SELECT oid FROM pg_constraint WHERE conname = 'docs_pkey'), 0)
SELECT (pg_identify_object('pg_class'::regclass, oid, 0)).identity, relname FROM pg_class WHERE relname = 'docs'
SELECT (pg_identify_object('pg_class'::regclass, oid, 0)).* FROM pg_class WHERE relname = 'docs'
SELECT (pg_identify_object('pg_proc'::regclass, aggfnoid, 0)).identity, aggtransfn::regproc FROM pg_aggregate WHERE aggfnoid = 0
SELECT p, pg_index_column_has_property('docs_pkey'::regclass, 1, p), pg_index_has_property('docs_pkey'::regclass, p), pg_indexam_has_property(403, p) FROM unnest(ARRAY['asc', 'desc', 'nulls_first', 'nulls_last', 'orderable', 'distance_orderable', 'returnable', 'search_array', 'search_nulls', 'clusterable', 'index_scan', 'bitmap_scan', 'backward_scan', 'can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'can_include', 'x', 'ASC']) p
SELECT pg_index_has_property('docs'::regclass, 'clusterable'), pg_index_column_has_property('docs_pkey'::regclass, 2, 'asc'), pg_indexam_has_property(2, 'can_order'), pg_get_replica_identity_index('docs'), pg_get_replica_identity_index('docs_pkey')
SELECT classid::regclass, objsubid, refclassid::regclass, refobjsubid, deptype FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = 'docs_pkey'::regclass OR classid = 'pg_constraint'::regclass AND objid = (SELECT oid FROM pg_constraint WHERE conname = 'docs_pkey') ORDER BY 1, 2, 3, 4, 5
SELECT i, pg_encoding_to_char(i), pg_encoding_max_length(i), pg_char_to_encoding(pg_encoding_to_char(i)) FROM generate_series(-1, 43) i
SELECT pg_char_to_encoding('latin1'), pg_char_to_encoding('ISO 8859-1'), pg_char_to_encoding('x'), pg_char_to_encoding('Unicode'), pg_char_to_encoding('windows-1251'), pg_char_to_encoding('utf-8'), pg_char_to_encoding('')
