// Package rootedfs performs file operations that stay inside a set of roots,
// whatever anyone renames or links meanwhile.
//
//	fsys, err := rootedfs.Open(set, nil)
//	f, err := fsys.OpenRead("/home/ann/app/main.go") // check and open are one step
//	defer f.Close()
//
// A root is a handle, not a string: [Open] opens each root once, and every
// operation starts from that handle. A path is matched against the roots as text,
// which touches no disk, and what follows the root's name is resolved beneath the
// handle by openat2(2), or where that is missing by a walk of our own, one
// directory handle at a time. No path is checked first and used later.
//
// Paths are absolute. They are cleaned lexically, as a file URI would be, so
// "/r/x/../f" is "/r/f" whether or not x exists. [FS.Abs] gives a relative path
// its meaning.
//
// A link inside a root works if it leads into a root, the same or another, by an
// absolute text or a relative one. Otherwise it is [roots.ErrOutside]. What lies
// outside is never opened, listed or asked for, so neither the answer nor the
// time it takes tells whether anything is there. Magic links of proc(5) are not
// followed anywhere.
//
// An [FS] is immutable and safe for concurrent use. It is replaced with
// [FS.Update] when the list of roots changes; operations that run keep the one
// they began with. There is nothing to close: the handles of an FS are closed
// when the last operation on it has ended and it is garbage.
//
// # A root that moves
//
// Twice a second while it is in use, a root is looked for under its real name, in
// which no component may be a link. If it is no longer there its operations
// answer [ErrUnavailable]; if another directory is there that one is adopted, as
// after "rm -rf app && git clone app", unless [Options] say otherwise. So a root
// that was moved away is not reached by its old name for longer than a second.
//
// # A root that does not answer
//
// A network file system whose server is gone, or one in user space, may never
// answer. So the disk is asked for a root in a goroutine of its own, one for a root
// at a time, and nobody waits for it longer than [Options] say; then its operations
// answer [ErrUnavailable] at once until it does answer, and the other roots do not
// notice. An operation that has found its root, and hangs in it, hangs.
//
// # Limits
//
//   - Hard links cannot be told from other names. A file with a second name outside
//     is read like any other; [FS.Replace] detaches it.
//   - Mounts inside a root belong to it, and so do bind mounts of outside
//     directories: who may mount is trusted. A read-only root that is mounted
//     inside a writable one can be written through the latter.
//   - Roots are looked for with the rights of the process, whatever rights the
//     calling thread has given up.
//   - A directory that is moved out of a root while an operation holds it is
//     finished by that operation: it reaches what was inside a moment before.
//   - Opening a FIFO or a device to find out that it is one touches it, without
//     blocking.
//   - On Linux 5.6 and later resolution is one system call. Before, and under
//     filters without openat2, and on macOS, it takes one for each component and
//     at most 512 directories. Windows is not supported: [Open] says so.
package rootedfs
