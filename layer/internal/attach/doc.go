// Package attach stores the data of attachments: uploads that take many transactions, reference counts, and removal
// with the last reference. The description of an attachment is part of the document's body, which packages rev and
// write handle.
package attach
