package write

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
)

// checkEdit refuses what can be refused without reading.
func checkEdit(t *db.Txn, e *rev.Edit, o rev.WriteOptions) error {
	if err := db.ValidateID(e.ID); err != nil {
		return err
	}
	if db.IsLocal(e.ID) {
		return fault.Errf(fault.Invalid, "illegal_docid", "_local documents have no revisions")
	}
	if len(e.Body) > StateOf(t.Db.Store).MaxDocument {
		return fault.Errf(fault.TooLarge, "document_too_large", "%s", e.ID)
	}
	if err := t.Cfg.CheckID(e.ID); err != nil {
		return err
	}
	if db.IsDesign(e.ID) && !t.Cfg.Partitioned && gjson.GetBytes(e.Body, "options.partitioned").Type == gjson.True {
		return fault.Errf(fault.Invalid, "invalid_design_doc", "partitioned option cannot be true in a non-partitioned database.")
	}
	for i := range e.Attachments {
		a := &e.Attachments[i]
		if a.Follows && a.Upload == nil && !a.Stub {
			return fault.Errf(fault.Invalid, "bad_request", "the data of attachment %s never came", a.Name)
		}
	}
	return nil
}

// needsParent reports whether the edit refers to what the parent revision has.
func (p *pendingEdit) needsParent() bool {
	if p.e.KeepAttachments || p.e.Body == nil {
		return true
	}
	for i := range p.e.Attachments {
		if p.e.Attachments[i].Stub {
			return true
		}
	}
	return false
}

// issueParent starts the reads that composing and validating need: the parent's body, the entries of uploads, the body
// of a known ancestor. Most edits need none (R7).
func (p *pendingEdit) issueParent(t *db.Txn, o rev.WriteOptions) {
	pl := &p.plan
	if !pl.parent.IsZero() && (p.needsParent() || p.watched(t, o)) {
		p.parent = rev.ReadBody(t, t.Keys, p.e.ID, pl.parent)
	}
	if pl.ancestor || pl.leftover {
		p.own = rev.ReadBody(t, t.Keys, p.e.ID, p.e.Rev)
	}
	for i := range p.e.Attachments {
		if u := p.e.Attachments[i].Upload; u != nil {
			p.uploads = append(p.uploads, t.Get(t.Close(attach.Upload(t.Keys, t.Open(), u))))
		}
	}
}

// compose makes the new revision: its attachments, body and id.
func (p *pendingEdit) compose(t *db.Txn, o rev.WriteOptions) error {
	pl := &p.plan
	if p.own.First != nil {
		var err error
		if p.oldChunk, err = p.own.First.Wait(); err != nil {
			return err
		}
		pl.ancestor = pl.ancestor && p.oldChunk == nil
	}
	if !pl.hasAdded && !pl.ancestor {
		p.settled = len(pl.replaced) == 0 && len(pl.changed) == 0
		return nil
	}
	if p.parent.First != nil {
		var err error
		if p.parentBody, p.hasParent, err = p.parent.Wait(); err != nil {
			return err
		}
		t.Spent += p.parentBody.Size
	}
	if err := p.composeAttachments(t, o); err != nil {
		return err
	}
	p.body = p.e.Body
	if p.body == nil {
		if p.body = p.parentBody.Body; p.body == nil {
			p.body = []byte("{}")
		}
	}
	if !o.Replicated {
		pl.added.Rev.ID = p.newRevID(t)
		p.issueAdded(t)
	}
	p.stored = t.Close(rev.AppendBody(t.Open(), p.e.Deleted, p.attachments, p.body))
	return nil
}

