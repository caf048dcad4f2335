package exec

import "github.com/divandb/divan/query/work"

// Gate has the rows of a source if a condition holds that does not depend on them: one on the rows of enclosing queries.
// It is evaluated once, before the source is opened. PostgreSQL calls it a One-Time Filter.
type Gate struct {
	Input   Source
	Cond    Expr
	open    bool
	rows    int64
	env     *Env
	scratch work.Scratch
}

func (g *Gate) Open(env *Env) error {
	g.env, g.open = env, false
	around := env.Enter(&g.scratch)
	holds, err := Holds(env, g.Cond)
	env.Leave(around)
	if err != nil || !holds {
		return err
	}
	g.open = true
	return g.Input.Open(env)
}

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
func (g *Gate) Describe() *Description {
	d := &Description{Node: "Result", Rows: g.rows, Examined: -1, Children: []*Description{g.Input.Describe()}}
	d.Add("One-Time Filter", g.Cond.String())
	return d
}
