package kv

// MetadataVersionKey is the one key past "\xff" that transactions can access. FoundationDB delivers its value with
// the read version, so reading it asks no storage server and costs no round trip. A transaction that changes cached
// data also calls ChangeMetadataVersion; a cache stays valid as long as the metadata version is the same as when it
// was filled.
//
// The key can be read by Get alone, not by range reads or watches. All users of a store share it: a new value says
// that somebody changed something.
const MetadataVersionKey = "\xff/metadataVersion"

// MetadataVersion reads the metadata version: 10 bytes, or nil before the first change. Pass a Transaction's
// Snapshot, or the transaction conflicts with every change of any metadata.
func MetadataVersion(r Reader) Future[[]byte] { return r.Get([]byte(MetadataVersionKey)) }

// ChangeMetadataVersion sets the metadata version to the versionstamp of tx's commit. tx cannot read it afterwards.
func ChangeMetadataVersion(tx Transaction) {
	tx.SetVersionstampedValue([]byte(MetadataVersionKey), make([]byte, len(Versionstamp{})), 0)
}
