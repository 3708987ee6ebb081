package turnlock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"turnlock.example/go"
)

// partLock is what both kinds can do that have parts.
type partLock interface {
	Reset(ctx context.Context) error
	PreviousOwner() (*turnlock.DeadOwner, error)
	Holders() ([]turnlock.ParticipantInfo, error)
	Waiters() ([]turnlock.ParticipantInfo, error)
	Close() error
}

// taker takes mine, what is the same or overlaps with it, and another part.
type taker struct {
	mine, same, other func(ctx context.Context, mode turnlock.Mode, waits bool) (*turnlock.Part, error)
}

func rangeTaker(lock *turnlock.RangeLock) taker {
	take := func(start, end uint64) func(context.Context, turnlock.Mode, bool) (*turnlock.Part, error) {
		return func(ctx context.Context, mode turnlock.Mode, waits bool) (*turnlock.Part, error) {
			if !waits {
				return lock.TryAcquire(start, end, mode)
			}
			return lock.Acquire(ctx, start, end, mode)
		}
	}
	return taker{take(5, 8), take(7, 100), take(8, turnlock.RangeEnd)}
}

func keyTaker(lock *turnlock.KeyedLock) taker {
	take := func(key string) func(context.Context, turnlock.Mode, bool) (*turnlock.Part, error) {
		return func(ctx context.Context, mode turnlock.Mode, waits bool) (*turnlock.Part, error) {
			if !waits {
				return lock.TryAcquire(key, mode)
			}
			return lock.Acquire(ctx, key, mode)
		}
	}
	return taker{take("mine"), take("mine"), take("mine\x00\xff")}
}

func eachPartKind(t *testing.T, test func(t *testing.T, file *turnlock.File, path, kind string, lock partLock, take taker)) {
	for _, kind := range []string{"ranges", "keys"} {
		t.Run(kind, func(t *testing.T) {
			file, path := newFile(t)
			if kind == "ranges" {
				lock, err := file.RangeLock(kind, &informs)
				must(err)
				test(t, file, path, kind, lock, rangeTaker(lock))
			} else {
				lock, err := file.KeyedLock(kind, &informs)
				must(err)
				test(t, file, path, kind, lock, keyTaker(lock))
			}
		})
	}
}

func TestPartsThatOverlapExcludeEachOtherAndOthersDoNot(t *testing.T) {
	eachPartKind(t, func(t *testing.T, _ *turnlock.File, _, _ string, lock partLock, take taker) {
		mine, err := take.mine(anywhere, turnlock.Exclusive, true)
		must(err)
		_, err = take.same(anywhere, turnlock.Shared, false)
		expect(t, err, turnlock.ErrWouldBlock)
		limited, end := context.WithTimeout(anywhere, 5*time.Millisecond)
		defer end()
		_, err = take.same(limited, turnlock.Exclusive, true)
		expect(t, err, context.DeadlineExceeded)
		came := make(chan *turnlock.Part)
		go func() {
			same, err := take.mine(anywhere, turnlock.Exclusive, true)
			must(err)
			came <- same
		}()
		waitFor(func() bool { waiters, _ := lock.Waiters(); return len(waiters) == 1 })
		// Not before the waiter parks.
		waitFor(func() bool { is, err := mine.IsContended(); must(err); return is })
		// A waiter for one part does not keep another from being taken by the same object.
		other, err := take.other(anywhere, turnlock.Exclusive, true)
		must(err)
		if holders, err := lock.Holders(); len(holders) != 2 || err != nil {
			t.Fatal(holders, err)
		}
		expect(t, lock.Close(), turnlock.ErrStillHeld)
		must(mine.Release())
		must((<-came).Release())
		must(other.Release())
		reader, err := take.mine(anywhere, turnlock.Shared, true)
		must(err)
		beside, err := take.mine(anywhere, turnlock.Shared, false)
		must(err)
		must(reader.Release())
		must(beside.Release())
		for _, misuse := range []error{beside.Release(), beside.MarkConsistent()} {
			expect(t, misuse, turnlock.ErrNotOwner)
		}
		_, err = beside.IsContended()
		expect(t, err, turnlock.ErrNotOwner)
	})
}

func TestADeadOwnerConcernsItsPart(t *testing.T) {
	eachPartKind(t, func(t *testing.T, _ *turnlock.File, path, kind string, lock partLock, take taker) {
		dieInside(t, path, kind)
		other, err := take.other(anywhere, turnlock.Exclusive, true)
		must(err)
		if other.Acquired().OwnerDied {
			t.Fatal("another part's death")
		}
		expect(t, other.MarkConsistent(), turnlock.ErrNotInconsistent)
		must(other.Release())
		for i := 0; i < 2; i++ {
			mine, err := take.mine(anywhere, turnlock.Exclusive, true)
			must(err)
			dead, err := lock.PreviousOwner()
			must(err)
			if acquired := mine.Acquired(); !acquired.OwnerDied || dead.Label != "the child" {
				t.Fatalf("%+v %+v", acquired, dead)
			}
			if i == 1 {
				must(mine.MarkConsistent())
			}
			must(mine.Release())
		}
		dieInside(t, path, kind)
		must(lock.Reset(anywhere))
		mine, err := take.mine(anywhere, turnlock.Shared, true)
		must(err)
		if mine.Acquired().OwnerDied {
			t.Fatal("it was repaired")
		}
		must(mine.Release())
	})
}

