package probe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// A Swap is an attack: two names that change places again and again. At rest Name
// is what it should be, and Spare holds what the attack puts there.
type Swap struct {
	// Dir is the directory below which both names are. It is opened once.
	Dir string
	// Name is the name under attack and Spare the one it is swapped with.
	Name, Spare string
	// Plain moves one thing back and forth between two names, of which one is
	// free, instead of exchanging two things: Name to Spare and back, or, if Link
	// is set, Spare to Name and back.
	Plain bool
	// Link is the text of a link at Spare that the server may replace or carry off
	// when it writes: the attack then plants it again. Empty if that cannot be.
	Link string
	// Limit ends the attack even if nobody stops it. 0 means ten minutes.
	Limit time.Duration
}

// A Report says what an attack did.
type Report struct {
	Swaps   int           // names that changed places, each direction counting as one
	Failed  int           // attempts that the system refused
	Planted int           // links that were gone and planted again
	Took    time.Duration // how long it ran
}

// attackArg is the first argument of a process that is to attack. The second one
// is a Swap in JSON.
const attackArg = "probe-attack"

// AttackMain attacks if args, the arguments without the program's name, are those
// that [StartSwapper] gives to a program; ran tells. The attack ends when stdin
// does, so that it does not outlive the program that started it. The caller
// should exit afterwards.
func AttackMain(args []string, stdin io.Reader, stdout io.Writer) (ran bool, err error) {
	if len(args) != 2 || args[0] != attackArg {
		return false, nil
	}
	var s Swap
	if err := json.Unmarshal([]byte(args[1]), &s); err != nil {
		return true, fmt.Errorf("attack: %w", err)
	}
	if s.Limit <= 0 {
		s.Limit = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Limit)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()

	out := json.NewEncoder(stdout)
	report, err := s.run(ctx, func() error { return out.Encode(Report{Swaps: 1}) })
	if err != nil {
		return true, fmt.Errorf("attack: %w", err)
	}
	return true, out.Encode(report)
}

// A Swapper is an attack that is under way in another process.
type Swapper struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *bufio.Reader
	stderr *bytes.Buffer
	stop   func() (Report, error)
}

// StartSwapper starts the program exe, usually [os.Executable], as an attacker,
// and returns when it has swapped for the first time. The program's main has to
// call [AttackMain]. The attack ends with [Swapper.Stop], or when ctx is done.
// Where the system cannot swap the error is [errors.ErrUnsupported].
func StartSwapper(ctx context.Context, exe string, s Swap) (*Swapper, error) {
	if !canSwap {
		return nil, fmt.Errorf("swap names: %w", errors.ErrUnsupported)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	w := &Swapper{cmd: exec.CommandContext(ctx, exe, attackArg, string(text)), stderr: new(bytes.Buffer)}
	w.stop = sync.OnceValues(w.finish)
	w.cmd.Stderr = w.stderr
	w.cmd.WaitDelay = 5 * time.Second
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// An attacker that was killed would leave the names as they happened to be.
	w.cmd.Cancel = func() error { return w.stdin.Close() }
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.stdout = bufio.NewReader(stdout)
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start attacker: %w", err)
	}
	if _, err := w.read(); err != nil {
		_, err2 := w.Stop()
		return nil, errors.Join(err, err2)
	}
	return w, nil
}

// Stop ends the attack, leaves everything in its place at rest, and says what was
// done. It may be called more than once, and concurrently.
func (w *Swapper) Stop() (Report, error) { return w.stop() }

func (w *Swapper) finish() (Report, error) {
	_ = w.stdin.Close()
	report, err := w.read()
	if werr := w.cmd.Wait(); werr != nil {
		return report, fmt.Errorf("attacker: %w: %s", werr, bytes.TrimSpace(w.stderr.Bytes()))
	}
	return report, err
}

func (w *Swapper) read() (r Report, err error) {
	line, err := w.stdout.ReadBytes('\n')
	if err != nil {
		return r, fmt.Errorf("attacker said nothing: %w", err)
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("attacker said %q: %w", line, err)
	}
	return r, nil
}
