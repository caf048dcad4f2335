package query

import (
	"context"
	"errors"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/declare"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// undeclarable returns what is wrong with the declared relations whose conditions can be parsed but not bound: they
// name a column that does not exist, for example. The keys are the names of the design document and the relation. All
// conditions together may take as long as one statement takes to be planned; those after that are not checked.
func undeclarable(ctx context.Context, designs []exec.Design, names bind.Resolver) (map[[2]string]error, error) {
	w := work.New(ctx, nil, 0, nil)
	defer w.Close()
	var wrong map[[2]string]error
	for _, d := range designs {
		for _, r := range declare.Relations(ctx, d.SQL) {
			if r.Err != nil || r.Query.Where == nil {
				continue
			}
			mark := w.Used()
			_, err := bind.Bind(w, &ast.Query{Select: r.Query}, names, plan.Subquery, nil)
			w.Back(mark)
			var e *sqlstate.Error
			switch {
			case err == nil:
				continue
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case w.Spend(0) != nil:
				return wrong, nil
			case !errors.As(err, &e):
				return nil, err
			}
			if wrong == nil {
				wrong = map[[2]string]error{}
			}
			wrong[[2]string{d.Name, r.Name}] = e
		}
	}
	return wrong, nil
}