func TestWhatIsHeldAndWantedIsShown(t *testing.T) {
	file, _ := newFile(t)
	only := func(infos []turnlock.ParticipantInfo, err error) turnlock.ParticipantInfo {
		t.Helper()
		must(err)
		if len(infos) != 1 {
			t.Fatalf("%+v", infos)
		}
		return infos[0]
	}
	ranges, err := file.RangeLock("ranges", nil)
	must(err)
	held, err := ranges.TryAcquire(5, 8, turnlock.Shared)
	must(err)
	if shown := only(ranges.Holders()); shown.Start != 5 || shown.End != 8 || shown.Mode != turnlock.Shared {
		t.Fatalf("%+v", shown)
	}
	came := make(chan *turnlock.Part)
	go func() {
		part, err := ranges.Acquire(anywhere, 7, turnlock.RangeEnd, turnlock.Exclusive)
		must(err)
		came <- part
	}()
	waitFor(func() bool { waiters, _ := ranges.Waiters(); return len(waiters) == 1 })
	if shown := only(ranges.Waiters()); shown.Start != 7 || shown.End != turnlock.RangeEnd {
		t.Fatalf("%+v", shown)
	}
	must(held.Release())
	must((<-came).Release())
	keys, err := file.KeyedLock("keys", nil)
	must(err)
	hashes := map[[16]byte]bool{}
	long := strings.Repeat("k", 47)
	for key, begins := range map[string]string{"": "", "a\x00\xff": "a\x00\xff", long: long, long + "k": long} {
		held, err := keys.TryAcquire(key, turnlock.Exclusive)
		must(err)
		shown := only(keys.Holders())
		if shown.Key != begins || shown.IsWholeKey != (key != "" && key == begins) || shown.Start != 0 || shown.End != 0 || shown.Group != 0 {
			t.Fatalf("%+v", shown)
		}
		hashes[shown.KeyHash] = true
		must(held.Release())
	}
	if len(hashes) != 4 {
		t.Fatal(hashes)
	}
}

func TestPartsThatCannotBe(t *testing.T) {
	file, _ := newFile(t)
	for _, name := range []string{"", "a\x00b", strings.Repeat("n", 64)} {
		_, err := file.RangeLock(name, nil)
		expect(t, err, turnlock.ErrBadName)
		_, err = file.KeyedLock(name, nil)
		expect(t, err, turnlock.ErrBadName)
	}
	_, err := file.KeyedLock("absent", &turnlock.LockOptions{MustExist: true})
	expect(t, err, turnlock.ErrNotFound)
	_, err = file.RangeLock("label", &turnlock.LockOptions{Label: "a\x00b"})
	expect(t, err, turnlock.ErrInvalidArgument)
	ranges, err := file.RangeLock("ranges", &turnlock.LockOptions{OnDeath: turnlock.ReleaseOnDeath})
	must(err)
	_, err = file.KeyedLock("ranges", nil)
	expect(t, err, turnlock.ErrKind)
	for _, reversed := range [][2]uint64{{0, 0}, {5, 5}, {6, 5}, {turnlock.RangeEnd, 0}} {
		_, err = ranges.Acquire(anywhere, reversed[0], reversed[1], turnlock.Exclusive)
		expect(t, err, turnlock.ErrEmptyRange)
		_, err = ranges.TryAcquire(reversed[0], reversed[1], turnlock.Shared)
		expect(t, err, turnlock.ErrEmptyRange)
	}
	_, err = ranges.Acquire(anywhere, 0, 1, turnlock.Upgradable)
	expect(t, err, turnlock.ErrInvalidArgument)
	keys, err := file.KeyedLock("keys", nil)
	must(err)
	empty, err := keys.Acquire(anywhere, "", turnlock.Exclusive)
	must(err)
	_, err = keys.TryAcquire("", turnlock.Shared)
	expect(t, err, turnlock.ErrWouldBlock)
	waits := make(chan error)
	other, err := file.KeyedLock("keys", nil)
	must(err)
	for i := 0; i < 2; i++ {
		go func() {
			_, err := other.Acquire(anywhere, "", turnlock.Exclusive)
			waits <- err
		}()
	}
	waitFor(func() bool { waiters, _ := keys.Waiters(); return len(waiters) == 2 })
	must(other.Close())
	expect(t, <-waits, turnlock.ErrClosed)
	expect(t, <-waits, turnlock.ErrClosed)
	must(empty.Release())
	must(keys.Close())
	_, err = keys.Acquire(anywhere, "", turnlock.Exclusive)
	expect(t, err, turnlock.ErrClosed)
	_, err = (&turnlock.RangeLock{}).Acquire(anywhere, 0, 1, turnlock.Exclusive)
	expect(t, err, turnlock.ErrClosed)
	_, err = (&turnlock.KeyedLock{}).Holders()
	expect(t, err, turnlock.ErrClosed)
}
