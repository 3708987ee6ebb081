package turnlock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"turnlock.example/go"
)

// A locker is what both kinds can do.
type locker interface {
	sync.Locker
	TryLock() bool
	Acquire(context.Context) (turnlock.Acquired, error)
	TryAcquire() (turnlock.Acquired, error)
	Acquired() turnlock.Acquired
	Release() error
	Abandon() error
	MarkConsistent() error
	Do(context.Context, func(turnlock.Acquired) error) error
	Reset(context.Context) error
	TryReset() error
	IsContended() (bool, error)
	PreviousOwner() (*turnlock.DeadOwner, error)
	Holder() (*turnlock.ParticipantInfo, error)
	Waiters() ([]turnlock.ParticipantInfo, error)
	Close() error
}

var (
	_        locker = (*turnlock.Mutex)(nil)
	_        locker = (*turnlock.TurnRing)(nil)
	anywhere        = context.Background()
)

// In a child that a test starts: takes the lock of that kind and dies inside.
func TestMain(main *testing.M) {
	if path := os.Getenv("TURNLOCK_TEST_DIES_IN"); path != "" {
		file, err := turnlock.Open(path, &turnlock.FileOptions{Label: "the child"})
		if err == nil {
			takeToDie(file, os.Getenv("TURNLOCK_TEST_KIND"))
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if role := os.Getenv("TURNLOCK_TEST_ROLE"); role != "" {
		play(role, os.Getenv("TURNLOCK_TEST_FILE"))
		os.Exit(0)
	}
	os.Exit(main.Run())
}

func takeToDie(file *turnlock.File, kind string) {
	switch kind {
	case "semaphore":
		semaphore, err := file.Semaphore(kind, nil)
		must(err)
		must(semaphore.Acquire(anywhere, 1))
	case "rwlock":
		mutex, err := file.RWMutex(kind, nil)
		must(err)
		mutex.Lock()
	case "ranges":
		ranges, err := file.RangeLock(kind, nil)
		must(err)
		_, err = ranges.Acquire(anywhere, 5, 8, turnlock.Exclusive)
		must(err)
	case "keys":
		keys, err := file.KeyedLock(kind, nil)
		must(err)
		_, err = keys.Acquire(anywhere, "mine", turnlock.Exclusive)
		must(err)
	case "groups":
		groups, err := file.GroupLock(kind, nil)
		must(err)
		_, err = groups.Acquire(anywhere, 1)
		must(err)
	case "recursive":
		mutex, err := file.RecursiveMutex(kind, nil)
		must(err)
		owner := turnlock.NewOwner()
		mutex.Locker(owner).Lock()
		mutex.Locker(owner).Lock()
	default:
		openedAs(file, kind, turnlock.AnyOnDeath).Lock()
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Of a lock whose holders look at the notice of a death.
var informs = turnlock.LockOptions{OnDeath: turnlock.InformOnDeath}

func opened(file *turnlock.File, kind string) locker {
	return openedAs(file, kind, turnlock.InformOnDeath)
}

func openedAs(file *turnlock.File, kind string, policy turnlock.DeathPolicy) locker {
	options := turnlock.LockOptions{OnDeath: policy}
	if kind == "ring" {
		ring, err := file.TurnRing("ring", &turnlock.RingOptions{LockOptions: options})
		must(err)
		return ring
	}
	mutex, err := file.Mutex("mutex", &turnlock.MutexOptions{LockOptions: options})
	must(err)
	return mutex
}

func newFile(t *testing.T) (*turnlock.File, string) {
	path := filepath.Join(t.TempDir(), "lock")
	file, err := turnlock.Open(path, nil)
	must(err)
	t.Cleanup(func() { must(file.Close()) })
	return file, path
}

func dieInside(t *testing.T, path, kind string) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "TURNLOCK_TEST_DIES_IN="+path, "TURNLOCK_TEST_KIND="+kind)
	said, err := child.CombinedOutput()
	if err == nil || child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child did not die inside: %v %s", err, said)
	}
}

func eachKind(t *testing.T, test func(t *testing.T, file *turnlock.File, path, kind string)) {
	for _, kind := range []string{"mutex", "ring"} {
		t.Run(kind, func(t *testing.T) {
			file, path := newFile(t)
			test(t, file, path, kind)
		})
	}
}

func expect(t *testing.T, got, expected error) {
	t.Helper()
	if !errors.Is(got, expected) {
		t.Fatalf("%v, and not %v", got, expected)
	}
}

func waitFor(condition func() bool) {
	for !condition() {
		time.Sleep(time.Millisecond)
	}
}

func TestGoroutinesAddUp(t *testing.T) {
	eachKind(t, func(t *testing.T, file *turnlock.File, _, kind string) {
		// Eight goroutines by one object, and eight by objects of their own.
		shared, count := opened(file, kind), 0
		var all sync.WaitGroup
		for worker := 0; worker < 16; worker++ {
			lock := shared
			if worker%2 == 1 {
				lock = opened(file, kind)
			}
			all.Add(1)
			go func() {
				defer all.Done()
				for turn := 0; turn < 100; turn++ {
					lock.Lock()
					count++
					lock.Unlock()
				}
			}()
		}
		all.Wait()
		if count != 1600 {
			t.Fatalf("%d", count)
		}
	})
}

func TestTokensIncreaseAndDoTellsThem(t *testing.T) {
	eachKind(t, func(t *testing.T, file *turnlock.File, _, kind string) {
		lock, last := opened(file, kind), uint64(0)
		for turn := 0; turn < 5; turn++ {
			must(lock.Do(anywhere, func(acquired turnlock.Acquired) error {
				if acquired.FencingToken <= last || acquired != lock.Acquired() {
					t.Fatalf("%v after %v", acquired, last)
				}
				last = acquired.FencingToken
				return nil
			}))
		}
		expect(t, lock.Do(anywhere, func(turnlock.Acquired) error { return os.ErrExist }), os.ErrExist)
		if !lock.TryLock() || lock.TryLock() {
			t.Fatal("a lock that was free")
		}
		lock.Unlock()
	})
}

func TestTheNextHolderIsToldOfADeath(t *testing.T) {
	eachKind(t, func(t *testing.T, file *turnlock.File, path, kind string) {
		lock := opened(file, kind)
		if owner, err := lock.PreviousOwner(); owner != nil || err != nil {
			t.Fatal(owner, err)
		}
		dieInside(t, path, kind)
		acquired, err := lock.Acquire(anywhere)
		must(err)
		if !acquired.OwnerDied || acquired.DeadOwnerPid == 0 || acquired.DeadOwnerFencingToken >= acquired.FencingToken {
			t.Fatalf("%+v", acquired)
		}
		owner, err := lock.PreviousOwner()
		must(err)
		if owner.Label != "the child" || owner.Pid != acquired.DeadOwnerPid {
			t.Fatalf("%+v", owner)
		}
		must(lock.MarkConsistent())
		must(lock.Release())
		lock.Lock()
		if lock.Acquired().OwnerDied {
			t.Fatal("told twice")
		}
		expect(t, lock.MarkConsistent(), turnlock.ErrNotInconsistent)
		lock.Unlock()
	})
}

func TestWithoutARepairTheLockIsClosedUntilAReset(t *testing.T) {
	eachKind(t, func(t *testing.T, file *turnlock.File, path, kind string) {
		lock := opened(file, kind)
		dieInside(t, path, kind)
		lock.Lock()
		expect(t, lock.TryReset(), turnlock.ErrTimedOut)
		lock.Unlock()
		_, err := lock.Acquire(anywhere)
		expect(t, err, turnlock.ErrNotRecoverable)
		must(lock.Reset(anywhere))
		lock.Lock()
		lock.Unlock()
	})
}

func TestAPanicInsideAbandons(t *testing.T) {
	eachKind(t, func(t *testing.T, file *turnlock.File, _, kind string) {
		lock := opened(file, kind)
		func() {
			defer func() { _ = recover() }()
			_ = lock.Do(anywhere, func(turnlock.Acquired) error { panic("half-way") })
		}()
		acquired, err := lock.Acquire(anywhere)
		must(err)
		if !acquired.OwnerDied || int(acquired.DeadOwnerPid) != os.Getpid() {
			t.Fatalf("%+v", acquired)
		}
		must(lock.MarkConsistent())
		lock.Unlock()
	})
}

func TestAContextEndsAWaitAndLeavesNothingInTheQueue(t *testing.T) {
	eachKind(t, func(t *testing.T, file *turnlock.File, _, kind string) {
		holder, waiter := opened(file, kind), opened(file, kind)
		holder.Lock()
		limited, end := context.WithTimeout(anywhere, 20*time.Millisecond)
		defer end()
		_, err := waiter.Acquire(limited)
		expect(t, err, context.DeadlineExceeded)

		cancelled, cancel := context.WithCancel(anywhere)
		ended := make(chan error, 2)
		for i := 0; i < 2; i++ {
			// One waits in the library, the other one for it.
			go func() {
				_, err := waiter.Acquire(cancelled)
				ended <- err
			}()
		}
		waitFor(func() bool {
			waiters, err := holder.Waiters()
			must(err)
			return len(waiters) == 1
		})
		cancel()
		expect(t, <-ended, context.Canceled)
		expect(t, <-ended, context.Canceled)
		if waiters, err := holder.Waiters(); len(waiters) != 0 || err != nil {
			t.Fatal(waiters, err)
		}
		// The cancel is over: the next wait is not ended by it.
		got := make(chan error)
		go func() {
			_, err := waiter.Acquire(anywhere)
			got <- err
		}()
		waitFor(func() bool {
			is, err := holder.IsContended()
			must(err)
			return is
		})
		holder.Unlock()
		must(<-got)
		waiter.Unlock()
	})
}

func TestHoldersAndWaitersAreSeen(t *testing.T) {
	file, _ := newFile(t)
	holder, err := file.Mutex("mutex", &turnlock.MutexOptions{
		LockOptions: turnlock.LockOptions{Label: "first", OnDeath: turnlock.InformOnDeath}, Strict: true})
	must(err)
	if patience, err := holder.Patience(); patience != 0 || err != nil {
		t.Fatal(patience, err)
	}
	if info, err := holder.Holder(); info != nil || err != nil {
		t.Fatal(info, err)
	}
	holder.Lock()
	var all sync.WaitGroup
	for worker := 0; worker < 10; worker++ {
		lock := opened(file, "mutex")
		all.Add(1)
		go func() {
			defer all.Done()
			lock.Lock()
			lock.Unlock()
		}()
	}
	waitFor(func() bool {
		waiters, err := holder.Waiters()
		must(err)
		return len(waiters) == 10
	})
	info, err := holder.Holder()
	must(err)
	if info.Label != "first" || info.FencingToken != holder.Acquired().FencingToken || info.Life != turnlock.Alive ||
		info.State != turnlock.Holding {
		t.Fatalf("%+v", info)
	}
	holder.Unlock()
	all.Wait()
}

func TestAMemberLeavesARing(t *testing.T) {
	file, _ := newFile(t)
	ring, err := file.TurnRing("ring", &turnlock.RingOptions{Algorithm: turnlock.Sum, Step: 3, Member: true})
	must(err)
	ring.Lock()
	ring.Unlock()
	waiters, err := ring.Waiters()
	must(err)
	if len(waiters) != 1 || waiters[0].State != turnlock.RingMember {
		t.Fatalf("%+v", waiters)
	}
	must(ring.Leave())
	if waiters, _ := ring.Waiters(); len(waiters) != 0 {
		t.Fatalf("%+v", waiters)
	}
}

func TestASlotIsAPlaceOnTheRing(t *testing.T) {
	file, _ := newFile(t)
	slot := uint32(5)
	options := &turnlock.RingOptions{Member: true, Slot: &slot}
	ring, err := file.TurnRing("ring", options)
	must(err)
	ring.Lock()
	ring.Unlock()
	waiters, err := ring.Waiters()
	must(err)
	if len(waiters) != 1 || waiters[0].Slot != slot {
		t.Fatalf("%+v", waiters)
	}
	if _, err := file.TurnRing("ring", options); !errors.Is(err, turnlock.ErrInUse) {
		t.Fatal(err)
	}
	none := uint32(100000)
	if _, err := file.TurnRing("ring", &turnlock.RingOptions{Slot: &none}); !errors.Is(err, turnlock.ErrInvalidArgument) {
		t.Fatal(err)
	}
}

func TestAFileByItsDescriptor(t *testing.T) {
	file, path := newFile(t)
	mutex := opened(file, "mutex")
	mutex.Lock()
	plain, err := os.OpenFile(path, os.O_RDWR, 0)
	must(err)
	same, err := turnlock.OpenDescriptor(plain.Fd(), nil)
	must(err)
	must(plain.Close())
	if opened(same, "mutex").TryLock() {
		t.Fatal("another file")
	}
	mutex.Unlock()
	if said, err := same.Path(); said != path || err != nil {
		t.Fatal(said, err)
	}
}
