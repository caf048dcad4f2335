package transfer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/node/replicate/couch"
	"github.com/divandb/divan/node/replicate/transfer"
)

// silent is a database that never answers.
type silent struct{ *fake }

func (silent) Info(ctx context.Context) (couch.Info, error) {
	<-ctx.Done()
	return couch.Info{}, ctx.Err()
}

// A run that is stopped does not wait for an answer without which it has nothing to record.
func TestRun_stoppedAtItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, newFake(0), newFake(0), `,"continuous":true`)
		o.Source = silent{newFake(0)}
		stop, ended := make(chan struct{}), make(chan error)
		go func() {
			_, err := transfer.New(o).Do(t.Context(), stop)
			ended <- err
		}()
		time.Sleep(time.Minute)
		began := time.Now()
		close(stop)
		if err := <-ended; !errors.Is(err, transfer.ErrStopped) || time.Since(began) != 0 {
			t.Errorf("stopped with %v after %v", err, time.Since(began))
		}
	})
}
