package turnlock_test

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"turnlock.example/go"
)

func TestMembersOfAGroupAreInsideTogetherAndNoneOfAnother(t *testing.T) {
	file, _ := newFile(t)
	lock, err := file.GroupLock("groups", nil)
	must(err)
	one, err := lock.Acquire(anywhere, 1)
	must(err)
	beside, err := lock.TryAcquire(1)
	must(err)
	if holders, err := lock.Holders(); len(holders) != 2 || err != nil || holders[0].Group != 1 || holders[1].Group != 1 {
		t.Fatalf("%+v %v", holders, err)
	}
	for _, group := range []uint64{0, 2, math.MaxUint64} {
		_, err = lock.TryAcquire(group)
		expect(t, err, turnlock.ErrWouldBlock)
	}
	limited, end := context.WithTimeout(anywhere, 5*time.Millisecond)
	defer end()
	_, err = lock.Acquire(limited, 2)
	expect(t, err, context.DeadlineExceeded)
	came := make(chan *turnlock.Member)
	go func() {
		other, err := lock.Acquire(anywhere, math.MaxUint64)
		must(err)
		came <- other
	}()
	waitFor(func() bool { waiters, _ := lock.Waiters(); return len(waiters) == 1 })
	if waiters, err := lock.Waiters(); err != nil || waiters[0].Group != math.MaxUint64 {
		t.Fatalf("%+v %v", waiters, err)
	}
	// Not before the waiter parks.
	waitFor(func() bool { is, err := one.IsContended(); must(err); return is })
	// First come first served: its own group is inside, and it stays behind the one that waits.
	_, err = lock.TryAcquire(1)
	expect(t, err, turnlock.ErrWouldBlock)
	expect(t, lock.Close(), turnlock.ErrStillHeld)
	must(one.Release())
	must(beside.Release())
	other := <-came
	if acquired := other.Acquired(); acquired.FencingToken == 0 || acquired.OwnerDied {
		t.Fatalf("%+v", acquired)
	}
	_, err = lock.TryAcquire(1)
	expect(t, err, turnlock.ErrWouldBlock)
	must(other.Release())
	for _, misuse := range []error{other.Release(), other.Abandon(), other.MarkConsistent()} {
		expect(t, misuse, turnlock.ErrNotOwner)
	}
	_, err = other.IsContended()
	expect(t, err, turnlock.ErrNotOwner)
}

// beMember is inside until it is told to leave.
func beMember(ctx context.Context, file *turnlock.File, group uint64) {
	lock, err := file.GroupLock("groups", nil)
	must(err)
	member, err := lock.Acquire(ctx, group)
	must(err)
	died := member.Acquired().OwnerDied
	if died {
		must(member.MarkConsistent())
	}
	fmt.Println("inside, owner died:", died)
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	must(err)
	must(member.Release())
}

func TestProcessesOfOneGroupAreInsideTogetherAndAKilledOneIsTold(t *testing.T) {
	file, path := newFile(t)
	lock, err := file.GroupLock("groups", &informs)
	must(err)
	const inside, afterADeath = "inside, owner died: false", "inside, owner died: true"
	one := start(t, path, "group 1")
	one.expect(inside)
	beside := start(t, path, "group 1")
	beside.expect(inside)
	other := start(t, path, "group 2")
	waitFor(func() bool { waiters, _ := lock.Waiters(); return len(waiters) == 1 })
	waiters, err := lock.Waiters()
	must(err)
	if waiter := waiters[0]; waiter.Group != 2 || int(waiter.Pid) != other.process.Process.Pid {
		t.Fatalf("%+v", waiter)
	}
	one.tell("leave")
	one.expect("done")
	// One of group 1 is inside still.
	for group := uint64(1); group < 3; group++ {
		_, err = lock.TryAcquire(group)
		expect(t, err, turnlock.ErrWouldBlock)
	}
	holders, err := lock.Holders()
	must(err)
	if len(holders) != 1 || holders[0].Group != 1 || int(holders[0].Pid) != beside.process.Process.Pid {
		t.Fatalf("%+v", holders)
	}
	beside.kill()
	other.expect(afterADeath)
	_, err = lock.TryAcquire(1)
	expect(t, err, turnlock.ErrWouldBlock)
	// It has marked the death.
	mine, err := lock.TryAcquire(2)
	must(err)
	if mine.Acquired().OwnerDied {
		t.Fatalf("%+v", mine.Acquired())
	}
	must(mine.Release())
	other.tell("leave")
	other.expect("done")
	mine, err = lock.TryAcquire(1)
	must(err)
	must(mine.Release())
}

