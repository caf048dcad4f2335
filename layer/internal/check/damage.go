package check

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Damage describes what a damaged part of the store means for databases. There may be several for one part of a file.
type Damage struct {
	File     string `json:"file,omitempty"` // relative to the store's directory
	What     string `json:"what"`           // what is damaged: a part of a file, or a row
	Database string `json:"database,omitempty"`
	Part     string `json:"part,omitempty"`  // part of the database or the store, such as "documents"
	First    string `json:"first,omitempty"` // first damaged id, for parts with ids
	Last     string `json:"last,omitempty"`  // last damaged id
	// Documents lists some documents that cannot be read or, if all can still be read from memory, some that may be
	// affected. More reports that there are others.
	Documents []string `json:"documents,omitempty"`
	More      bool     `json:"more,omitempty"`
	Help      string   `json:"help,omitempty"`
}

// String returns the damage in one line.
func (d *Damage) String() string {
	var b strings.Builder
	if d.Database != "" {
		fmt.Fprintf(&b, "database %s: ", d.Database)
	}
	if d.Part != "" {
		b.WriteString(d.Part)
		switch {
		case len(d.Documents) > 0:
			fmt.Fprintf(&b, " %q", d.Documents)
			if d.More {
				b.WriteString(" and others")
			}
		case d.First != "" && d.First == d.Last:
			fmt.Fprintf(&b, " %q", d.First)
		case d.First != "" && d.Last == "":
			fmt.Fprintf(&b, " from %q on", d.First)
		case d.First != "" || d.Last != "":
			fmt.Fprintf(&b, " from %q to %q", d.First, d.Last)
		}
		b.WriteString(": ")
	}
	if d.File != "" {
		fmt.Fprintf(&b, "%s: ", d.File)
	}
	b.WriteString(d.What)
	if d.Help != "" {
		fmt.Fprintf(&b, " (%s)", d.Help)
	}
	return b.String()
}

// part describes a subspace of a database for users.
type part struct {
	name string
	Ids  bool // its keys begin with document ids
	help string
}

const (
	helpExport  = "divan export -skip-damaged saves the rest; restore these from a backup"
	helpSalvage = "divan export -skip-damaged saves the documents; import them into a node with a new data directory"
	helpIndex   = "add a space to the view's function: a new index is built from the documents"
	helpLeft    = "nothing is lost, it only takes space: divan export and divan import remove it"
	helpStore   = "start on a backup, or save each database with divan export -skip-damaged"
)

// partNames is the part of the store that contains the names of databases.
const partNames = "the names of databases"

var Parts = map[keyspace.Subspace]part{
	keyspace.Stamp:             {"settings", false, helpSalvage},
	keyspace.Config:            {"settings", false, helpSalvage},
	keyspace.Revisions:         {"revisions of documents", true, helpExport},
	keyspace.Changes:           {"the changes feed", false, helpSalvage},
	keyspace.ChangesDeprecated: {"the changes feed", false, helpSalvage},
	keyspace.Wake:              {"the changes feed", false, helpSalvage},
	keyspace.Documents:         {"bodies of documents", true, helpExport},
	keyspace.AllDocs:           {"the list of documents", true, helpSalvage},
	keyspace.Superseded:        {"the compaction queue", false, helpSalvage},
	keyspace.Local:             {"_local documents", true, helpExport},
	keyspace.Attachments:       {"attachments of documents", true, helpExport},
	keyspace.Uploads:           {"unfinished uploads", false, ""},
	keyspace.Counters:          {"counters", false, helpSalvage},
	keyspace.Designs:           {"the list of design documents", true, helpSalvage},
	keyspace.Views:             {"an index", false, helpIndex},
	keyspace.Purges:            {"the purge history", false, helpSalvage},
	keyspace.Moved:             {"entries kept for index builds", false, helpSalvage},
	keyspace.ShardSuperseded:   {"the compaction queue", false, helpSalvage},
	keyspace.ShardCounters:     {"counters", false, helpSalvage},
	keyspace.FeedCounts:        {"the changes feed", false, helpSalvage},
	keyspace.AttachmentRefs:    {"counters of attachments", true, helpSalvage},
	keyspace.Compaction:        {"the compaction queue", false, helpSalvage},
	keyspace.DocCounts:         {"counters", false, helpSalvage},
}

// lastPart is the highest subspace of a database.
const lastPart = keyspace.DocCounts

const (
	// namedDocuments is the maximum number of documents that a Damage names, and triedDocuments how many are tried to
	// find them.
	namedDocuments = 20
	triedDocuments = 2000
)

