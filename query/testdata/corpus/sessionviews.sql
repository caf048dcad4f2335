-- A session's prepared statements, cursors and settings in pg_catalog.
SELECT * FROM pg_prepared_statements
PREPARE one AS SELECT 1
PREPARE two(int, text) AS SELECT $1 + 1, $2
PREPARE three(jsonb, numeric, timestamptz, int[]) AS SELECT $1, $2, $3, $4
EXECUTE one
EXECUTE one
EXECUTE two(1, 'x')
SELECT name, statement, parameter_types, from_sql, generic_plans, custom_plans FROM pg_prepared_statements ORDER BY name
SELECT name, prepare_time <= clock_timestamp() AND prepare_time > clock_timestamp() - interval '1 h' FROM pg_prepared_statements ORDER BY name
SELECT parameter_types::text[], parameter_types[1], pg_typeof(parameter_types) FROM pg_prepared_statements WHERE name = 'two'
DEALLOCATE one
SELECT name FROM pg_prepared_statements ORDER BY 1
PREPARE four AS SELECT 4; SELECT name, statement FROM pg_prepared_statements WHERE name = 'four'
DEALLOCATE ALL
SELECT count(*) FROM pg_prepared_statements
SELECT * FROM pg_cursors
BEGIN
DECLARE a NO SCROLL CURSOR FOR SELECT 1
DECLARE b BINARY NO SCROLL CURSOR WITH HOLD FOR SELECT 2
SELECT name, statement, is_holdable, is_binary, is_scrollable, creation_time <= clock_timestamp() FROM pg_cursors ORDER BY name
CLOSE a
SELECT name FROM pg_cursors
COMMIT
SELECT name, is_holdable FROM pg_cursors
CLOSE b
SELECT count(*) FROM pg_cursors
SET max_connections = 5
SET ssl = maybe
SET block_size = 1
SET work_mem = '64MB'; SELECT name, setting, unit, min_val, max_val, vartype, context, boot_val, reset_val, source, pending_restart FROM pg_settings WHERE name = 'work_mem'; RESET work_mem
SET statement_timeout = '5min'; SELECT setting, unit, boot_val, reset_val FROM pg_settings WHERE name = 'statement_timeout'; RESET statement_timeout
SELECT setting, unit, vartype, enumvals FROM pg_settings WHERE name IN ('intervalstyle', 'IntervalStyle', 'bytea_output') ORDER BY name
SELECT current_setting('max_function_args'), current_setting('block_size'), current_setting('max_prepared_transactions')
SELECT name, setting, unit, vartype, min_val, max_val, boot_val FROM pg_settings WHERE name IN ('deadlock_timeout', 'temp_buffers', 'effective_cache_size', 'seq_page_cost', 'jit', 'wal_compression', 'vacuum_cost_delay', 'log_temp_files', 'backend_flush_after') ORDER BY name
