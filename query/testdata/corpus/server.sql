-- Functions about the server, its log, sequences and time zones; types xid8 and pg_lsn.
SELECT current_query()
SELECT pg_typeof(pg_current_xact_id()), pg_current_xact_id()::text::bigint = txid_current(), pg_current_xact_id_if_assigned() IS NULL OR true
SELECT pg_current_xact_id() = pg_current_xact_id(), pg_current_xact_id() >= '3'::xid8
SELECT '42'::xid8, ' 0x10'::xid8, 'abc'::xid8, '12x'::xid8, '-1'::xid8, '18446744073709551615'::xid8, ''::xid8, '010'::xid8
SELECT '42'::xid8 < '18446744073709551615'::xid8, '42'::xid8 = '42', '42'::xid8 <> '43', max(x) FROM (VALUES ('1'::xid8), ('9223372036854775809')) v(x)
SELECT x FROM (VALUES ('1'::xid8), ('9223372036854775809'), ('0')) v(x) ORDER BY 1
SELECT '42'::xid8 = 42
SELECT '42'::xid8::bigint
SELECT '42'::xid8::text::int, ARRAY['1'::xid8, '2'], to_jsonb('7'::xid8), '7'::xid8::xid
SELECT '0/0'::pg_lsn, '16/b374d848'::pg_lsn, 'FFFFFFFF/FFFFFFFF'::pg_lsn, ARRAY['1/2'::pg_lsn], to_jsonb('1/A'::pg_lsn), '1/a'::pg_lsn::text
SELECT '1/2'::pg_lsn < '2/1', '1/2'::pg_lsn = '1/2', '80000000/0'::pg_lsn > '7FFFFFFF/0', '1/2'::pg_lsn - '0/FF', pg_wal_lsn_diff('0/1', 'FFFFFFFF/0')
SELECT '1'::pg_lsn
SELECT '123456789/1'::pg_lsn
SELECT 'x/1'::pg_lsn
SELECT '1/1'::pg_lsn + '1/1'::pg_lsn
SELECT pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn(), pg_last_xact_replay_timestamp(), pg_is_in_recovery()
SELECT max(x), min(x) FROM (VALUES ('1/1'::pg_lsn), ('2/0')) v(x)
SELECT pg_sleep_for('1 ms'), pg_sleep_until(now()), pg_sleep_for('-1 day')
SELECT nextval('nope')
SELECT nextval('docs')
SELECT currval('docs'), 1
SELECT setval('docs', 1)
SELECT setval('docs', 1, true)
SELECT * FROM pg_partition_tree('docs')
SELECT * FROM pg_partition_ancestors('docs')
SELECT pg_partition_root('docs'), pg_partition_root(NULL)
SELECT pg_describe_object('pg_class'::regclass, 'docs'::regclass, 0), pg_describe_object('pg_class'::regclass, 'docs'::regclass, 1), pg_describe_object('pg_type'::regclass, 'int4'::regtype, 0), pg_describe_object('pg_namespace'::regclass, 'public'::regnamespace, 0), pg_describe_object(NULL, 1, 0)
SELECT pg_relation_filepath('pg_views'), pg_relation_filenode('docs') IS NOT NULL, pg_relation_filenode('pg_views')
SELECT count(*) > 500, count(DISTINCT name) > 500 FROM pg_timezone_names
SELECT name, abbrev, utc_offset, is_dst FROM pg_timezone_names WHERE name IN ('UTC', 'Europe/Oslo', 'America/New_York', 'Asia/Kolkata', 'Etc/GMT-3', 'GMT', 'Zulu', 'Australia/Lord_Howe', 'EST5EDT') ORDER BY 1
SELECT n.name, o.abbrev FROM pg_timezone_names() n JOIN pg_timezone_names o USING (name) WHERE name ~ '^Antarctica' ORDER BY 1
SELECT * FROM pg_timezone_abbrevs ORDER BY abbrev
SELECT * FROM pg_timezone_abbrevs() WHERE abbrev ~ '^C' ORDER BY abbrev
SELECT to_regcollation('C'), to_regcollation('nope'), to_regcollation('pg_catalog."POSIX"')
SELECT pg_collation_actual_version('"C"'::regcollation::oid) FROM pg_class LIMIT 1
SELECT count(*) FROM pg_prepared_statement() WHERE name = 'nope'
SELECT count(*) FROM pg_cursor()
SELECT sent_lsn, replay_lsn FROM pg_stat_replication
SELECT pg_wal_lsn_diff(sent_lsn, replay_lsn) FROM pg_stat_replication
SELECT CASE WHEN usesuper THEN pg_is_in_recovery() ELSE FALSE END AS inrecovery, CASE WHEN usesuper THEN pg_last_wal_receive_lsn() ELSE NULL END AS receivelsn, CASE WHEN usesuper THEN pg_last_wal_replay_lsn() ELSE NULL END AS replaylsn, CASE WHEN usesuper THEN pg_last_xact_replay_timestamp() ELSE NULL END AS replaytimestamp FROM pg_catalog.pg_user WHERE usename = current_user
SELECT to_regcollation('"C"'), to_regcollation('nope'), to_regcollation('pg_catalog."POSIX"'), '"C"'::regcollation, '950'::regcollation, 'nope'::regcollation
SELECT to_regcollation('"C"'), to_regcollation('nope'), to_regcollation('pg_catalog."POSIX"'), '"C"'::regcollation, '950'::regcollation
SELECT to_jsonb(1::oid), to_json('1'::xid), to_jsonb('pg_class'::regclass), json_build_object('a', 5::oid, 'b', true, 'c', 1.50)
