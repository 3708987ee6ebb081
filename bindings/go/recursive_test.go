package turnlock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"turnlock.example/go"
)

func recursive(file *turnlock.File) *turnlock.RecursiveMutex {
	mutex, err := file.RecursiveMutex("recursive", &turnlock.MutexOptions{LockOptions: informs})
	must(err)
	return mutex
}

func TestAnOwnerTakesARecursiveMutexAgain(t *testing.T) {
	file, _ := newFile(t)
	mutex, other := recursive(file), recursive(file)
	mine, another := turnlock.NewOwner(), turnlock.NewOwner()
	first, err := mutex.Acquire(anywhere, mine)
	must(err)
	for depth := 2; depth <= 4; depth++ {
		again, err := mutex.Acquire(anywhere, mine)
		if err != nil || again.FencingToken != first.FencingToken || mutex.Depth(mine) != depth {
			t.Fatal(again, err, mutex.Depth(mine))
		}
	}
	// It is taken once to others, by the same object and by another one, until it is released as often.
	for depth := 4; depth > 0; depth-- {
		_, err = mutex.TryAcquire(another)
		expect(t, err, turnlock.ErrWouldBlock)
		_, err = other.TryAcquire(mine)
		expect(t, err, turnlock.ErrWouldBlock)
		expect(t, mutex.Release(another), turnlock.ErrNotOwner)
		expect(t, mutex.Close(), turnlock.ErrStillHeld)
		must(mutex.Release(mine))
	}
	expect(t, mutex.Release(mine), turnlock.ErrNotOwner)
	next, err := other.TryAcquire(another)
	must(err)
	if next.FencingToken <= first.FencingToken {
		t.Fatal("the fencing token did not increase")
	}
	must(other.Release(another))
	must(mutex.Close())
}

func TestRecursiveSectionsOfManyOwnersAddUp(t *testing.T) {
	file, _ := newFile(t)
	shared, apart := recursive(file), recursive(file)
	count := 0
	var add func(mutex *turnlock.RecursiveMutex, owner *turnlock.Owner, depth int) error
	add = func(mutex *turnlock.RecursiveMutex, owner *turnlock.Owner, depth int) error {
		return mutex.Do(anywhere, owner, func(turnlock.Acquired) error {
			if depth > 0 {
				return add(mutex, owner, depth-1)
			}
			before := count
			time.Sleep(time.Microsecond)
			count = before + 1
			return nil
		})
	}
	var all sync.WaitGroup
	for _, mutex := range []*turnlock.RecursiveMutex{shared, shared, shared, apart} {
		all.Add(1)
		go func(mutex *turnlock.RecursiveMutex) {
			defer all.Done()
			owner := turnlock.NewOwner()
			for turn := 0; turn < 50; turn++ {
				must(add(mutex, owner, turn%4))
			}
		}(mutex)
	}
	all.Wait()
	if count != 200 {
		t.Fatal(count)
	}
}

func TestAWaitForARecursiveMutexIsEnded(t *testing.T) {
	file, _ := newFile(t)
	mutex := recursive(file)
	mine, another := turnlock.NewOwner(), turnlock.NewOwner()
	mutex.Locker(mine).Lock()
	limited, end := context.WithCancel(anywhere)
	ended := make(chan error)
	go func() {
		_, err := mutex.Acquire(limited, another)
		ended <- err
	}()
	// The other owner waits: on a second goroutine it is refused, so it never waits for itself.
	waitFor(func() bool {
		_, err := mutex.TryAcquire(another)
		return errors.Is(err, turnlock.ErrHoldBusy)
	})
	// The holder does not wait, but for a context that is done.
	_, err := mutex.Acquire(anywhere, mine)
	must(err)
	end()
	expect(t, <-ended, context.Canceled)
	_, err = mutex.Acquire(limited, mine)
	expect(t, err, context.Canceled)
	mutex.Locker(mine).Unlock()
	must(mutex.Release(mine))
	_, err = mutex.TryAcquire(another)
	must(err)
	if contended, err := mutex.IsContended(another); contended || err != nil {
		t.Fatal(contended, err)
	}
	must(mutex.Release(another))
}

