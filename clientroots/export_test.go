package clientroots

// TestOnlySessions returns of how many sessions the tracker keeps anything.
func (t *Tracker) TestOnlySessions() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.sessions)
}

// For the fuzz test of what peers control.
var (
	TestOnlyRead      = read
	TestOnlyPrintable = printable
)
