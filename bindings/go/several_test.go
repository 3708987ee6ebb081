package turnlock_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"turnlock.example/go"
)

func newSemaphore(t *testing.T, permits uint32) (*turnlock.Semaphore, *turnlock.File, string) {
	file, path := newFile(t)
	semaphore, err := file.Semaphore("semaphore", &turnlock.SemaphoreOptions{Permits: permits})
	must(err)
	return semaphore, file, path
}

func newRWMutex(t *testing.T) (*turnlock.RWMutex, *turnlock.File, string) {
	file, path := newFile(t)
	mutex, err := file.RWMutex("rwlock", &turnlock.RWMutexOptions{LockOptions: informs})
	must(err)
	return mutex, file, path
}

func TestPermitsBoundAPool(t *testing.T) {
	shared, file, _ := newSemaphore(t, 3)
	another, err := file.Semaphore("semaphore", nil)
	must(err)
	var inside, most int32
	var all sync.WaitGroup
	for worker := 0; worker < 40; worker++ {
		semaphore := shared
		if worker%2 == 1 {
			semaphore = another
		}
		all.Add(1)
		go func() {
			defer all.Done()
			for turn := 0; turn < 10; turn++ {
				must(semaphore.Acquire(anywhere, 1))
				if now := atomic.AddInt32(&inside, 1); now > atomic.LoadInt32(&most) {
					atomic.StoreInt32(&most, now)
				}
				time.Sleep(10 * time.Microsecond)
				atomic.AddInt32(&inside, -1)
				must(semaphore.Release(1))
			}
		}()
	}
	all.Wait()
	if most > 3 || most < 2 {
		t.Fatalf("%d were inside", most)
	}
}

func TestPermitsInPartsAndTooMany(t *testing.T) {
	semaphore, _, _ := newSemaphore(t, 5)
	must(semaphore.Acquire(anywhere, 3))
	must(semaphore.Acquire(anywhere, 2))
	if semaphore.TryAcquire(1) {
		t.Fatal("a sixth permit")
	}
	limited, end := context.WithTimeout(anywhere, 5*time.Millisecond)
	defer end()
	expect(t, semaphore.Acquire(limited, 1), context.DeadlineExceeded)
	expect(t, semaphore.Close(), turnlock.ErrStillHeld)
	must(semaphore.Release(1))
	holders, err := semaphore.Holders()
	must(err)
	sum := uint32(0)
	for _, holder := range holders {
		sum += holder.Permits
	}
	if sum != 4 {
		t.Fatalf("%+v", holders)
	}
	must(semaphore.Release(4))
	expect(t, semaphore.Release(1), turnlock.ErrTooManyReleased)
	for _, n := range []int64{0, -1, math.MinInt64, 6, 1 << 32, math.MaxInt64} {
		expect(t, semaphore.Acquire(anywhere, n), turnlock.ErrPermits)
	}
	expect(t, semaphore.Release(0), turnlock.ErrInvalidArgument)
	expect(t, semaphore.Release(-7), turnlock.ErrInvalidArgument)
	must(semaphore.Resize(2))
	if permits, err := semaphore.Permits(); permits != 2 || err != nil {
		t.Fatal(permits, err)
	}
	expect(t, semaphore.Resize(0), turnlock.ErrInvalidArgument)
	must(semaphore.Close())
	expect(t, semaphore.Acquire(anywhere, 1), fs.ErrClosed)
	expect(t, semaphore.Release(1), fs.ErrClosed)
	_, err = semaphore.Permits()
	expect(t, err, fs.ErrClosed)
	expect(t, (&turnlock.Semaphore{}).Acquire(anywhere, 1), turnlock.ErrClosed)
	expect(t, (&turnlock.Semaphore{}).Release(1), turnlock.ErrClosed)
	_, err = (&turnlock.Semaphore{}).Waiters()
	expect(t, err, turnlock.ErrClosed)
}

func TestAContextEndsAWaitForPermits(t *testing.T) {
	semaphore, _, _ := newSemaphore(t, 1)
	must(semaphore.Acquire(anywhere, 1))
	cancelled, cancel := context.WithCancel(anywhere)
	ended := make(chan error, 2)
	for i := 0; i < 2; i++ {
		go func() { ended <- semaphore.Acquire(cancelled, 1) }()
	}
	waitFor(func() bool { waiters, _ := semaphore.Waiters(); return len(waiters) == 1 })
	cancel()
	expect(t, <-ended, context.Canceled)
	expect(t, <-ended, context.Canceled)
	if waiters, err := semaphore.Waiters(); len(waiters) != 0 || err != nil {
		t.Fatal(waiters, err)
	}
	must(semaphore.Release(1))
	must(semaphore.Acquire(anywhere, 1))
}

func TestPermitsOfTheDeadComeBack(t *testing.T) {
	semaphore, _, path := newSemaphore(t, 1)
	dieInside(t, path, "semaphore")
	must(semaphore.Acquire(anywhere, 1))
}

