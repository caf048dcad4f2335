package write

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// content is what an edit stores: the body of its revision with the attachments, and what these are made from.
type content struct {
	parent  rev.BodyRead        // pending read of plan.parent
	own     rev.BodyRead        // pending read of the edit's revision, which may exist
	uploads []kv.Future[[]byte] // pending reads of the entries of the edit's uploads

	parentBody  rev.StoredBody
	hasParent   bool
	oldChunk    []byte // first chunk of a body that this one replaces
	attachments []rev.Attachment
	body        []byte
	stored      []byte // body as stored; nil if the edit has none
}

// issueContent starts the reads that composing and validating need: the parent's body, the entries of uploads, the body
// of a known ancestor. Most edits need none (R7).
func issueContent(b *batch, p *pendingEdit) error {
	p.content.issue(b.t, p.e, &p.plan, watched(b.t, b.o, p.e.ID))
	return nil
}

func (c *content) issue(t *db.Txn, e *rev.Edit, pl *plan, watched bool) {
	if !pl.parent.IsZero() && (watched || needsParent(e)) {
		c.parent = rev.ReadBody(t, t.Keys, e.ID, pl.parent)
	}
	if pl.ancestor || pl.leftover {
		c.own = rev.ReadBody(t, t.Keys, e.ID, e.Rev)
	}
	for i := range e.Attachments {
		if u := e.Attachments[i].Upload; u != nil {
			c.uploads = append(c.uploads, t.Get(t.Close(attach.Upload(t.Keys, t.Open(), u))))
		}
	}
}

// needsParent reports whether an edit refers to the parent revision's body or attachments.
func needsParent(e *rev.Edit) bool {
	if e.KeepAttachments || e.Body == nil {
		return true
	}
	for i := range e.Attachments {
		if e.Attachments[i].Stub {
			return true
		}
	}
	return false
}

// compose makes the new revision: its attachments, body and id.
func compose(b *batch, p *pendingEdit) error {
	t, pl, c := b.t, &p.plan, &p.content
	if c.own.First != nil {
		var err error
		if c.oldChunk, err = c.own.First.Wait(); err != nil {
			return err
		}
		pl.ancestor = pl.ancestor && c.oldChunk == nil
	}
	if !pl.hasAdded && !pl.ancestor {
		p.settled = !pl.moves()
		return nil
	}
	if c.parent.First != nil {
		var err error
		if c.parentBody, c.hasParent, err = c.parent.Wait(); err != nil {
			return err
		}
		t.Spent += c.parentBody.Size
	}
	if err := c.compose(p.e, p.rev().Pos, b.o.Replicated); err != nil {
		return err
	}
	if !b.o.Replicated {
		pl.added.Rev.ID = c.revID(t, p.e.Deleted, pl.replaced)
		p.existing.issue(t, p.e.ID, pl)
	}
	c.stored = t.Close(rev.AppendBody(t.Open(), p.e.Deleted, c.attachments, c.body))
	return nil
}

// compose sets the attachments and the body of the revision, which has generation pos.
func (c *content) compose(e *rev.Edit, pos int64, replicated bool) error {
	if len(e.Attachments) > 0 || e.KeepAttachments {
		if err := c.composeAttachments(e, pos, replicated); err != nil {
			return err
		}
	}
	c.body = e.Body
	if c.body == nil {
		if c.body = c.parentBody.Body; c.body == nil {
			c.body = []byte("{}")
		}
	}
	return nil
}

// revID returns the hash of a new revision, which replaces the given leaves. It depends only on the revision itself, so
// that the same edit made in two databases results in the same revision.
func (c *content) revID(t *db.Txn, deleted bool, replaced []*rev.LeafKV) string {
	b := t.Open()
	b = append(b, keyspace.BodyFormat, 0)
	if deleted {
		b[1] = 1
	}
	parent := db.Rev{}
	if len(replaced) > 0 {
		parent = replaced[0].Rev
	}
	b = binary.AppendVarint(b, parent.Pos)
	b = appendSized(b, parent.ID)
	for i := range c.attachments {
		a := &c.attachments[i]
		b = appendSized(appendSized(appendSized(b, a.Name), a.ContentType), a.Digest)
	}
	b = append(b, 0xff)
	b = append(b, c.body...)
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

func appendSized(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}