func TestADeathInARecursiveMutex(t *testing.T) {
	file, path := newFile(t)
	mutex, owner := recursive(file), turnlock.NewOwner()
	dieInside(t, path, "recursive")
	acquired, err := mutex.Acquire(anywhere, owner)
	must(err)
	if !acquired.OwnerDied {
		t.Fatal("no holder told of the death")
	}
	// Once is enough.
	again, err := mutex.Acquire(anywhere, owner)
	if err != nil || again.OwnerDied {
		t.Fatal(again, err)
	}
	must(mutex.MarkConsistent(owner))
	expect(t, mutex.MarkConsistent(owner), turnlock.ErrNotInconsistent)
	must(mutex.Release(owner))
	must(mutex.Release(owner))
	if dead, err := mutex.PreviousOwner(); err != nil || dead == nil || dead.Label != "the child" {
		t.Fatal(dead, err)
	}
}

func TestARecursiveMutexThatIsGivenUpWithinIsAbandonedAtTheEnd(t *testing.T) {
	file, _ := newFile(t)
	mutex, owner := recursive(file), turnlock.NewOwner()
	outer := func() error {
		return mutex.Do(anywhere, owner, func(turnlock.Acquired) error {
			_ = panics(t, func() {
				_ = mutex.Do(anywhere, owner, func(turnlock.Acquired) error { panic(errors.New("half-way")) })
			})
			if mutex.Depth(owner) != 1 {
				t.Fatal("the outer section does not have the lock")
			}
			return nil
		})
	}
	must(outer())
	acquired, err := mutex.Acquire(anywhere, owner)
	must(err)
	if !acquired.OwnerDied {
		t.Fatal("no holder told")
	}
	// Unlocked without a repair it is closed until a reset.
	must(mutex.Release(owner))
	_, err = mutex.Acquire(anywhere, owner)
	expect(t, err, turnlock.ErrNotRecoverable)
	must(mutex.Reset(anywhere))
	must(mutex.TryReset())
	_, err = mutex.TryAcquire(owner)
	must(err)
	must(mutex.Release(owner))
}

func TestARecursiveMutexIsOneInEveryProcess(t *testing.T) {
	file, path := newFile(t)
	mutex, owner := recursive(file), turnlock.NewOwner()
	must(func() error { _, err := mutex.Acquire(anywhere, owner); return err }())
	must(func() error { _, err := mutex.Acquire(anywhere, owner); return err }())
	tries := func() int {
		child := exec.Command("turnlock", "run", "--try", "-E", "75", "--lock", "recursive", path, "true")
		if said, err := child.CombinedOutput(); err != nil && child.ProcessState == nil {
			t.Fatal(err, said)
		}
		return child.ProcessState.ExitCode()
	}
	for _, expected := range []int{75, 75, 0} {
		if found := tries(); found != expected {
			t.Fatal(found, expected)
		}
		if expected != 0 {
			must(mutex.Release(owner))
		}
	}
	status, err := exec.Command("turnlock", "status", "--json", path).Output()
	must(err)
	if !strings.Contains(strings.ReplaceAll(string(status), " ", ""), `"recursive":true`) {
		t.Fatal(string(status))
	}
}

