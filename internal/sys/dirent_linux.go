package sys

// Offsets in struct linux_dirent64.
const (
	direntType = 18
	direntName = 19
)
