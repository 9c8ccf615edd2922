//go:build !linux && !darwin

package sys

import "syscall"

// Supported reports whether this system has the calls that rootedfs is made of.
const Supported = false

// Flags and bits of calls that do not exist here.
const (
	DirHandle = 0
	Directory = 0
	NoFollow  = 0
	NoCTTY    = 0
	Beneath   = 0
	NoLinks   = 0
	Cwd       = -1
	MayWrite  = 0
	MaySearch = 0
	SeekData  = 0
	SeekHole  = 0
)

// The functions answer ENOSYS, and false.

func Openat2(dir int, name string, flags int, mode uint32, resolve uint64) (int, syscall.Errno) {
	return -1, syscall.ENOSYS
}
func HasOpenat2() bool { return false }
func Openat(dir int, name string, flags int, mode uint32) (int, syscall.Errno) {
	return -1, syscall.ENOSYS
}
func Close(fd int) syscall.Errno                              { return syscall.ENOSYS }
func Readlinkat(dir int, name string) (string, syscall.Errno) { return "", syscall.ENOSYS }
func Fstat(fd int, s *Stat) syscall.Errno                     { return syscall.ENOSYS }
func FstatType(fd int) (typ uint32, size int64, errno syscall.Errno) {
	return 0, 0, syscall.ENOSYS
}
func Lstatat(dir int, name string, s *Stat) syscall.Errno          { return syscall.ENOSYS }
func InProc(fd int) bool                                           { return false }
func Path(fd int) (string, syscall.Errno)                          { return "", syscall.ENOSYS }
func Unlinkat(dir int, name string) syscall.Errno                  { return syscall.ENOSYS }
func Rmdirat(dir int, name string) syscall.Errno                   { return syscall.ENOSYS }
func Mkdirat(dir int, name string, mode uint32) syscall.Errno      { return syscall.ENOSYS }
func Symlinkat(text string, dir int, name string) syscall.Errno    { return syscall.ENOSYS }
func CopyRange(dst, src, n int) (int, syscall.Errno)               { return 0, syscall.ENOSYS }
func CopyXattrs(dir int, name string, dst int) syscall.Errno       { return syscall.ENOSYS }
func Read(fd int, p []byte) (int, syscall.Errno)                   { return 0, syscall.ENOSYS }
func Pread(fd int, p []byte, offset int64) (int, syscall.Errno)    { return 0, syscall.ENOSYS }
func Write(fd int, p []byte) (int, syscall.Errno)                  { return 0, syscall.ENOSYS }
func Seek(fd int, offset int64, whence int) (int64, syscall.Errno) { return 0, syscall.ENOSYS }
func Fchown(fd, uid, gid int) syscall.Errno                        { return syscall.ENOSYS }
func Fchmod(fd int, mode uint32) syscall.Errno                     { return syscall.ENOSYS }
func ChmodHandle(fd int, mode uint32) syscall.Errno                { return syscall.ENOSYS }
func Ftruncate(fd int, size int64) syscall.Errno                   { return syscall.ENOSYS }
func Fsync(fd int) syscall.Errno                                   { return syscall.ENOSYS }
func SetTimes(dir int, name string, atime, mtime int64) syscall.Errno {
	return syscall.ENOSYS
}

func Pwrite(fd int, p []byte, offset int64) (int, syscall.Errno) { return 0, syscall.ENOSYS }
func Reserve(fd int, size int64) syscall.Errno                   { return syscall.ENOSYS }
func Access(dir int, name string, mode uint32) syscall.Errno     { return syscall.ENOSYS }

func Rename(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return syscall.ENOSYS
}

func RenameNoReplace(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return syscall.ENOSYS
}

func RenameExchange(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return syscall.ENOSYS
}

func Linkat(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return syscall.ENOSYS
}

func getdents(fd int, buf []byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }

func parseDirent(b []byte) (e Dirent, size int) { return Dirent{}, 0 }
