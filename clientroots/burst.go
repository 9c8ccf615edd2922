package clientroots

import "time"

// How long a burst of changes must be over before the client is asked again. A
// single change is asked about at once, or nearly: two at a time are what a
// client without an atomic replacement sends. From the second on, asking early is
// likely to be in vain.
const (
	pause     = 2 * time.Millisecond   // after one change
	pauseMore = 50 * time.Millisecond  // after two, doubled by each further one
	pauseMost = 200 * time.Millisecond // but no longer than this
	calm      = time.Second            // a change after this long begins another burst
)

// A burst is a run of changes. Its length outlives the questions asked meanwhile,
// unless a call was served by one: changes and calls taking turns are no burst.
type burst struct {
	n     int
	first time.Time // the first change not yet asked about, or zero
	last  time.Time
}

// change takes note of a change.
func (b *burst) change(now time.Time) {
	if now.Sub(b.last) > calm {
		b.n = 0
	}
	b.n++
	b.last = now
	if b.first.IsZero() {
		b.first = now
	}
}

// quiet returns how long to wait before asking, at most until most has passed
// since the first change.
func (b *burst) quiet(now time.Time, most time.Duration) time.Duration {
	if b.first.IsZero() {
		return 0
	}
	need := pause
	if b.n > 1 {
		need = min(pauseMore<<min(b.n-2, 8), pauseMost)
	}
	due := b.last.Add(need)
	if end := b.first.Add(most); end.Before(due) {
		due = end
	}
	return due.Sub(now)
}

// asked takes note that the changes so far are being asked about.
func (b *burst) asked() { b.first = time.Time{} }

// over takes note that a call was served.
func (b *burst) over() { b.n = 0 }
