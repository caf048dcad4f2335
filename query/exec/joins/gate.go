package joins

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/work"
)

// Gate has the rows of a source if a condition holds that does not depend on them, but on the rows of enclosing
// queries. It is evaluated once, before the source is opened. PostgreSQL calls it a One-Time Filter.
type Gate struct {
	Input   exec.Source
	Cond    exec.Expr
	open    bool
	rows    int64
	runs    tally.Runs
	env     *exec.Env
	scratch work.Scratch
}

// Open implements exec.Source.
func (g *Gate) Open(env *exec.Env) error {
	g.env, g.open = env, false
	g.runs.Begin(&g.rows)
	around := env.Enter(&g.scratch)
	holds, err := exec.Holds(env, g.Cond)
	env.Leave(around)
	if err != nil || !holds {
		return err
	}
	g.open = true
	return g.Input.Open(env)
}

// Next implements exec.Source.
func (g *Gate) Next() (bool, error) {
	if !g.open {
		return false, nil
	}
	ok, err := g.Input.Next()
	if ok {
		g.rows++
	}
	return ok, err
}

// Close implements exec.Source.
func (g *Gate) Close() {
	if g.open {
		g.Input.Close()
		g.open = false
	}
	if g.env != nil {
		g.env.Drop(&g.scratch)
	}
}

// Describe shows the condition in a node of its own.
func (g *Gate) Describe() *exec.Description {
	d := &exec.Description{Node: "Result", Examined: -1, Children: []*exec.Description{g.Input.Describe()}}
	d.Rows, d.Loops = g.runs.Total(g.rows)
	d.Exprs = append(d.Exprs, g.Cond)
	d.Add("One-Time Filter", g.Cond.String())
	return d
}
