package sys

import (
	"bytes"
	"syscall"

	"golang.org/x/sys/unix"
)

// notCopied are attributes that vouch for the bytes of a file, or give the
// program in it power, and so must not pass to other bytes. The kernel removes
// them on write(2) for the same reason.
var notCopied = map[string]bool{
	"security.capability": true,
	"security.ima":        true,
	"security.evm":        true,
}

// CopyXattrs gives the open file dst the extended attributes of the name below
// dir, which is not followed if it is a link. What may not be copied is left out,
// except for an access control list: that restricts, and losing it would open the
// file to more people, so there the errno is returned.
func CopyXattrs(dir int, name string, dst int) syscall.Errno {
	// A handle without the right to read suffices, by way of its name in proc(5),
	// so a file that we may replace but not read keeps its attributes too.
	src, errno := Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if errno != 0 {
		return errno
	}
	defer Close(src)
	path := procPath(src)
	list, err := xattr(func(b []byte) (int, error) { return unix.Listxattr(path, b) })
	if err != nil {
		return 0 // not supported here
	}
	for name := range bytes.SplitSeq(list, []byte{0}) {
		name := string(name)
		if name == "" || notCopied[name] {
			continue
		}
		value, err := xattr(func(b []byte) (int, error) { return unix.Getxattr(path, name, b) })
		if err == nil {
			err = unix.Fsetxattr(dst, name, value, 0)
		}
		if err != nil && name == "system.posix_acl_access" {
			return errnoOf(err)
		}
	}
	return 0
}

// xattr calls get with a buffer that is large enough, which may take a second
// trial when the attribute grows meanwhile.
func xattr(get func([]byte) (int, error)) ([]byte, error) {
	buf := make([]byte, 1024)
	for {
		n, err := get(buf)
		switch {
		case err == nil:
			return buf[:n], nil
		case err != unix.ERANGE || len(buf) >= 1<<16: // XATTR_SIZE_MAX
			return nil, err
		}
		buf = make([]byte, 1<<16)
	}
}
