-- Advisory locks, in one session.
SELECT pg_advisory_lock(1), pg_try_advisory_lock(1), pg_try_advisory_lock_shared(1)
SELECT pg_advisory_unlock(1), pg_advisory_unlock(1), pg_advisory_unlock_shared(1)
SELECT pg_advisory_unlock(1)
SELECT pg_advisory_lock(1, 2), pg_advisory_lock_shared(1, -2), pg_try_advisory_lock(-1, 2)
SELECT pg_advisory_unlock(1, 2), pg_advisory_unlock_shared(1, -2), pg_advisory_unlock(-1, 2), pg_advisory_unlock(4294967298)
BEGIN; SELECT pg_advisory_xact_lock(5), pg_try_advisory_xact_lock(6), pg_try_advisory_xact_lock_shared(7), pg_advisory_xact_lock_shared(1, 1); SELECT pg_advisory_unlock(5); COMMIT
SELECT pg_advisory_lock(8), pg_advisory_lock(9); SELECT pg_advisory_unlock_all(); SELECT pg_advisory_unlock(8)
SELECT pg_advisory_lock(NULL), pg_try_advisory_lock(NULL::int, 1)
SELECT pg_advisory_lock(1.5)
SELECT pg_advisory_lock('x')
SELECT pg_advisory_lock(3)
DISCARD ALL
SELECT pg_advisory_unlock(3)
SELECT pg_advisory_lock(i) FROM generate_series(1, 3) i
SELECT bool_and(pg_advisory_unlock(i)) FROM generate_series(1, 3) i
SELECT pg_advisory_lock(i) FROM generate_series(1, 3) i WHERE pg_advisory_lock(i) IS NULL
-- Advisory locks are in pg_locks.
SELECT pg_advisory_lock(1, 2)::text, pg_advisory_lock(-5)::text, pg_advisory_lock_shared(7)::text
SELECT locktype, classid, objid, objsubid, mode, granted, pid = pg_backend_pid(), database = (SELECT oid FROM pg_database WHERE datname = current_database()), fastpath, relation, waitstart FROM pg_locks WHERE locktype = 'advisory' ORDER BY objid, classid
SELECT pg_advisory_unlock_all()
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
