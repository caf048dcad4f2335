// Package attach stores the data of attachments: uploads in many transactions, references to the data, and its removal
// with the last of them.
package attach
