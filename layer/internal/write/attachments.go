package write

import (
	"crypto/md5"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
)

// composeAttachments resolves stubs by the parent's attachments and gives new data an id. Attachments of the parent
// that the edit does not refer to are dropped.
func (c *content) composeAttachments(e *rev.Edit, pos int64, replicated bool) error {
	if e.KeepAttachments {
		for _, a := range c.parentBody.Attachments {
			if a.Name != e.RemoveAttachment && !has(e, a.Name) {
				c.attachments = append(c.attachments, a)
			}
		}
	}
	upload := 0
	for i := range e.Attachments {
		edit := &e.Attachments[i]
		var a rev.Attachment
		var err error
		switch {
		case edit.Stub:
			a, err = c.resolveStub(e.ID, edit)
		case edit.Upload != nil:
			a, err = takeUpload(e.ID, edit, c.uploads[upload])
			upload++
		default:
			a, err = inlineAttachment(edit)
		}
		if err != nil {
			return err
		}
		if a.RevPos == 0 || !replicated && !edit.Stub {
			a.RevPos = pos
		}
		c.attachments = append(c.attachments, a)
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

// resolveStub returns the parent's attachment that a stub refers to. The stub's revpos and digest, if given, must
// match.
func (c *content) resolveStub(id string, edit *rev.AttachmentEdit) (rev.Attachment, error) {
	// Empty if there is no parent.
	for _, a := range c.parentBody.Attachments {
		if a.Name != edit.Name {
			continue
		}
		if edit.RevPos != 0 && edit.RevPos != a.RevPos || edit.Digest != "" && edit.Digest != a.Digest {
			break
		}
		return a, nil
	}
	return rev.Attachment{}, fault.Errf(fault.Invalid, "missing_stub",
		"Invalid attachment stub in %s for %s", id, edit.Name)
}

// takeUpload returns the attachment made from an upload. entry must exist: it tells that the upload was neither swept
// nor used.
func takeUpload(id string, edit *rev.AttachmentEdit, entry kv.Future[[]byte]) (rev.Attachment, error) {
	u := edit.Upload
	there, err := entry.Wait()
	if err != nil {
		return rev.Attachment{}, err
	}
	if u.DocID != id {
		return rev.Attachment{}, fault.Errf(fault.Invalid, "bad_request",
			"the upload for attachment %s is of another document", edit.Name)
	}
	if there == nil {
		return rev.Attachment{}, fault.Errf(fault.Unavailable, "",
			"The upload for attachment %s is gone. Send it again.", edit.Name)
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
			Length: length, Encoding: edit.Encoding, EncodedLength: int64(len(edit.Data)),
			ID: attach.NewAttachmentID()},
		nil
}

func contentType(edit *rev.AttachmentEdit) string {
	if edit.ContentType == "" {
		return "application/octet-stream"
	}
	return edit.ContentType
}

// takeUploads makes the data of new attachments part of the document.
func (c *content) takeUploads(t *db.Txn, e *rev.Edit) {
	for i := range e.Attachments {
		edit := &e.Attachments[i]
		if edit.Stub {
			continue
		}
		a := c.attachment(edit.Name)
		if edit.Upload != nil {
			t.Clear(t.Close(attach.Upload(t.Keys, t.Open(), edit.Upload)))
		} else {
			attach.WriteChunks(t, e.ID, a.ID, 0, edit.Data)
		}
		rev.BeginCounting(t, e.ID, a)
		t.CountFor(e.ID, db.CounterStored, a.EncodedLength)
		t.CountFor(e.ID, db.CounterContent, a.Length)
	}
}

func (c *content) attachment(name string) *rev.Attachment {
	for i := range c.attachments {
		if c.attachments[i].Name == name {
			return &c.attachments[i]
		}
	}
	return nil
}
