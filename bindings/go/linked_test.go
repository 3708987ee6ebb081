package turnlock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	turnlock "turnlock.example/go"
)

// agent is the agent of a lock, which is created linked and is away: examples/agent.rs.
type agent struct {
	t    *testing.T
	to   io.WriteCloser
	from *bufio.Reader
}

func newAgent(t *testing.T, path, name string) *agent {
	child := exec.Command(os.Getenv("TURNLOCK_AGENT"), path, name)
	to, err := child.StdinPipe()
	must(err)
	from, err := child.StdoutPipe()
	must(err)
	must(child.Start())
	t.Cleanup(func() {
		_ = to.Close()
		must(child.Wait())
	})
	return &agent{t, to, bufio.NewReader(from)}
}

// tell waits until it has done that.
func (its *agent) tell(word string) {
	its.t.Helper()
	_, err := fmt.Fprintln(its.to, word)
	must(err)
	if said, err := its.from.ReadString('\n'); err != nil || said != word+"\n" {
		its.t.Fatal(said, err)
	}
}

func TestALinkedMutexIsEnteredWhileItIsHome(t *testing.T) {
	file, path := newFile(t)
	its := newAgent(t, path, "mutex")
	its.tell("home")
	mutex, err := file.Mutex("mutex", nil)
	must(err)
	mutex.Lock()
	mutex.Unlock()
	its.tell("away")
	if _, err := mutex.TryAcquire(); !errors.Is(err, turnlock.ErrWouldBlock) || !strings.Contains(err.Error(), "it is linked, and away") {
		t.Fatal(err)
	}
	entered := make(chan error)
	go func() {
		_, err := mutex.Acquire(context.Background())
		entered <- err
	}()
	waitFor(func() bool { waiters, err := mutex.Waiters(); must(err); return len(waiters) == 1 })
	its.tell("home")
	must(<-entered)
	mutex.Unlock()
}

func TestAHolderSeesThatTheLeaseHasEnded(t *testing.T) {
	file, path := newFile(t)
	its := newAgent(t, path, "mutex")
	its.tell("home")
	its.tell("lease")
	mutex, err := file.Mutex("mutex", nil)
	must(err)
	if _, err := mutex.StillOwner(); !errors.Is(err, turnlock.ErrNotOwner) {
		t.Fatal(err)
	}
	mutex.Lock()
	if still, err := mutex.StillOwner(); !still || err != nil {
		t.Fatal(still, err)
	}
	its.tell("ended")
	if still, err := mutex.StillOwner(); still || err != nil {
		t.Fatal(still, err)
	}
	if err := mutex.Release(); !errors.Is(err, turnlock.ErrLeaseEnded) {
		t.Fatal(err)
	}
	// It is unlocked all the same.
	if err := mutex.Release(); !errors.Is(err, turnlock.ErrNotOwner) {
		t.Fatal(err)
	}
	its.tell("lease")
	// By the same object, which does not take itself for the holder.
	_, err = mutex.TryAcquire()
	must(err)
	its.tell("ended")
	mutex.Unlock()
	if _, err := mutex.TryAcquire(); !errors.Is(err, turnlock.ErrWouldBlock) || !strings.Contains(err.Error(), "its lease has ended") {
		t.Fatal(err)
	}
	its.tell("lease")
	mutex.Lock()
	mutex.Unlock()
}

func TestAMutexThatIsNotLinkedIsOfThisHostAlone(t *testing.T) {
	file, _ := newFile(t)
	mutex, err := file.RecursiveMutex("recursive", nil)
	must(err)
	mine := turnlock.NewOwner()
	if _, err := mutex.StillOwner(mine); !errors.Is(err, turnlock.ErrNotOwner) {
		t.Fatal(err)
	}
	_, err = mutex.TryAcquire(mine)
	must(err)
	if still, err := mutex.StillOwner(mine); !still || err != nil {
		t.Fatal(still, err)
	}
	must(mutex.Release(mine))
	must(mutex.Close())
}
