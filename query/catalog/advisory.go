package catalog

import (
	"context"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/types"
)

// AdvisoryLocker is the session, as seen by the functions of advisory locks.
type AdvisoryLocker interface {
	// LockAdvisory takes the lock of a number, or of two numbers if pair is set. If l.Wait is not set it may return
	// false.
	LockAdvisory(ctx context.Context, number int64, pair bool, l AdvisoryLock) (bool, error)
	// UnlockAdvisory releases it. It returns false if the session does not hold it.
	UnlockAdvisory(number int64, pair, shared bool) bool
	UnlockAllAdvisory()
	// ExportSnapshot is pg_export_snapshot.
	ExportSnapshot(ctx context.Context) (string, error)
}

// AdvisoryLock says how an advisory lock is taken.
type AdvisoryLock struct{ Shared, Transaction, Wait bool }

var lockFamily = funcs.NewFamily("Advisory locks and snapshots", "9.27", exec.Volatile)

func init() {
	add := func(name string, ret types.OID,
		f func(env *exec.CallEnv, s AdvisoryLocker, number int64, pair bool) (types.Datum, error)) {
		for _, args := range [][]types.OID{{types.Int8}, {types.Int4, types.Int4}} {
			lockFamily.Add(&exec.Func{Name: name, Args: args, Ret: ret,
				Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
					s, ok := env.Session.(AdvisoryLocker)
					if !ok {
						return types.Null, nil
					}
					if len(a) == 2 {
						return f(env, s, a[0].I<<32|a[1].I&0xffffffff, true)
					}
					return f(env, s, a[0].I, false)
				}})
		}
	}
	for _, kind := range []struct {
		name string
		how  AdvisoryLock
	}{
		{"", AdvisoryLock{}}, {"_shared", AdvisoryLock{Shared: true}}, {"_xact", AdvisoryLock{Transaction: true}},
		{"_xact_shared", AdvisoryLock{Transaction: true, Shared: true}},
	} {
		// pg_advisory_lock, pg_advisory_lock_shared, pg_advisory_xact_lock, pg_advisory_xact_lock_shared, and with try.
		name := map[string]string{"": "lock", "_shared": "lock_shared", "_xact": "xact_lock",
			"_xact_shared": "xact_lock_shared"}[kind.name]
		how := kind.how
		add("pg_try_advisory_"+name, types.Bool,
			func(env *exec.CallEnv, s AdvisoryLocker, n int64, pair bool) (types.Datum, error) {
				ok, err := s.LockAdvisory(env.Ctx, n, pair, how)
				return types.NewBool(ok), err
			})
		wait := how
		wait.Wait = true
		add("pg_advisory_"+name, types.Void,
			func(env *exec.CallEnv, s AdvisoryLocker, n int64, pair bool) (types.Datum, error) {
				// Give the processor to other statements while waiting.
				env.Pause()
				_, err := s.LockAdvisory(env.Ctx, n, pair, wait)
				env.Resume()
				return types.NewText(""), err
			})
	}
	for name, shared := range map[string]bool{"pg_advisory_unlock": false, "pg_advisory_unlock_shared": true} {
		add(name, types.Bool, func(_ *exec.CallEnv, s AdvisoryLocker, n int64, pair bool) (types.Datum, error) {
			return types.NewBool(s.UnlockAdvisory(n, pair, shared)), nil
		})
	}
	lockFamily.Add(&exec.Func{Name: "pg_advisory_unlock_all", Ret: types.Void,
		Eval: func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
			if s, ok := env.Session.(AdvisoryLocker); ok {
				s.UnlockAllAdvisory()
			}
			return types.NewText(""), nil
		}})
	lockFamily.Add(&exec.Func{Name: "pg_export_snapshot", Ret: types.Text,
		Eval: func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
			s, ok := env.Session.(AdvisoryLocker)
			if !ok {
				return types.Null, nil
			}
			id, err := s.ExportSnapshot(env.Ctx)
			return types.NewText(id), err
		}})
}
