package funcs

import (
	"context"
	"math"
	"time"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Functions about the session and the server that do not need the catalogue (PostgreSQL 15, section 9.26).
func init() {
	name := func(f func(exec.Session) string, names ...string) {
		for _, n := range names {
			SessionFamily.Function(n, types.Name, func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
				return types.NewText(f(env.Session)), nil
			})
		}
	}
	name(exec.Session.User, "current_user", "session_user", "user", "current_role")
	name(exec.Session.Database, "current_database", "current_catalog")
	SessionFamily.Function("version", types.Text, func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
		v, _ := env.Session.Setting("server_version")
		return types.NewText("PostgreSQL " + v), nil
	})
	SessionFamily.Function("pg_backend_pid", types.Int4, func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
		return types.NewInt(int64(env.Session.PID())), nil
	})
	// A session that cancels or ends itself does so at once, and not after it has sent the result.
	signalled := func(env *exec.CallEnv, found bool, err error) (types.Datum, error) {
		if err == nil {
			err = context.Cause(env.Ctx)
		}
		return types.NewBool(found), err
	}
	SessionFamily.Function("pg_cancel_backend", types.Bool,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			found, err := env.Session.Cancel(env.Ctx, uint32(a[0].I))
			return signalled(env, found, err)
		}, types.Int4).Volatility = exec.Volatile
	terminate := func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		found, err := env.Session.Terminate(env.Ctx, uint32(a[0].I))
		return signalled(env, found, err)
	}
	SessionFamily.Function("pg_terminate_backend", types.Bool, terminate, types.Int4).Volatility = exec.Volatile
	SessionFamily.Function("pg_terminate_backend", types.Bool, terminate, types.Int4, types.Int8).
		Volatility = exec.Volatile
	SessionFamily.Function("current_setting", types.Text,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			v, ok := env.Session.Setting(a[0].S)
			if !ok {
				return types.Null, sqlstate.New(sqlstate.UndefinedObject, `unrecognized configuration parameter "%s"`,
					a[0].S)
			}
			return types.NewText(v), nil
		}, types.Text).Volatility = exec.Volatile // volatile because set_config in the same query changes the answer
	SessionFamily.Function("current_setting", types.Text,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			v, ok := env.Session.Setting(a[0].S)
			if !ok && !a[1].True() {
				return types.Null, sqlstate.New(sqlstate.UndefinedObject, `unrecognized configuration parameter "%s"`,
					a[0].S)
			}
			if !ok {
				return types.Null, nil
			}
			return types.NewText(v), nil
		}, types.Text, types.Bool).Volatility = exec.Volatile
	f := SessionFamily.Function("set_config", types.Text, setConfig, types.Text, types.Text, types.Bool)
	f.Volatility, f.NullArgs = exec.Volatile, true
	for side, address := range map[string]func(exec.Session) (string, int){"client": exec.Session.Remote,
		"server": exec.Session.Local} {
		SessionFamily.Function("inet_"+side+"_addr", types.Text,
			func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
				host, _ := address(env.Session)
				if host == "" {
					return types.Null, nil // the connection is by a Unix socket
				}
				return types.NewText(host), nil
			})
		SessionFamily.Function("inet_"+side+"_port", types.Int4,
			func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
				host, port := address(env.Session)
				if host == "" {
					return types.Null, nil
				}
				return types.NewInt(int64(port)), nil
			})
	}
	// Settings are read at the start only.
	for _, n := range []string{"pg_postmaster_start_time", "pg_conf_load_time"} {
		SessionFamily.Function(n, types.TimestampTZ, func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
			return types.NewMoment(processStart), nil
		})
	}
	for _, n := range []string{"pg_is_in_recovery", "pg_jit_available"} {
		SessionFamily.Function(n, types.Bool, func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
			return types.NewBool(false), nil
		})
	}
	SessionFamily.Function("pg_trigger_depth", types.Int4, func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
		return types.NewInt(0), nil
	})
	SessionFamily.Function("txid_current", types.Int8, func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
		return types.NewInt(transactionID(env)), nil
	}).Volatility = exec.Stable
	SessionFamily.Function("txid_current_if_assigned", types.Int8,
		func(*exec.CallEnv, []types.Datum) (types.Datum, error) { return types.Null, nil }).Volatility = exec.Stable
	SessionFamily.Function("pg_current_xact_id", types.Xid8,
		func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
			return types.NewUnsigned(uint64(transactionID(env))), nil
		}).Volatility = exec.Stable
	SessionFamily.Function("pg_current_xact_id_if_assigned", types.Xid8,
		func(*exec.CallEnv, []types.Datum) (types.Datum, error) { return types.Null, nil }).Volatility = exec.Stable
	SessionFamily.Function("lastval", types.Int8, func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
		return types.Null, sqlstate.New(sqlstate.ObjectNotInPrerequisite,
			"lastval is not yet defined in this session")
	}).Volatility = exec.Volatile
	SessionFamily.Function("pg_sleep", types.Void, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return sleep(env, a[0].Float()*float64(time.Second))
	}, types.Float8).Volatility = exec.Volatile
	SessionFamily.Function("pg_sleep_for", types.Void, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		s := a[0].Span()
		until := types.NewMoment(env.Now.AddDate(0, int(s.Months), int(s.Days))).I + s.Micros
		return sleep(env, float64(until-types.NewMoment(env.Now).I)*float64(time.Microsecond))
	}, types.Interval).Volatility = exec.Volatile
	SessionFamily.Function("pg_sleep_until", types.Void, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return sleep(env, float64(a[0].I-types.NewMoment(time.Now()).I)*float64(time.Microsecond))
	}, types.TimestampTZ).Volatility = exec.Volatile
	SessionFamily.Function("pg_typeof", types.RegType, func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
		return exec.RegDatum(env.Env, types.RegType, int64(env.ArgType(0)))
	}, exec.AnyValue).NullArgs = true
	encoding := func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
		name, _ := env.Session.Setting("client_encoding")
		return types.NewText(name), nil
	}
	SessionFamily.Function("pg_client_encoding", types.Name, encoding)
}

var processStart = time.Now()

// transactionID returns a number that the functions of a transaction agree on and that is higher in later ones: its
// start in microseconds since 2000, followed by ten bits of its session, as different sessions may start together.
func transactionID(env *exec.CallEnv) int64 {
	const bits = 10
	return types.NewMoment(env.Now).I<<bits | int64(env.Session.PID())&(1<<bits-1)
}

// sleep waits for some nanoseconds. The result is the one value of void.
func sleep(env *exec.CallEnv, nanos float64) (types.Datum, error) {
	t := time.NewTimer(time.Duration(max(0, min(nanos, math.MaxInt64/2))))
	defer t.Stop()
	select {
	case <-t.C:
		return types.NewText(""), nil
	case <-env.Ctx.Done():
		return types.Null, env.Ctx.Err()
	}
}

// setConfig sets a setting; NULL sets it to its default.
func setConfig(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, sqlstate.New(sqlstate.NullNotAllowed, "SET requires parameter name")
	}
	var value *string
	if !a[1].IsNull() {
		value = &a[1].S
	}
	if err := env.Session.SetSetting(a[0].S, value, !a[2].IsNull() && a[2].True()); err != nil {
		return types.Null, err
	}
	v, _ := env.Session.Setting(a[0].S)
	return types.NewText(v), nil
}
