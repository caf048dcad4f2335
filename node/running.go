package node

import (
	"context"
	"errors"
	"fmt"
)

// parts are the running parts, in the order in which they were started.
type parts struct{ list []part }

// part is something that runs and must be stopped.
type part struct {
	name string
	stop func(ctx context.Context) error // returns when the part has ended; should return soon after ctx is done
}

func (p *parts) add(name string, stop func(ctx context.Context) error) {
	p.list = append(p.list, part{name, stop})
}

// stop stops the parts in reverse order, and returns when all have ended or ctx has.
func (p *parts) stop(ctx context.Context) error {
	var errs []error
	for len(p.list) > 0 {
		last := p.list[len(p.list)-1]
		p.list = p.list[:len(p.list)-1]
		if err := last.end(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", last.name, err))
		}
	}
	return errors.Join(errs...)
}

// end stops a part. If ctx ends first, it leaves the part behind: a store that does not answer must not keep the
// process alive.
func (p part) end(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- p.stop(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
