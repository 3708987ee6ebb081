package turnlock_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"turnlock.example/go"
)

// panics returns what a function panics with.
func panics(t *testing.T, function func()) (err error) {
	t.Helper()
	defer func() { err, _ = recover().(error) }()
	function()
	t.Fatal("no panic")
	return nil
}

func TestNamesPathsAndOptionsThatCannotBe(t *testing.T) {
	file, path := newFile(t)
	for _, name := range []string{"", "a\x00b", strings.Repeat("n", 64), "\xff"} {
		_, err := file.Mutex(name, nil)
		expect(t, err, turnlock.ErrBadName)
		_, err = file.TurnRing(name, nil)
		expect(t, err, turnlock.ErrBadName)
		expect(t, file.RemoveLock(name), turnlock.ErrBadName)
	}
	for _, options := range []turnlock.LockOptions{{Label: "a\x00b"}, {Label: "\xff"}} {
		_, err := file.Mutex("mutex", &turnlock.MutexOptions{LockOptions: options})
		expect(t, err, turnlock.ErrInvalidArgument)
		_, err = file.TurnRing("ring", &turnlock.RingOptions{LockOptions: options})
		expect(t, err, turnlock.ErrInvalidArgument)
	}
	_, err := file.TurnRing("mutex", nil)
	expect(t, err, turnlock.ErrKind)
	_, err = file.TurnRing("even", &turnlock.RingOptions{Algorithm: turnlock.Sum, Step: 2})
	expect(t, err, turnlock.ErrInvalidArgument)
	_, err = file.Mutex("absent", &turnlock.MutexOptions{LockOptions: turnlock.LockOptions{MustExist: true}})
	expect(t, err, fs.ErrNotExist)
	_, err = file.Mutex("impatient", &turnlock.MutexOptions{Patience: -time.Hour})
	must(err)

	for _, options := range []turnlock.FileOptions{{Participants: 5000}, {Mode: 0o666}, {Mode: os.ModeDir}, {Label: "a\x00b"}} {
		_, err = turnlock.Open(path+"2", &options)
		expect(t, err, turnlock.ErrInvalidArgument)
	}
	_, err = turnlock.Open(path+"2", &turnlock.FileOptions{MustExist: true})
	expect(t, err, turnlock.ErrNotFound)
	_, err = turnlock.Open("a\x00b", nil)
	expect(t, err, turnlock.ErrInvalidArgument)
	_, err = turnlock.Open(filepath.Join(path, "below"), nil)
	if err == nil {
		t.Fatal("a file that is no folder")
	}
	text := filepath.Join(t.TempDir(), "text")
	must(os.WriteFile(text, []byte(strings.Repeat("x", 10000)), 0o600))
	_, err = turnlock.Open(text, nil)
	expect(t, err, turnlock.ErrNotALockFile)
	_, err = turnlock.OpenDescriptor(math.MaxUint64, nil)
	expect(t, err, turnlock.ErrInvalidArgument)
	_, err = turnlock.OpenDescriptor(12345, nil)
	expect(t, err, turnlock.ErrInvalidArgument)
}

func TestMisuseOfALock(t *testing.T) {
	eachKind(t, func(t *testing.T, file *turnlock.File, _, kind string) {
		lock := opened(file, kind)
		expect(t, lock.Release(), turnlock.ErrNotOwner)
		expect(t, lock.Abandon(), turnlock.ErrNotOwner)
		expect(t, lock.MarkConsistent(), turnlock.ErrNotOwner)
		expect(t, panics(t, lock.Unlock), turnlock.ErrNotOwner)
		_, err := lock.IsContended()
		expect(t, err, turnlock.ErrNotOwner)
		lock.Lock()
		expect(t, file.RemoveLock(kind), turnlock.ErrInUse)
		expect(t, opened(file, kind).Release(), turnlock.ErrNotOwner)
		_, err = lock.TryAcquire()
		expect(t, err, turnlock.ErrWouldBlock)
		lock.Unlock()
		must(file.RemoveLock(kind))
		expect(t, panics(t, lock.Lock), turnlock.ErrNotFound)
		expect(t, panics(t, func() { lock.TryLock() }), turnlock.ErrNotFound)
	})
}

func TestTimesThatCannotBe(t *testing.T) {
	file, _ := newFile(t)
	holder, waiter := opened(file, "mutex"), opened(file, "mutex")
	holder.Lock()
	past, end := context.WithTimeout(context.Background(), math.MinInt64)
	defer end()
	_, err := waiter.Acquire(past)
	expect(t, err, context.DeadlineExceeded)
	// A limit of 292 years is waited for; the context ends it.
	far, end := context.WithTimeout(context.Background(), math.MaxInt64)
	go func() {
		waitFor(func() bool { waiters, _ := holder.Waiters(); return len(waiters) == 1 })
		end()
	}()
	_, err = waiter.Acquire(far)
	expect(t, err, context.Canceled)
}

// everyMethod calls all of a lock's methods that can fail, and says what each failed with.
func everyMethod(lock locker) map[string]error {
	failures := map[string]error{}
	_, failures["Acquire"] = lock.Acquire(context.Background())
	_, failures["TryAcquire"] = lock.TryAcquire()
	_, failures["IsContended"] = lock.IsContended()
	_, failures["PreviousOwner"] = lock.PreviousOwner()
	_, failures["Holder"] = lock.Holder()
	_, failures["Waiters"] = lock.Waiters()
	failures["Release"] = lock.Release()
	failures["Abandon"] = lock.Abandon()
	failures["MarkConsistent"] = lock.MarkConsistent()
	failures["Reset"] = lock.Reset(context.Background())
	failures["TryReset"] = lock.TryReset()
	failures["Do"] = lock.Do(context.Background(), func(turnlock.Acquired) error { return nil })
	return failures
}

func TestWhatIsClosedOrWasNeverOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	file, err := turnlock.Open(path, nil)
	must(err)
	mutex, ring := opened(file, "mutex"), opened(file, "ring")
	for _, lock := range []locker{mutex, ring} {
		lock.Lock()
		expect(t, lock.Close(), turnlock.ErrStillHeld)
		lock.Unlock()
		must(lock.Close())
		must(lock.Close())
	}
	for _, lock := range []locker{mutex, ring, &turnlock.Mutex{}, &turnlock.TurnRing{}} {
		for method, failure := range everyMethod(lock) {
			if !errors.Is(failure, turnlock.ErrClosed) || !errors.Is(failure, fs.ErrClosed) {
				t.Fatalf("%T.%s: %v", lock, method, failure)
			}
		}
		expect(t, panics(t, lock.Lock), turnlock.ErrClosed)
		must(lock.Close())
	}
	must(file.Close())
	must(file.Close())
	for _, file := range []*turnlock.File{file, {}, nil} {
		_, err = file.Mutex("mutex", nil)
		expect(t, err, turnlock.ErrClosed)
		_, err = file.Path()
		expect(t, err, turnlock.ErrClosed)
		expect(t, file.RemoveLock("mutex"), turnlock.ErrClosed)
	}
}

// As those of Go's own packages.
func TestNilPanicsAsInGo(t *testing.T) {
	file, _ := newFile(t)
	mutex := opened(file, "mutex")
	for _, act := range []func(){
		func() { (*turnlock.Mutex)(nil).Lock() },
		func() { _, _ = (*turnlock.RWMutex)(nil).Acquire(anywhere, turnlock.Shared) },
		func() { _ = (*turnlock.Semaphore)(nil).Acquire(anywhere, 1) },
		func() { _, _ = (*turnlock.RecursiveMutex)(nil).Acquire(anywhere, turnlock.NewOwner()) },
		func() { _, _ = mutex.Acquire(nil) }, //nolint:staticcheck // is what is tried
	} {
		if _, is := panics(t, act).(runtime.Error); !is {
			t.Fatal("no error of the run time")
		}
	}
	// And nothing is left held or waited for.
	must(mutex.Close())
}

func TestClosingEndsTheWaits(t *testing.T) {
	file, _ := newFile(t)
	holder, waiter := opened(file, "mutex"), opened(file, "mutex")
	holder.Lock()
	ended := make(chan error, 2)
	for i := 0; i < 2; i++ {
		go func() {
			_, err := waiter.Acquire(context.Background())
			ended <- err
		}()
	}
	waitFor(func() bool { waiters, _ := holder.Waiters(); return len(waiters) == 1 })
	must(waiter.Close())
	expect(t, <-ended, turnlock.ErrClosed)
	expect(t, <-ended, turnlock.ErrClosed)
}

func TestGarbageGivesItsSlotsBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	file, err := turnlock.Open(path, &turnlock.FileOptions{Participants: 4})
	must(err)
	for i := 0; i < 100; i++ {
		var mutex *turnlock.Mutex
		for mutex, err = file.Mutex("mutex", nil); errors.Is(err, turnlock.ErrParticipantsFull); {
			runtime.GC()
			time.Sleep(time.Millisecond)
			mutex, err = file.Mutex("mutex", nil)
		}
		must(err)
		mutex.Lock()
		mutex.Unlock()
	}
	// From a finaliser: whatever is still open works, whatever is closed says so.
	said := make(chan error, 1)
	closed, err := file.Mutex("other", nil)
	for errors.Is(err, turnlock.ErrParticipantsFull) {
		runtime.GC()
		closed, err = file.Mutex("other", nil)
	}
	must(err)
	must(closed.Close())
	garbage := &struct{ mutex *turnlock.Mutex }{closed}
	runtime.SetFinalizer(garbage, func(garbage *struct{ mutex *turnlock.Mutex }) { said <- garbage.mutex.Release() })
	garbage = nil
	waitFor(func() bool { runtime.GC(); return len(said) == 1 })
	expect(t, <-said, turnlock.ErrClosed)
}

func TestErrorsTellTheStory(t *testing.T) {
	_, err := turnlock.Open("/no/such/folder", nil)
	var failure *turnlock.Error
	if !errors.As(err, &failure) || failure.Status != turnlock.ErrNotFound || !strings.Contains(err.Error(), "/no/such") {
		t.Fatal(err)
	}
	if turnlock.ErrNotFound.Error() == "" || turnlock.LibraryVersion() == "" {
		t.Fatal("no text")
	}
}

// Is run by check with a library of another ABI number, and with that alone.
func TestForeignABI(t *testing.T) {
	if os.Getenv("TURNLOCK_TEST_FOREIGN_ABI") == "" {
		t.Skip("check runs it beside a library of another ABI number")
	}
	_, err := turnlock.Open("lock", nil)
	var failure *turnlock.Error
	if !errors.As(err, &failure) || !strings.Contains(failure.Story, "ABI version 999") {
		t.Fatal("not refused")
	}
}
