package render

import (
	"hash/fnv"
	"strconv"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/encode"
)

// Info appends a database's info. In addition to CouchDB's members it has the number of changes shards and the
// incarnation.
func Info(dst []byte, info *layer.Info) []byte {
	dst = encode.StringMember(append(dst, '{'), "db_name", info.Name)
	dst = encode.StringMember(dst, "instance_start_time", InstanceStart(info))
	dst = encode.IntMember(dst, "doc_count", info.DocCount)
	dst = encode.IntMember(dst, "doc_del_count", info.DocDelCount)
	dst = encode.StringMember(dst, "update_seq", info.UpdateSeq.String())
	dst = encode.StringMember(dst, "purge_seq", strconv.FormatInt(info.PurgeSeq, 10))
	dst = encode.BoolMember(dst, "compact_running", info.Compacting)
	dst = append(dst, `,"sizes":{`...)
	dst = encode.IntMember(dst, "active", info.ActiveSize)
	dst = encode.IntMember(dst, "external", info.ExternalSize)
	dst = encode.IntMember(dst, "file", info.FileSize)
	dst = append(dst, `},"props":{`...)
	if info.Partitioned {
		dst = append(dst, `"partitioned":true`...)
	}
	dst = append(dst, `},"disk_format_version":8,"cluster":{"q":`...)
	dst = strconv.AppendInt(dst, int64(info.Shards), 10)
	dst = append(dst, `,"n":1,"w":1,"r":1}`...)
	dst = encode.IntMember(dst, "changes_shards", int64(info.Shards))
	dst = encode.IntMember(dst, "incarnation", info.Incarnation)
	dst = encode.StringMember(dst, "uuid", info.UUID)
	return append(dst, '}')
}

// InstanceStart distinguishes a database from another one of the same name created later, which is all that clients use
// it for. In CouchDB it is a time.
func InstanceStart(info *layer.Info) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(info.UUID)) // a hash never fails
	return strconv.FormatUint(uint64(h.Sum32()), 10)
}