func TestReadersAreBesideEachOtherAndWritersAlone(t *testing.T) {
	mutex, file, _ := newRWMutex(t)
	mutex.RLock()
	if !mutex.TryRLock() || mutex.TryLock() {
		t.Fatal("a reader beside a reader")
	}
	another, err := file.RWMutex("rwlock", nil)
	must(err)
	another.RLocker().Lock()
	holders, err := mutex.Holders()
	must(err)
	if len(holders) != 3 || holders[0].Mode != turnlock.Shared {
		t.Fatalf("%+v", holders)
	}
	upgradable, err := mutex.TryAcquire(turnlock.Upgradable)
	must(err)
	expect(t, upgradable.TryUpgrade(), turnlock.ErrWouldBlock)
	limited, end := context.WithTimeout(anywhere, 5*time.Millisecond)
	defer end()
	expect(t, upgradable.Upgrade(limited), context.DeadlineExceeded)
	another.RLocker().Unlock()
	mutex.RUnlock()
	mutex.RUnlock()
	must(upgradable.Upgrade(anywhere))
	expect(t, upgradable.Upgrade(anywhere), turnlock.ErrNotUpgradable)
	if mutex.TryRLock() {
		t.Fatal("a reader beside a writer")
	}
	if is, err := upgradable.IsContended(); is || err != nil {
		t.Fatal(is, err)
	}
	token := upgradable.Acquired().FencingToken
	must(upgradable.Downgrade(turnlock.Shared))
	reader, err := another.Acquire(anywhere, turnlock.Shared)
	must(err)
	if reader.Acquired().FencingToken != token {
		t.Fatal("a reader has the last writer's token")
	}
	expect(t, reader.Downgrade(turnlock.Exclusive), turnlock.ErrInvalidArgument)
	expect(t, reader.Downgrade(turnlock.Upgradable), turnlock.ErrNotUpgradable)
	expect(t, reader.MarkConsistent(), turnlock.ErrNotExclusive)
	must(reader.Release())
	must(upgradable.Release())
	for _, misuse := range []error{upgradable.Release(), upgradable.Abandon(), upgradable.MarkConsistent(),
		upgradable.TryUpgrade(), upgradable.Upgrade(anywhere), upgradable.Downgrade(turnlock.Shared)} {
		expect(t, misuse, turnlock.ErrNotOwner)
	}
	expect(t, panics(t, mutex.Unlock), turnlock.ErrNotOwner)
	expect(t, panics(t, mutex.RUnlock), turnlock.ErrNotOwner)
	_, err = mutex.Acquire(anywhere, 77)
	expect(t, err, turnlock.ErrInvalidArgument)
	mutex.Lock()
	expect(t, mutex.Close(), turnlock.ErrStillHeld)
	mutex.Unlock()
	must(mutex.Close())
	expect(t, panics(t, mutex.RLock), turnlock.ErrClosed)
	_, err = (&turnlock.RWMutex{}).Holders()
	expect(t, err, turnlock.ErrClosed)
}

func TestReadersAndWritersAddUp(t *testing.T) {
	mutex, file, _ := newRWMutex(t)
	another, err := file.RWMutex("rwlock", nil)
	must(err)
	count := 0
	var all sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		mutex, writes := mutex, worker%2 == 0
		if worker%4 < 2 {
			mutex = another
		}
		all.Add(1)
		go func() {
			defer all.Done()
			for turn := 0; turn < 100; turn++ {
				if writes {
					mutex.Lock()
					count++
					mutex.Unlock()
				} else {
					mutex.RLock()
					_ = count
					mutex.RUnlock()
				}
			}
		}()
	}
	all.Wait()
	if count != 400 {
		t.Fatal(count)
	}
}

func TestReadersAreToldOfAWritersDeathUntilAWriterRepairs(t *testing.T) {
	mutex, _, path := newRWMutex(t)
	dieInside(t, path, "rwlock")
	reader, err := mutex.Acquire(anywhere, turnlock.Shared)
	must(err)
	if !reader.Acquired().OwnerDied {
		t.Fatal("a reader is not told")
	}
	must(reader.Release())
	mutex.Lock()
	dead, err := mutex.PreviousOwner()
	must(err)
	if acquired := mutex.Writer().Acquired(); !acquired.OwnerDied || dead.Pid != acquired.DeadOwnerPid {
		t.Fatalf("%+v %+v", acquired, dead)
	}
	mutex.Unlock()
	_, err = mutex.TryAcquire(turnlock.Shared)
	expect(t, err, turnlock.ErrNotRecoverable)
	must(mutex.Reset(anywhere))
	mutex.Lock()
	must(mutex.Writer().Abandon())
	expect(t, panics(t, mutex.Unlock), turnlock.ErrNotOwner)
	mutex.Lock()
	must(mutex.Writer().MarkConsistent())
	mutex.Unlock()
}

func TestAFileIsClosedBeforeItsLocks(t *testing.T) {
	semaphore, file, _ := newSemaphore(t, 2)
	must(file.Close())
	_, err := file.Semaphore("semaphore", nil)
	expect(t, err, turnlock.ErrClosed)
	must(semaphore.Acquire(anywhere, 1))
	must(semaphore.Acquire(anywhere, 1))
	must(semaphore.Release(2))
	must(semaphore.Close())
}

func TestSeveralClosingEndsTheWaits(t *testing.T) {
	holder, file, _ := newSemaphore(t, 1)
	must(holder.Acquire(anywhere, 1))
	waiter, err := file.Semaphore("semaphore", nil)
	must(err)
	ended := make(chan error, 2)
	for i := 0; i < 2; i++ {
		go func() { ended <- waiter.Acquire(anywhere, 1) }()
	}
	waitFor(func() bool { waiters, _ := holder.Waiters(); return len(waiters) == 1 })
	must(waiter.Close())
	for i := 0; i < 2; i++ {
		if err := <-ended; !errors.Is(err, turnlock.ErrClosed) {
			t.Fatal(err)
		}
	}
}
