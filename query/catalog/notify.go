package catalog

import (
	"context"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/types"
)

// Notifier is the session, as seen by the functions of LISTEN and NOTIFY.
type Notifier interface {
	Notify(ctx context.Context, channel, payload string) error
	Listening() []string
}

var notifyFamily = funcs.NewFamily("Notifications", "9.26", exec.Volatile)

func init() {
	notifyFamily.Add(&exec.Func{Name: "pg_notify", Args: []types.OID{types.Text, types.Text}, Ret: types.Void,
		NullArgs: true,
		Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if s, ok := env.Session.(Notifier); ok {
				// NULL means an empty text, as in PostgreSQL.
				if err := s.Notify(env.Ctx, a[0].S, a[1].S); err != nil {
					return types.Null, err
				}
			}
			return types.NewText(""), nil
		}})
	notifyFamily.Add(&exec.Func{Name: "pg_notification_queue_usage", Ret: types.Float8,
		Eval: func(*exec.CallEnv, []types.Datum) (types.Datum, error) { return types.NewFloat(0), nil }})
	notifyFamily.AddTable(&exec.TableFunc{Name: "pg_listening_channels", Columns: func([]types.OID) []exec.Column {
		return []exec.Column{{Name: "pg_listening_channels", Type: types.Text, Mod: -1}}
	}, Rows: func(env *exec.Env, _ []types.OID, _ []types.Datum) ([][]types.Datum, error) {
		var out [][]types.Datum
		if s, ok := env.Session.(Notifier); ok {
			for _, name := range s.Listening() {
				out = append(out, []types.Datum{types.NewText(name)})
			}
		}
		return out, nil
	}})
}
