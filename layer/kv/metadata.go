package kv

// MetadataVersionKey is the one key past "\xff" that transactions reach: FoundationDB's own, of which every transaction
// gets the value together with its read version, so that Get of it asks no storage server and costs no round trip.
// Whoever changes something that others cache changes it in the same transaction (ChangeMetadataVersion); whoever
// caches reads it, and knows, where it is as it was when the cache was filled, that nothing cached has changed.
//
// It can be read by Get alone: no range holds it, and no watch. All who use a store share it: that it has changed says
// that something was changed, by anybody.
const MetadataVersionKey = "\xff/metadataVersion"

// MetadataVersion reads the metadata version: 10 bytes, or nil before the first change. Give it a Transaction's
// Snapshot: a conflict with every change would be more than anybody wants.
func MetadataVersion(r Reader) Future[[]byte] { return r.Get([]byte(MetadataVersionKey)) }

// ChangeMetadataVersion makes the metadata version the versionstamp of tx's commit. It cannot be read in tx after that.
func ChangeMetadataVersion(tx Transaction) {
	tx.SetVersionstampedValue([]byte(MetadataVersionKey), make([]byte, len(Versionstamp{})), 0)
}
