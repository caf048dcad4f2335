-- Unknown settings.
SHOW no_such_setting
SET no_such_setting = 1
RESET no_such_setting
SET LOCAL no_such = 1
SET a.b = 'x'; SHOW a.b
SET a.b.c = 'x'; SHOW a.b.c; RESET a.b.c
SHOW a.c
SET "a b".c = 1
SELECT set_config('1a.b', 'x', false)
SELECT set_config('no_such', 'x', false)
SELECT set_config('a.d', 'x', false), current_setting('a.d'), current_setting('no_such', true) IS NULL
-- Values.
SET work_mem = '64MB'; SHOW work_mem
SET work_mem = '1'
SET work_mem = '65536kB'; SHOW work_mem
SET work_mem = '1.5MB'; SHOW work_mem
SET work_mem = 100000; SHOW work_mem; RESET work_mem; SHOW work_mem
SET work_mem = 'x'
SET work_mem = '5s'
SET jit = 'maybe'
SET jit = of; SHOW jit
SET geqo_seed = 2
SET geqo_seed = 'x'
SET geqo_threshold = 1.6; SHOW geqo_threshold
SET seq_page_cost = '1e1'; SHOW seq_page_cost
SET synchronous_commit = 'xx'
SET synchronous_commit = 'OFF'; SHOW synchronous_commit
SET temp_buffers = '1MB'; SHOW temp_buffers
SET statement_timeout = '1.5s'; SHOW statement_timeout
SET statement_timeout = '100000'; SHOW statement_timeout; RESET statement_timeout
SET statement_timeout = -1
SET statement_timeout = 'x'
SET lock_timeout = '2min'; SHOW lock_timeout
SET idle_in_transaction_session_timeout = '5s'; SHOW idle_in_transaction_session_timeout; RESET idle_in_transaction_session_timeout
SET extra_float_digits = 99
SET extra_float_digits = 'abc'
SET extra_float_digits = 1.5; SHOW extra_float_digits; RESET extra_float_digits
SET transaction_isolation = 'foo'
SET default_transaction_isolation = 'foo'
SET client_min_messages = 'foo'
SET row_security = maybe
SET datestyle = 'foo'
SET timezone = 'nowhere'
SET server_version = '1'
SET CONSTRAINTS ALL DEFERRED
SET search_path = a, 'B c', "D"; SHOW search_path; SET search_path TO DEFAULT; SHOW search_path
-- ROLLBACK undoes the changes of settings in a transaction.
BEGIN; SET search_path = foo; ROLLBACK; SHOW search_path
SET application_name = 'q'; BEGIN; SET application_name = 'zz'; ROLLBACK; SHOW application_name
BEGIN; SET application_name = 'zz'; COMMIT; SHOW application_name
BEGIN; SET LOCAL application_name = 'yy'; SHOW application_name; COMMIT; SHOW application_name
BEGIN; SET LOCAL application_name = 'yy'; SET application_name = 'xx'; COMMIT; SHOW application_name
BEGIN; SET application_name = 'ww'; SET LOCAL application_name = 'vv'; SHOW application_name; COMMIT; SHOW application_name
BEGIN; SET application_name = 'ww'; SET LOCAL application_name = 'vv'; ROLLBACK; SHOW application_name
SET application_name = 'q'; BEGIN; SET application_name = 'zz'; SAVEPOINT a; SET application_name = 'yy'; ROLLBACK TO a; SHOW application_name; COMMIT; SHOW application_name
SET application_name = 'q'; BEGIN; SAVEPOINT a; SET application_name = 'yy'; SAVEPOINT b; SET LOCAL application_name = 'xx'; ROLLBACK TO b; COMMIT; SHOW application_name
SET application_name = 'q'; BEGIN; SAVEPOINT a; SET application_name = 'yy'; RELEASE a; SET application_name = 'xx'; ROLLBACK; SHOW application_name
SET application_name = 'q'; BEGIN; SET LOCAL application_name = 'l'; SAVEPOINT a; SET application_name = 'yy'; ROLLBACK TO a; SHOW application_name; COMMIT; SHOW application_name
SET application_name = 'q'; BEGIN; SET application_name = 'zz'; RESET application_name; ROLLBACK; SHOW application_name
BEGIN; RESET ALL; ROLLBACK; SHOW application_name
BEGIN; SELECT set_config('application_name', 'x', true); SHOW application_name; ROLLBACK; SHOW application_name
BEGIN; SELECT set_config('application_name', 'x', true); COMMIT; SHOW application_name
BEGIN; SELECT set_config('application_name', 'x', false); ROLLBACK; SHOW application_name
SELECT set_config('application_name', 'x', true); SHOW application_name
SHOW application_name
BEGIN; SET timezone = 'Europe/Oslo'; ROLLBACK; SELECT timestamptz '2020-01-02 00:00+00'
BEGIN; SET timezone = 'Europe/Oslo'; SELECT timestamptz '2020-01-02 00:00+00'; COMMIT; SELECT timestamptz '2020-01-02 00:00+00'; RESET timezone
BEGIN; SET application_name = 'x'; SELECT 1/0
SHOW application_name
COMMIT
SHOW application_name
SET application_name = 'x'; SELECT 1/0
SHOW application_name
SET application_name = 'x'; BEGIN; ROLLBACK; SHOW application_name
BEGIN; SET a.e = 'x'; ROLLBACK
SHOW a.b
-- Isolation levels.
BEGIN ISOLATION LEVEL REPEATABLE READ; SHOW transaction_isolation; COMMIT; SHOW transaction_isolation
BEGIN; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SHOW transaction_isolation; COMMIT
BEGIN; SELECT 1; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ
ROLLBACK
BEGIN; SELECT 1; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; COMMIT
BEGIN; SAVEPOINT a; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ
ROLLBACK
BEGIN ISOLATION LEVEL SERIALIZABLE; SHOW transaction_isolation; COMMIT
BEGIN ISOLATION LEVEL READ UNCOMMITTED; SHOW transaction_isolation; COMMIT
BEGIN; SET LOCAL transaction_isolation = 'serializable'; SELECT current_setting('transaction_isolation'); ROLLBACK
SET default_transaction_isolation = 'repeatable read'
BEGIN; SHOW transaction_isolation; COMMIT
SHOW transaction_isolation
RESET default_transaction_isolation
SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE; SHOW default_transaction_isolation
BEGIN; SHOW transaction_isolation; COMMIT AND CHAIN; SHOW transaction_isolation; COMMIT
RESET default_transaction_isolation
BEGIN ISOLATION LEVEL REPEATABLE READ; COMMIT AND CHAIN; SHOW transaction_isolation; COMMIT
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ
-- Names of a path are quoted as quote_ident does.
SET search_path = nope, "$user", public, "A b", "select", "x""y"
SHOW search_path
SELECT current_setting('search_path'), current_schemas(false)
SET search_path TO DEFAULT
-- Settings that no session can change, not even to the value they have.
SET is_superuser = on
SET is_superuser = off
SET lc_collate = 'C'
SET lc_collate = 'de_DE'
SET lc_ctype = 'C'
SET lc_ctype = 'C.UTF-8'
SET shared_buffers = '1MB'
SET server_version = '15.20'
SET server_encoding = 'UTF8'
SET in_hot_standby = off
SET integer_datetimes = on
SET block_size = 8192
SET max_connections = 100
SET ssl = off
SET ssl = on
SET port = 5432
SET autovacuum = off
SET autovacuum = foo
SET shared_buffers = foo
SET wal_level = minimal
SET fsync = off
SET log_destination = 'stderr'
SET hba_file = 'x'
SET config_file = 'x'
SET data_directory = 'x'
SET listen_addresses = 'x'
SET archive_command = 'x'
SET shared_memory_size = '1MB'
SET wal_block_size = 1
SET log_line_prefix = 'x'
SET ignore_system_indexes = on
SET post_auth_delay = 1
SET log_connections = on
SET unix_socket_directories = 'x'
RESET shared_buffers
RESET is_superuser
RESET lc_collate
RESET server_version
RESET autovacuum
RESET log_connections
SET shared_buffers TO DEFAULT
SET is_superuser TO DEFAULT
SET fsync TO DEFAULT
SET SESSION is_superuser = off
SET LOCAL shared_buffers = '1MB'
SELECT set_config('is_superuser', 'on', false)
SELECT set_config('shared_buffers', '1MB', false)
SELECT set_config('fsync', 'off', true)
SET Shared_Buffers = '1MB'
SHOW autovacuum
SHOW wal_level
SHOW segment_size
SHOW max_wal_senders
SELECT current_setting('autovacuum_naptime'), current_setting('checkpoint_timeout')
RESET ALL; SHOW is_superuser; SHOW server_encoding
SELECT lower(name), vartype, context, min_val, max_val, enumvals FROM pg_settings WHERE context NOT IN ('user', 'superuser') AND name NOT IN ('is_superuser', 'ssl', 'max_connections', 'server_version', 'server_version_num') ORDER BY lower(name) COLLATE "C"
-- A custom setting that was reset, or set in a transaction that failed, is empty.
RESET lost.a; SHOW lost.a; SELECT current_setting('lost.a'), current_setting('lost.a', true) = ''
SHOW lost.none
SELECT current_setting('lost.none', true) IS NULL
BEGIN; SET lost.b = '1'; ROLLBACK; SHOW lost.b
BEGIN; SET LOCAL lost.c = '1'; COMMIT; SHOW lost.c
SELECT set_config('lost.d', 'x', true)
SHOW lost.d
SET lost.e = '1'; RESET ALL; SHOW lost.e; SET lost.e = '1'
DISCARD ALL
SHOW lost.e
SET lost.f TO DEFAULT; SHOW lost.f
BEGIN; SAVEPOINT s; SET lost.g = '1'; ROLLBACK TO s; SHOW lost.g; COMMIT
SET lost.h = '1'; SELECT 1/0
SHOW lost.h
RESET lost
RESET lost."x y"
SELECT name FROM pg_settings WHERE name LIKE 'lost%'
SET lc_time = 'xx'
SET lc_numeric = 'c'
SET lc_monetary = 'german'
SET lc_time = 'POSIX'; SET lc_time = 'C.UTF-8'; RESET lc_time
SET timezone_abbreviations = 'x'
SET timezone_abbreviations = 'default'
SET timezone_abbreviations = 'Default'; SET array_nulls = on; SET transform_null_equals = off; SET quote_all_identifiers = no
-- differs: these would change what statements mean, which Divan does not implement
SET array_nulls = off
-- differs: so does this
SET transform_null_equals = on
SET quote_all_identifiers = on
-- differs: so does this
SET timezone_abbreviations = 'India'
RESET ALL
SET lc_messages = 'no such locale'
SET lc_messages = 'C.UTF-8'; SHOW lc_messages
