package write

import (
	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
)

// takeUploads makes the new attachments' data part of the document.
func (p *pendingEdit) takeUploads(t *db.Txn) {
	for i := range p.e.Attachments {
		edit := &p.e.Attachments[i]
		if edit.Stub {
			continue
		}
		a := p.attachment(edit.Name)
		if edit.Upload != nil {
			t.Clear(t.Close(attach.Upload(t.Keys, t.Open(), edit.Upload)))
		} else {
			attach.WriteChunks(t, p.e.ID, a.ID, 0, edit.Data)
		}
		rev.Bear(t, p.e.ID, a)
		t.CountFor(p.e.ID, db.CounterStored, a.EncodedLength)
		t.CountFor(p.e.ID, db.CounterContent, a.Length)
	}
}

func (p *pendingEdit) attachment(name string) *rev.Attachment {
	for i := range p.attachments {
		if p.attachments[i].Name == name {
			return &p.attachments[i]
		}
	}
	return nil
}
