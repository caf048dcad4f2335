package write

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/jsontext"
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
	p.outgoing = readOutgoing(b.t, p.e.ID, p.plan.replaced, &p.content.parent)
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
	if _, err := p.outgoing.wait(t, p.e.ID); err != nil {
		return err
	}
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
		pl.added.Rev.ID = c.revID(p.e.Deleted, pl.replaced)
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

// revID returns the hash of a new revision, which replaces the given leaves. It is the one that CouchDB computes for
// the same edit, so that the same edit made in two databases results in the same revision: the MD5 sum of a list, in
// Erlang's external term format, of whether the document is deleted, the position and id of the parent, the body and
// the attachments. Attachments that are stored compressed are known by the digest of their compressed bytes, as in
// CouchDB, whose compressor makes other bytes of them; then the ids differ.
func (c *content) revID(deleted bool, replaced []*rev.LeafKV) string {
	parent := db.Rev{}
	if len(replaced) > 0 {
		parent = replaced[0].Rev
	}
	const version, parts = 131, 5
	b := make([]byte, 1, len(c.body)+len(c.body)/4+128)
	b[0] = version
	b = jsontext.AppendTermList(b, parts)
	b = jsontext.AppendTermBool(b, deleted)
	b = jsontext.AppendTermInt(b, parent.Pos)
	b = appendParent(b, parent)
	b = jsontext.AppendTerm(b, c.body)
	if len(c.attachments) > 0 {
		b = jsontext.AppendTermList(b, len(c.attachments))
	}
	for i := range slices.Backward(c.attachments) {
		b = appendAttachment(b, &c.attachments[i])
	}
	b = jsontext.AppendTermNil(jsontext.AppendTermNil(b))
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

// appendParent appends the id of the parent: 0 without one, and the 16 bytes of a hash.
func appendParent(b []byte, parent db.Rev) []byte {
	if parent.IsZero() {
		return jsontext.AppendTermInt(b, 0)
	}
	if hash, err := hex.DecodeString(parent.ID); err == nil && parent.IsHash() {
		return jsontext.AppendTermBinary(b, hash)
	}
	return jsontext.AppendTermBinary(b, parent.ID)
}

// appendAttachment appends an attachment's name, type and digest.
func appendAttachment(b []byte, a *rev.Attachment) []byte {
	b = jsontext.AppendTermTuple(b, 3)
	b = jsontext.AppendTermBinary(b, a.Name)
	b = jsontext.AppendTermBinary(b, a.ContentType)
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(a.Digest, "md5-"))
	if err != nil {
		return jsontext.AppendTermBinary(b, a.Digest) // of another server, which has another kind of digests
	}
	return jsontext.AppendTermBinary(b, sum)
}
