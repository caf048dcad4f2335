// Package naming defines the relations of a document database and their columns, and how columns of a result are named.
// Relations of the catalogue are in package catalog.
package naming

import (
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// UserRelation is a relation of schema public, or the common form of all views.
type UserRelation struct {
	Name    string
	Kind    exec.AccessKind
	Columns []UserColumn
	Follow  bool
	// IDPrefix restricts the relation to ids with this prefix.
	IDPrefix string
	// NoDesigns excludes design documents, which have their own relation.
	NoDesigns bool
	Comment   string
}

// Keyed reports whether the first column is the primary key, as the catalogue shows it.
func (r *UserRelation) Keyed() bool {
	return r.Kind != exec.ReadView && r.Kind != exec.ReadConflicts && !r.Follow
}

// Always reports whether a column is never NULL, and can be given a value in INSERT: the documents of docs.
func (r *UserRelation) Always(f exec.Field) bool {
	return f == exec.FieldDoc && r.Kind == exec.ReadAllDocs && r.NoDesigns
}

// UserColumn is a column and the part of a row of the read that it shows.
type UserColumn struct {
	Name  string
	Type  types.OID
	Field exec.Field
}

var (
	colID      = UserColumn{"id", types.Text, exec.FieldID}
	colRev     = UserColumn{"rev", types.Text, exec.FieldRev}
	colDeleted = UserColumn{"deleted", types.Bool, exec.FieldDeleted}
	colDoc     = UserColumn{"doc", types.JSONB, exec.FieldDoc}
	colSeq     = UserColumn{"seq", types.Text, exec.FieldSeq}
	colShard   = UserColumn{"shard", types.Text, exec.FieldShard}
	colKey     = UserColumn{"key", types.JSONB, exec.FieldKey}
	colValue   = UserColumn{"value", types.JSONB, exec.FieldValue}
)

// PublicRelations lists the relations of schema public, which every database has, by name.
var PublicRelations = []UserRelation{
	{Name: "all_docs", Kind: exec.ReadAllDocs, Columns: []UserColumn{colID, colRev, colDeleted},
		Comment: "ids and revisions of the live documents"},
	{Name: "changes", Kind: exec.ReadChanges, Columns: changesColumns, Comment: "the change feed up to the present"},
	{Name: "changes_follow", Kind: exec.ReadChanges, Columns: changesColumns, Follow: true,
		Comment: "the change feed without end"},
	{Name: "conflicts", Kind: exec.ReadConflicts, Columns: []UserColumn{colID, colRev, colDeleted, colDoc},
		Comment: "leaf revisions that are not the winner"},
	{Name: "design_docs", Kind: exec.ReadAllDocs, Columns: []UserColumn{colID, colRev, colDoc}, IDPrefix: "_design/",
		Comment: "the design documents"},
	{Name: "docs", Kind: exec.ReadAllDocs, Columns: []UserColumn{colID, colRev, colDoc}, NoDesigns: true,
		Comment: "the live documents, without design documents"},
	{Name: "local_docs", Kind: exec.ReadLocalDocs, Columns: []UserColumn{colID, colRev, colDoc}, IDPrefix: "_local/",
		Comment: "the local documents"},
}

var changesColumns = []UserColumn{colSeq, colShard, colID, colRev, colDeleted, colDoc}

// ViewColumns are the columns of every view.
var ViewColumns = []UserColumn{colID, colKey, colValue, colDoc}

// aliases maps names of CouchDB to relations of public.
var aliases = map[string]string{"_all_docs": "all_docs", "_changes": "changes", "_design_docs": "design_docs",
	"_local_docs": "local_docs"}

// PublicRelation finds a relation of public by name; nil if there is none.
func PublicRelation(name string) *UserRelation {
	if a, ok := aliases[name]; ok {
		name = a
	}
	for i := range PublicRelations {
		if PublicRelations[i].Name == name {
			return &PublicRelations[i]
		}
	}
	return nil
}

// Originate sets the origin of columns to a relation; its OID is 0 if it has none.
func Originate(cols []exec.Column, relation int64) []exec.Column {
	if relation == 0 {
		return cols
	}
	out := slices.Clone(cols)
	for i := range out {
		out[i].Origin = exec.Origin{Relation: relation, Column: int16(i + 1)}
	}
	return out
}
