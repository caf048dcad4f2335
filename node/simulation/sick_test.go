package simulation

import (
	"context"
	"sync"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// sickness is why a sick node's shard actors fail.
const sickness = "the simulation makes it fail"

// How a sick node's shard actors fail: not at all, as they arm a watch, or some time after they have armed it, when
// others already rely on them.
const (
	faultsNone int32 = iota
	faultsAtStart
	faultsLater
)

// port returns the store for the node's actors, which makes shard actors fail while the node is sick.
func (l *life) port() actors.Store { return sickStore{actors.FromLayer(l.store), l} }

// of returns a database for the node's actors.
func (l *life) of(db *layer.Database) actors.Database { return sickDatabase{actors.Of(db), l} }

type sickStore struct {
	actors.Store
	l *life
}

func (s sickStore) Database(ctx context.Context, name string) (actors.Database, error) {
	db, err := s.Store.Database(ctx, name)
	if err != nil {
		return nil, err
	}
	return sickDatabase{db, s.l}, nil
}

type sickDatabase struct {
	actors.Database
	l *life
}

func (d sickDatabase) WatchShard(ctx context.Context, shard layer.ShardID, settled func()) (kv.Watch, layer.Seq,
	error) {
	if d.l.sick.Load() == faultsAtStart {
		panic(sickness)
	}
	w, seq, err := d.Database.WatchShard(ctx, shard, settled)
	if err == nil && d.l.sick.Load() == faultsLater {
		w = sicken(w)
	}
	return w, seq, err
}

// watchesFor is how long a sick watch is armed before it fails.
const watchesFor = 50 * time.Millisecond

// sickWatch is a watch that panics after a while.
type sickWatch struct {
	kv.Watch
	done chan struct{} // closed when the watch below is done, or it is time to fail
	end  chan struct{} // closed by Cancel
	once *sync.Once
	sick *bool // written before done is closed
}

func sicken(below kv.Watch) kv.Watch {
	w := sickWatch{below, make(chan struct{}), make(chan struct{}), new(sync.Once), new(bool)}
	go func() {
		defer close(w.done)
		select {
		case <-below.Done():
		case <-w.end:
		case <-time.After(watchesFor):
			*w.sick = true
		}
	}()
	return w
}

func (w sickWatch) Done() <-chan struct{} { return w.done }

func (w sickWatch) Err() error {
	if *w.sick {
		panic(sickness)
	}
	return w.Watch.Err()
}

func (w sickWatch) Cancel() {
	w.once.Do(func() { close(w.end) })
	w.Watch.Cancel()
}