func TestADeathIsToldInEveryGroupUntilItIsMarked(t *testing.T) {
	file, path := newFile(t)
	lock, err := file.GroupLock("groups", &informs)
	must(err)
	enter := func(group uint64) *turnlock.Member {
		member, err := lock.Acquire(anywhere, group)
		must(err)
		return member
	}
	alive := enter(1)
	expect(t, alive.MarkConsistent(), turnlock.ErrNotInconsistent)
	must(alive.Release())
	dieInside(t, path, "groups")
	for _, group := range []uint64{2, 1} {
		member := enter(group)
		dead, err := lock.PreviousOwner()
		must(err)
		if acquired := member.Acquired(); !acquired.OwnerDied || dead.Label != "the child" || dead.Pid != acquired.DeadOwnerPid {
			t.Fatalf("%+v %+v", acquired, dead)
		}
		// Not marked, and nothing is closed.
		must(member.Release())
	}
	first, second := enter(2), enter(2)
	must(first.MarkConsistent())
	expect(t, second.MarkConsistent(), turnlock.ErrNotInconsistent)
	must(first.Release())
	must(second.Release())
	well := enter(1)
	if well.Acquired().OwnerDied {
		t.Fatal("it was marked")
	}
	must(well.Abandon())
	told := enter(2)
	if !told.Acquired().OwnerDied {
		t.Fatal("it was abandoned")
	}
	must(told.Release())
	must(lock.Reset(anywhere))
	well = enter(1)
	if well.Acquired().OwnerDied {
		t.Fatal("it was reset")
	}
	must(well.Release())
}

func TestGroupLocksThatCannotBe(t *testing.T) {
	file, _ := newFile(t)
	for _, name := range []string{"", "a\x00b", strings.Repeat("n", 64)} {
		_, err := file.GroupLock(name, nil)
		expect(t, err, turnlock.ErrBadName)
	}
	_, err := file.GroupLock("absent", &turnlock.LockOptions{MustExist: true})
	expect(t, err, turnlock.ErrNotFound)
	_, err = file.GroupLock("label", &turnlock.LockOptions{Label: "a\x00b"})
	expect(t, err, turnlock.ErrInvalidArgument)
	lock, err := file.GroupLock("groups", nil)
	must(err)
	_, err = file.KeyedLock("groups", nil)
	expect(t, err, turnlock.ErrKind)
	one, err := lock.Acquire(anywhere, 1)
	must(err)
	other, err := file.GroupLock("groups", nil)
	must(err)
	waits := make(chan error)
	for group := uint64(2); group < 4; group++ {
		go func(group uint64) {
			_, err := other.Acquire(anywhere, group)
			waits <- err
		}(group)
	}
	waitFor(func() bool { waiters, _ := lock.Waiters(); return len(waiters) == 2 })
	must(other.Close())
	expect(t, <-waits, turnlock.ErrClosed)
	expect(t, <-waits, turnlock.ErrClosed)
	must(one.Release())
	must(lock.Close())
	_, err = lock.Acquire(anywhere, 1)
	expect(t, err, turnlock.ErrClosed)
	_, err = (&turnlock.GroupLock{}).TryAcquire(1)
	expect(t, err, turnlock.ErrClosed)
	_, err = (&turnlock.GroupLock{}).Holders()
	expect(t, err, turnlock.ErrClosed)
}