// newRevID is the hash that names a new revision. It depends on nothing but what the revision is, so that the same edit
// made on two databases is the same revision.
func (p *pendingEdit) newRevID(t *db.Txn) string {
	b := t.Open()
	b = append(b, keyspace.BodyFormat, 0)
	if p.e.Deleted {
		b[1] = 1
	}
	parent := db.Rev{}
	if len(p.plan.replaced) > 0 {
		parent = p.plan.replaced[0].Rev
	}
	b = binary.AppendVarint(b, parent.Pos)
	b = appendSized(b, parent.ID)
	for i := range p.attachments {
		a := &p.attachments[i]
		b = appendSized(appendSized(appendSized(b, a.Name), a.ContentType), a.Digest)
	}
	b = append(b, 0xff)
	b = append(b, p.body...)
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

func appendSized(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// composeAttachments resolves stubs against the parent and gives data its id. Where nothing refers to the parent, no
// attachment survives.
func (p *pendingEdit) composeAttachments(t *db.Txn, o rev.WriteOptions) error {
	if len(p.e.Attachments) == 0 && !p.e.KeepAttachments {
		return nil
	}
	if p.e.KeepAttachments {
		for _, a := range p.parentBody.Attachments {
			if a.Name != p.e.RemoveAttachment && !has(p.e, a.Name) {
				p.attachments = append(p.attachments, a)
			}
		}
	}
	upload := 0
	for i := range p.e.Attachments {
		edit := &p.e.Attachments[i]
		var a rev.Attachment
		var err error
		switch {
		case edit.Stub:
			a, err = p.resolveStub(edit)
		case edit.Upload != nil:
			a, err = p.takeUpload(edit, p.uploads[upload])
			upload++
		default:
			a, err = inlineAttachment(edit)
		}
		if err != nil {
			return err
		}
		if a.RevPos == 0 || !o.Replicated && !edit.Stub {
			a.RevPos = p.bodyRev().Pos
		}
		p.attachments = append(p.attachments, a)
	}
	return nil
}

func has(e *rev.Edit, attachment string) bool {
	for i := range e.Attachments {
		if e.Attachments[i].Name == attachment {
			return true
		}
	}
	return false
}

// resolveStub finds what a stub stands for. Its revpos and digest, where given, have to be those of the parent's
// attachment.
func (p *pendingEdit) resolveStub(edit *rev.AttachmentEdit) (rev.Attachment, error) {
	for _, a := range p.parentBody.Attachments { // none without a parent
		if a.Name != edit.Name {
			continue
		}
		if edit.RevPos != 0 && edit.RevPos != a.RevPos || edit.Digest != "" && edit.Digest != a.Digest {
			break
		}
		return a, nil
	}
	return rev.Attachment{}, fault.Errf(fault.Invalid, "missing_stub", "Invalid attachment stub in %s for %s", p.e.ID, edit.Name)
}

// takeUpload takes up an upload. entry says that it has not been swept or taken before.
func (p *pendingEdit) takeUpload(edit *rev.AttachmentEdit, entry interface{ Wait() ([]byte, error) }) (rev.Attachment, error) {
	u := edit.Upload
	there, err := entry.Wait()
	if err != nil {
		return rev.Attachment{}, err
	}
	if there == nil || u.DocID != p.e.ID {
		return rev.Attachment{}, fault.Errf(fault.Invalid, "bad_request", "the upload for attachment %s is gone", edit.Name)
	}
	if edit.Digest != "" && edit.Digest != u.Digest {
		return rev.Attachment{}, errDigest()
	}
	return rev.Attachment{Name: edit.Name, ContentType: contentType(edit), RevPos: edit.RevPos, Digest: u.Digest,
		Length: u.Length, Encoding: u.Encoding, EncodedLength: u.EncodedLength, ID: u.ID}, nil
}

func errDigest() error {
	return fault.Errf(fault.Invalid, "content_md5_mismatch", "Possible message corruption.")
}

// inlineAttachment describes data held in memory.
func inlineAttachment(edit *rev.AttachmentEdit) (rev.Attachment, error) {
	sum := md5.Sum(edit.Data)
	digest := attach.DigestOf(sum[:])
	if edit.Digest != "" && edit.Digest != digest {
		return rev.Attachment{}, errDigest()
	}
	length, err := attach.ContentLength(edit.Data, edit.Encoding)
	if err != nil {
		return rev.Attachment{}, err
	}
	return rev.Attachment{Name: edit.Name, ContentType: contentType(edit), RevPos: edit.RevPos, Digest: digest,
		Length: length, Encoding: edit.Encoding, EncodedLength: int64(len(edit.Data)), ID: attach.NewAttachmentID()}, nil
}

func contentType(edit *rev.AttachmentEdit) string {
	if edit.ContentType == "" {
		return "application/octet-stream"
	}
	return edit.ContentType
}
