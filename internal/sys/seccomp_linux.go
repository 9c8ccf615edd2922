//go:build linux && (amd64 || arm64)

package sys

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DenyOpenat2 makes openat2(2) answer errno in this process and its children from
// now on, as older kernels (ENOSYS) and some container profiles (EPERM) do. It
// cannot be undone. Tests call it in a process of their own to reach the code for
// such systems.
func DenyOpenat2(errno syscall.Errno) error {
	return filterOpenat2(unix.SECCOMP_RET_ERRNO | uint32(errno)&unix.SECCOMP_RET_DATA)
}

// KillOnOpenat2 makes any use of openat2(2) end this process with SIGSYS, so that
// a process which lives has not used it. It cannot be undone.
func KillOnOpenat2() error { return filterOpenat2(unix.SECCOMP_RET_KILL_PROCESS) }

// filterOpenat2 installs a seccomp(2) filter on all threads.
func filterOpenat2(action uint32) error {
	arch := uint32(unix.AUDIT_ARCH_X86_64)
	if runtime.GOARCH == "arm64" {
		arch = unix.AUDIT_ARCH_AARCH64
	}
	// Offsets in struct seccomp_data: 0 is the number of the call, 4 the
	// architecture. A call of another architecture would have other numbers.
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 4},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_OPENAT2, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: action},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}

	// The two calls must come from one thread; the second one then reaches all.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	stuck, _, errno := syscall.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	switch {
	case errno != 0:
		return fmt.Errorf("install seccomp filter: %w", errno)
	case stuck != 0:
		return fmt.Errorf("install seccomp filter: thread %d has another one", stuck)
	}
	runtime.KeepAlive(filter)
	return nil
}
