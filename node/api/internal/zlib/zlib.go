// Package zlib compresses to exactly the bytes that CouchDB's zlib makes. The digest of an attachment is that of its
// compressed data, and the revision of a document contains its attachments' digests, so the same edit has the same
// revision here and in CouchDB only if the compressed data is the same. It does not decompress: compress/gzip does.
package zlib

import (
	"fmt"
	"unsafe"

	"modernc.org/libc"
	z "modernc.org/z/lib"
)

// Deflater makes one gzip stream. It is not safe for concurrent use. Its memory, some 300 KB, is not the garbage
// collector's: call Close.
type Deflater struct {
	tls     *libc.TLS
	memory  uintptr // the stream, then the buffers
	in, out uintptr
}

const (
	bufferSize  = 32 << 10
	streamSize  = (unsafe.Sizeof(z.Z_stream{}) + 15) &^ 15
	gzipWrapper = 16 // added to the bits of the window for gzip's header and trailer
	windowBits  = 15
	memoryLevel = 8 // CouchDB's, in couch_stream.erl
)

// New returns a Deflater with a level from 1 to 9.
func New(level int) (*Deflater, error) {
	d := &Deflater{tls: libc.NewTLS()}
	d.memory = libc.Xcalloc(d.tls, 1, libc.Tsize_t(streamSize+2*bufferSize))
	if d.memory == 0 {
		d.tls.Close()
		return nil, fmt.Errorf("zlib: no memory")
	}
	d.in, d.out = d.memory+streamSize, d.memory+streamSize+bufferSize
	version, err := libc.CString(z.ZLIB_VERSION)
	if err == nil {
		defer libc.Xfree(d.tls, version)
		code := z.XdeflateInit2_(d.tls, d.memory, int32(level), z.Z_DEFLATED, gzipWrapper+windowBits, memoryLevel,
			z.Z_DEFAULT_STRATEGY, version, int32(unsafe.Sizeof(z.Z_stream{})))
		if code != z.Z_OK {
			err = fmt.Errorf("zlib: cannot begin: %d", code)
		}
	}
	if err != nil {
		libc.Xfree(d.tls, d.memory)
		d.tls.Close()
		return nil, err
	}
	return d, nil
}

// Append appends the compressed data that p completes to dst; the rest is kept for the next call. With last, all of it
// is appended, with the end of the stream, and Append must not be called again.
func (d *Deflater) Append(dst, p []byte, last bool) []byte {
	for {
		n := min(len(p), bufferSize)
		copy(unsafe.Slice((*byte)(pointer(d.in)), bufferSize), p[:n])
		p = p[n:]
		flush := int32(z.Z_NO_FLUSH)
		if last && len(p) == 0 {
			flush = z.Z_FINISH
		}
		dst = d.deflate(dst, n, flush)
		if len(p) == 0 {
			return dst
		}
	}
}

// deflate compresses n bytes of the input buffer.
func (d *Deflater) deflate(dst []byte, n int, flush int32) []byte {
	s := (*z.Z_stream)(pointer(d.memory))
	s.Fnext_in, s.Favail_in = d.in, uint32(n)
	for {
		s.Fnext_out, s.Favail_out = d.out, bufferSize
		code := z.Xdeflate(d.tls, d.memory, flush)
		if code == z.Z_STREAM_ERROR {
			panic("zlib: the stream was used after its end")
		}
		made := bufferSize - int(s.Favail_out)
		dst = append(dst, unsafe.Slice((*byte)(pointer(d.out)), bufferSize)[:made]...)
		if made < bufferSize { // there was room for all
			return dst
		}
	}
}

// Close frees the memory. It may be called more than once.
func (d *Deflater) Close() {
	if d.memory == 0 {
		return
	}
	z.XdeflateEnd(d.tls, d.memory)
	libc.Xfree(d.tls, d.memory)
	d.tls.Close()
	d.memory = 0
}

// pointer returns the address of memory that the garbage collector does not manage.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
