package bind

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Write is what a statement writes to documents.
type Write struct {
	// Kind is "insert", "update" or "delete".
	Kind string
	// Source computes the rows. Those of an update are the new document, the id and revision if they are assigned, then
	// the columns of FROM, beginning with the written relation; those of a delete are these columns alone.
	Source *Query
	// ID, Rev and Doc are the columns of an insert's source, -1 if it has none: then the id is chosen, and the document
	// empty. Choose is the column that says that the id is to be chosen, -1 if there is none.
	ID, Rev, Doc, Choose int
	Casts                [2]types.OID // types that id and document are cast from, 0 for none
	Off, IDOff, RevOff   int          // positions of the relation's name, and of id and rev in the assignments or 0
	Relation             string

	// OnConflict is set for ON CONFLICT. Conflict computes the new document, whether it is to be written, and the id
	// and revision if they are assigned, from the existing row and the row to be inserted; nil to do nothing.
	OnConflict   bool
	Conflict     *Query
	ConflictWork *exec.WorkTable

	// Returning computes the result from the rows of the written relation, with those of the other items of FROM; nil
	// without RETURNING.
	Returning     *Query
	ReturningWork *exec.WorkTable
	Width         int // of these rows
}