// describe reports what a damaged range of keys means for the databases in v.databases.
func (v *verifier) describe(keys kv.KeyRange, file, what string, report func(*Damage) error) error {
	if len(keys.End) == 0 { // a log or the list of files
		return report(&Damage{File: file, What: what, Part: "the store as a whole", Help: helpStore})
	}
	told := false
	for _, c := range v.databases {
		in, ok := db.Intersect(keys, db.PrefixRange(c.Keys.Prefix))
		if !ok {
			continue
		}
		for sub := keyspace.Stamp; sub <= lastPart; sub++ {
			if Parts[sub].name == "" {
				continue // no such subspace
			}
			prefix := c.Keys.Sub(nil, sub)
			end, err := tuple.Strinc(prefix)
			if err != nil {
				return err
			}
			in, ok := db.Intersect(in, kv.KeyRange{Begin: prefix, End: end})
			if !ok {
				continue
			}
			if sub == keyspace.Uploads && told {
				continue // not worth a report of its own; a block with other parts is reported with these
			}
			told = true
			d := Damage{File: file, What: what, Database: c.Name, Part: Parts[sub].name, Help: Parts[sub].help}
			if Parts[sub].Ids {
				v.nameDocuments(&d, c, sub, prefix, in)
			}
			if err := report(&d); err != nil {
				return err
			}
		}
	}
	data := db.PrefixRange(v.s.Section(keyspace.Data))
	if v.only == nil && (bytes.Compare(keys.Begin, data.Begin) < 0 || bytes.Compare(data.End, keys.End) < 0) {
		told = true
		d := Damage{File: file, What: what, Part: "the store's own keys", Help: helpStore}
		if names := db.PrefixRange(v.s.Section(keyspace.Databases)); db.Overlap(keys, names) {
			d.Part = partNames
		}
		if err := report(&d); err != nil {
			return err
		}
	}
	if !told && v.only == nil {
		return report(&Damage{File: file, What: what, Part: "a deleted or nameless database"})
	}
	return nil
}

// nameDocuments finds the documents that have keys in an unreadable range.
func (v *verifier) nameDocuments(d *Damage, c *db.Core, sub keyspace.Subspace, prefix []byte, keys kv.KeyRange) {
	d.First, _, _ = tuple.TakeString(keys.Begin[len(prefix):]) // an index key may be truncated, and then has no id
	if bytes.HasPrefix(keys.End, prefix) {
		d.Last, _, _ = tuple.TakeString(keys.End[len(prefix):])
	}
	list := keyspace.Revisions
	if sub == keyspace.Revisions {
		list = keyspace.AllDocs
	}
	if sub == keyspace.Local {
		return
	}
	ids := db.PrefixRange(c.Keys.Sub(nil, list))
	if d.First != "" {
		ids.Begin = c.Keys.Doc(nil, list, d.First)
	}
	if d.Last != "" {
		ids.End = append(c.Keys.Doc(nil, list, d.Last), 0xff)
	}
	last := ""
	var tried []string
	n := len(c.Keys.Sub(nil, list))
	// Unreadable parts of the list are reported separately.
	_ = v.holes.Scan(v.r, ids, func(row kv.KeyValue) error {
		id, _, err := tuple.TakeString(row.Key[n:])
		if err != nil || id == last {
			return nil //nolint:nilerr // an undecodable row names no document
		}
		last = id
		if len(tried) >= triedDocuments || len(d.Documents) >= namedDocuments {
			d.More = true
			return ErrEnough
		}
		tried = append(tried, id)
		if v.lacks(c, sub, id) {
			d.Documents = append(d.Documents, id)
		}
		return nil
	}, func(kv.KeyRange) error { return nil })
	if len(d.Documents) == 0 && len(tried) <= namedDocuments && readable(v.r, keys) {
		d.Documents = tried
	}
}

// lacks reports whether rows of a document cannot be read. Only bodies and attachments that its branches refer to
// count: a damaged block may contain obsolete ones, and a read of a neighbour's rows may fail at the block too.
func (v *verifier) lacks(c *db.Core, sub keyspace.Subspace, id string) bool {
	if sub == keyspace.Documents || sub == keyspace.Attachments {
		n := len(c.Keys.Doc(nil, keyspace.Revisions, id))
		if leaves, err := rev.ReadLeaves(rev.ReadTree(v.r, c.Keys, id), n, true, nil); err == nil {
			return v.leavesLack(c, sub, id, leaves)
		}
	}
	key := c.Keys.Doc(nil, sub, id)
	return !readable(v.r, kv.KeyRange{Begin: key, End: append(bytes.Clone(key), 0xff)})
}

func (v *verifier) leavesLack(c *db.Core, sub keyspace.Subspace, id string, leaves []rev.LeafKV) bool {
	for i := range leaves {
		read := rev.ReadBody(v.r, c.Keys, id, leaves[i].Rev)
		body, found, err := read.Wait()
		if err != nil || !found {
			if sub == keyspace.Documents {
				return true
			}
			continue // reported with its block
		}
		for j := range body.Attachments {
			if sub == keyspace.Attachments && !attach.WholeAttachment(v.r, c.Keys, id, &body.Attachments[j]) {
				return true
			}
		}
	}
	return false
}

var ErrEnough = fault.Errf(fault.Internal, "", "enough was read")

// readable reports whether all of a range can be read.
func readable(r kv.Reader, keys kv.KeyRange) bool {
	rows := r.GetRange(keys, kv.RangeOptions{})
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err() == nil
}
