package shortcut

import (
	"errors"
	"strconv"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// maxNulls is the number of documents that are read at once to check members that are null in a view.
const maxNulls = 1000

// Nulls passes the rows of a view written by JavaScript on, if each member that is null in a row is null or missing in
// the document too: JavaScript also writes null for a number beyond the doubles, such as 1e400. It reads the documents
// of the rows in question, and nothing if there are none.
type Nulls struct {
	Input   exec.Source
	Members []Member
	// ID is the column of the row that has the document's id.
	ID int
	// Docs reads documents by id, into columns that Members' expressions refer to and Input's rows do not use.
	Docs *exec.Scan

	env *exec.Env
	ids []types.Datum
}

// Open implements exec.Source.
func (n *Nulls) Open(env *exec.Env) error {
	n.env, n.ids = env, nil
	return n.Input.Open(env)
}

// Next implements exec.Source.
func (n *Nulls) Next() (bool, error) {
	ok, err := n.Input.Next()
	if err != nil {
		return false, err
	}
	if ok && n.unsure() {
		n.ids = append(n.ids, n.env.Row[n.ID].Own())
	}
	if len(n.ids) == maxNulls || !ok {
		if err := n.Settle(); err != nil {
			return false, err
		}
	}
	return ok, nil
}

// Settle checks the rows seen so far, if no further ones are read.
func (n *Nulls) Settle() error {
	if len(n.ids) == 0 {
		return nil
	}
	err := n.check()
	n.ids = n.ids[:0]
	return err
}

func (n *Nulls) unsure() bool {
	for i := range n.Members {
		if json, ok := n.Members[i].JSON(n.env.Row); ok && json == "null" {
			return true
		}
	}
	return false
}

// check reads the documents of the rows seen lately.
func (n *Nulls) check() error {
	if err := n.Docs.Narrow(n.ids); err != nil {
		return err
	}
	if err := n.Docs.Open(n.env); err != nil {
		return err
	}
	defer n.Docs.Close()
	for {
		ok, err := n.Docs.Next()
		if !ok || err != nil {
			return err
		}
		for i := range n.Members {
			d, err := n.Members[i].Was.Eval(n.env)
			if err != nil {
				return err
			}
			if d.IsNull() {
				continue
			}
			if _, err := strconv.ParseFloat(d.S, 64); errors.Is(err, strconv.ErrRange) {
				return ErrInexact // or a string like it, which is as rare
			}
		}
	}
}

// Close implements exec.Source.
func (n *Nulls) Close() {
	n.Input.Close()
	n.Docs.Close()
}

// Describe implements exec.Source.
func (n *Nulls) Describe() *exec.Description { return n.Input.Describe() }
