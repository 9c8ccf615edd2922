package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rootbound/rootbound/internal/sys"
)

const canSwap = true

// firstSwap is how many attempts may fail before the attack is given up as one
// that this file system, or this tree, does not allow.
const firstSwap = 1000

// A swap that takes longer than shortWait had to wait for others. longestStay bounds
// how long the attack makes them wait for that.
const (
	shortWait   = 100 * time.Microsecond
	longestStay = 20 * time.Millisecond
)

// run swaps until ctx is done and then restores the state at rest. It calls
// started after the first swap.
func (s *Swap) run(ctx context.Context, started func() error) (r Report, err error) {
	dir, err := os.Open(s.Dir)
	if err != nil {
		return r, err
	}
	defer dir.Close()
	fd := int(dir.Fd())
	home, err := os.Lstat(filepath.Join(s.Dir, s.Name))
	if err != nil && !s.Plain {
		return r, err
	}
	begin := time.Now()
	defer func() { r.Took = time.Since(begin) }()

	// there and back are one system call each: anything more would lower the rate.
	there := func() error { return exchange(fd, s.Name, s.Spare) }
	back := there
	if s.Plain {
		from, to := s.Name, s.Spare
		if s.Link != "" {
			from, to = to, from
		}
		there = func() error { return move(fd, from, to) }
		back = func() error { return move(fd, to, from) }
	}
	count := func(err error) error {
		if err != nil {
			r.Failed++
			if r.Swaps == 0 && r.Failed >= firstSwap {
				return fmt.Errorf("swap %s and %s: %w", s.Name, s.Spare, err)
			}
			return nil
		}
		r.Swaps++
		if r.Swaps == 1 {
			return started()
		}
		return nil
	}
	// Where writing is slow, writers hold the directory's lock and make the attack wait
	// at home, while away they are refused at once: they would meet hardly anything but
	// home. So it stays away as long as it had to wait.
	for ctx.Err() == nil {
		leaving := time.Now()
		if err := count(there()); err != nil {
			return r, errors.Join(err, s.rest(fd, home, &r))
		}
		left := time.Now()
		if wait := left.Sub(leaving); wait > shortWait {
			s.stay(left.Add(min(wait, longestStay)))
		}
		if err := count(back()); err != nil {
			return r, errors.Join(err, s.rest(fd, home, &r))
		}
		if s.Link != "" && !s.planted(s.Spare) {
			if err := s.rest(fd, home, &r); err != nil {
				return r, err
			}
		}
	}
	return r, s.rest(fd, home, &r)
}

// stay waits until then, or until a writer has carried the link off.
func (s *Swap) stay(then time.Time) {
	for time.Now().Before(then) && (s.Link == "" || s.planted(s.Name)) {
		time.Sleep(shortWait)
	}
}

// rest brings everything into its place at rest. An attempt that failed may have
// left the two in each other's. home is what was at Name.
func (s *Swap) rest(fd int, home os.FileInfo, r *Report) error {
	switch {
	case s.Link == "" && s.Plain:
		if _, err := os.Lstat(filepath.Join(s.Dir, s.Name)); err == nil {
			return nil
		}
		return move(fd, s.Spare, s.Name)
	case s.Link == "":
		if spare, err := os.Lstat(filepath.Join(s.Dir, s.Spare)); err != nil || !os.SameFile(spare, home) {
			return err
		}
		return exchange(fd, s.Name, s.Spare)
	case s.planted(s.Spare):
		return nil
	case s.planted(s.Name) && s.Plain:
		return move(fd, s.Name, s.Spare)
	case s.planted(s.Name):
		return exchange(fd, s.Name, s.Spare)
	}
	r.Planted++
	// What is at Spare came from the server and goes.
	spare := filepath.Join(s.Dir, s.Spare)
	if err := os.Symlink(s.Link, spare+"~"); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Rename(spare+"~", spare)
}

// planted reports whether the link that leads outside is at name.
func (s *Swap) planted(name string) bool {
	text, err := os.Readlink(filepath.Join(s.Dir, name))
	return err == nil && text == s.Link
}

func exchange(fd int, a, b string) error {
	if errno := sys.RenameExchange(fd, a, fd, b); errno != 0 {
		return errno
	}
	return nil
}

func move(fd int, from, to string) error {
	if errno := sys.Rename(fd, from, fd, to); errno != 0 {
		return errno
	}
	return nil
}
