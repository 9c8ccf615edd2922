//go:build linux || darwin

package sys

import (
	"bytes"
	"encoding/binary"
)

// parseDirent decodes the first entry of b and returns its size, or 0 if b does
// not hold a whole one. Both systems put the inode first, then 8 bytes of
// position, then the size; see getdents(2) and dir(5).
func parseDirent(b []byte) (e Dirent, size int) {
	if len(b) < direntName {
		return Dirent{}, 0
	}
	size = int(binary.NativeEndian.Uint16(b[16:]))
	if size < direntName || size > len(b) {
		return Dirent{}, 0
	}
	name := b[direntName:size]
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	return Dirent{
		Name: string(name),
		Ino:  binary.NativeEndian.Uint64(b),
		Type: uint32(b[direntType]) << 12, // DT_x is S_IFx >> 12
	}, size
}
