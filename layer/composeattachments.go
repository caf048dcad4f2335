package layer

// takeUploads makes the new attachments' data part of the document.
func (p *pendingEdit) takeUploads(t *txn) {
	for i := range p.e.Attachments {
		edit := &p.e.Attachments[i]
		if edit.Stub {
			continue
		}
		a := p.attachment(edit.Name)
		if edit.Upload != nil {
			t.Clear(t.close(t.keys.upload(t.open(), edit.Upload)))
		} else {
			t.writeChunks(p.e.ID, a.ID, 0, edit.Data)
		}
		t.bear(p.e.ID, a)
		t.countFor(p.e.ID, counterStored, a.EncodedLength)
		t.countFor(p.e.ID, counterContent, a.Length)
	}
}

func (p *pendingEdit) attachment(name string) *Attachment {
	for i := range p.attachments {
		if p.attachments[i].Name == name {
			return &p.attachments[i]
		}
	}
	return nil
}