func TestMisuseOfARecursiveMutex(t *testing.T) {
	file, _ := newFile(t)
	mutex, owner := recursive(file), turnlock.NewOwner()
	for _, noOwner := range []*turnlock.Owner{nil} {
		_, err := mutex.Acquire(anywhere, noOwner)
		expect(t, err, turnlock.ErrInvalidArgument)
		_, err = mutex.TryAcquire(noOwner)
		expect(t, err, turnlock.ErrInvalidArgument)
		expect(t, mutex.Release(noOwner), turnlock.ErrNotOwner)
		expect(t, panics(t, mutex.Locker(noOwner).Lock), turnlock.ErrInvalidArgument)
	}
	expect(t, panics(t, mutex.Locker(owner).Unlock), turnlock.ErrNotOwner)
	expect(t, mutex.Abandon(owner), turnlock.ErrNotOwner)
	expect(t, mutex.MarkConsistent(owner), turnlock.ErrNotOwner)
	_, err := mutex.IsContended(owner)
	expect(t, err, turnlock.ErrNotOwner)
	for depth := 0; depth < turnlock.MostTaken; depth++ {
		must(func() error { _, err := mutex.TryAcquire(owner); return err }())
	}
	_, err = mutex.TryAcquire(owner)
	expect(t, err, turnlock.ErrRecursionLimit)
	for depth := 0; depth < turnlock.MostTaken; depth++ {
		must(mutex.Release(owner))
	}

	// It is the lock that is recursive.
	_, err = file.Mutex("recursive", nil)
	must(err)
	_, err = file.Mutex("plain", nil)
	must(err)
	_, err = file.RecursiveMutex("plain", nil)
	expect(t, err, turnlock.ErrKind)
	_, err = file.RecursiveMutex("a\x00b", nil)
	expect(t, err, turnlock.ErrBadName)
	absent := turnlock.MutexOptions{LockOptions: turnlock.LockOptions{MustExist: true}}
	_, err = file.RecursiveMutex("absent", &absent)
	expect(t, err, turnlock.ErrNotFound)
	strict, err := file.RecursiveMutex("strict", &turnlock.MutexOptions{Strict: true})
	must(err)
	if patience, err := strict.Patience(); patience != 0 || err != nil {
		t.Fatal(patience, err)
	}

	must(mutex.Close())
	must(mutex.Close())
	for _, closed := range []*turnlock.RecursiveMutex{mutex, {}} {
		_, err = closed.Acquire(anywhere, owner)
		expect(t, err, turnlock.ErrClosed)
		_, err = closed.TryAcquire(owner)
		expect(t, err, turnlock.ErrClosed)
		expect(t, closed.Release(owner), turnlock.ErrClosed)
		expect(t, closed.MarkConsistent(owner), turnlock.ErrClosed)
		expect(t, closed.Reset(anywhere), turnlock.ErrClosed)
		_, err = closed.Holder()
		expect(t, err, turnlock.ErrClosed)
		_, err = closed.Waiters()
		expect(t, err, turnlock.ErrClosed)
		if closed.Depth(owner) != 0 {
			t.Fatal("closed, and held")
		}
	}
}

func TestClosingEndsTheWaitsForARecursiveMutex(t *testing.T) {
	file, _ := newFile(t)
	holder, waiter := recursive(file), recursive(file)
	mine, another := turnlock.NewOwner(), turnlock.NewOwner()
	holder.Locker(mine).Lock()
	ended := make(chan error)
	go func() {
		_, err := waiter.Acquire(anywhere, another)
		ended <- err
	}()
	waitFor(func() bool { isContended, err := holder.IsContended(mine); must(err); return isContended })
	must(waiter.Close())
	expect(t, <-ended, turnlock.ErrClosed)
	holder.Locker(mine).Unlock()
}

func ExampleRecursiveMutex() {
	folder, err := os.MkdirTemp("", "turnlock")
	must(err)
	defer os.RemoveAll(folder)
	file, err := turnlock.Open(folder+"/app.lock", nil)
	must(err)
	tree, err := file.RecursiveMutex("tree", nil)
	must(err)
	var visit func(owner *turnlock.Owner, depth int) error
	visit = func(owner *turnlock.Owner, depth int) error {
		return tree.Do(context.Background(), owner, func(turnlock.Acquired) error {
			fmt.Println("inside", tree.Depth(owner))
			if depth > 1 {
				return visit(owner, depth-1)
			}
			return nil
		})
	}
	must(visit(turnlock.NewOwner(), 3))
	// Output:
	// inside 1
	// inside 2
	// inside 3
}
