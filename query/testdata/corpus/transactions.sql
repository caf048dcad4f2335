-- A transaction of one snapshot that has read something goes on to what reads nothing.
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM docs; SELECT 1; SELECT count(*) FROM docs; SELECT count(*) FROM pg_class WHERE relname = 'docs'; COMMIT
BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE; SELECT count(*) FROM docs; SHOW transaction_deferrable; SELECT 1/0
SELECT 1
ROLLBACK; SHOW transaction_deferrable
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM docs; SAVEPOINT a; SELECT nope FROM docs
ROLLBACK TO a; SELECT 1; SELECT count(*) FROM docs; COMMIT
BEGIN NOT DEFERRABLE; SHOW transaction_deferrable; SET TRANSACTION DEFERRABLE; SHOW transaction_deferrable; COMMIT; SHOW transaction_deferrable
SET SESSION CHARACTERISTICS AS TRANSACTION DEFERRABLE
BEGIN; SHOW transaction_deferrable; COMMIT AND CHAIN; SHOW transaction_deferrable; ROLLBACK
RESET default_transaction_deferrable
