package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// DeathPolicy is what a holder's death means for the next one.
type DeathPolicy uint32

const (
	// AnyOnDeath is whichever the lock has, and ReleaseOnDeath if it is created now.
	AnyOnDeath DeathPolicy = iota
	// InformOnDeath: the next holder is told (OwnerDied), and marks the data consistent before it unlocks; else the lock is
	// closed for everyone. All who take such a lock have to know it: sync.Locker does not show the notice.
	InformOnDeath
	// ReleaseOnDeath: the next holder is told, and has nothing to mark consistent.
	ReleaseOnDeath
)

// flags are those of the library, which are the same for every kind.
func (policy DeathPolicy) flags() C.uint32_t {
	switch policy {
	case AnyOnDeath:
		return C.TURNLOCK_MUTEX_RELEASE_BY_DEFAULT
	case InformOnDeath:
		return C.TURNLOCK_MUTEX_INFORM_ON_DEATH
	case ReleaseOnDeath:
		return C.TURNLOCK_MUTEX_RELEASE_ON_DEATH
	}
	// None that the library knows.
	return 1 << 31
}

// LockOptions are what locks of every kind are opened with.
type LockOptions struct {
	MustExist bool
	// OnDeath is what a holder's death must mean (ErrKind, if the lock exists and it means something else). Nothing: whatever
	// it does, and ReleaseOnDeath if the lock is created now.
	OnDeath DeathPolicy
	// Label is what this lock's participant calls itself; "" = the file's label.
	Label string
}

// kind is the functions of the library for one kind of lock.
type kind interface {
	lock(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t
	tryLock(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t
	unlock(who *C.turnlock_participant) C.int32_t
	abandon(who *C.turnlock_participant) C.int32_t
	markConsistent(who *C.turnlock_participant) C.int32_t
	isContended(who *C.turnlock_participant) C.int32_t
	resetFor(nanoseconds C.uint64_t) C.int32_t
	previousOwner(owner *C.turnlock_previous_owner) C.int32_t
	holder(info *C.turnlock_participant_info) C.int32_t
	waiters(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t
	close() C.int32_t
}

// exclusive is an open lock of any kind that one holds at a time, with the participant that takes it.
type exclusive struct {
	kind kind
	who  *C.turnlock_participant
	// gate is full while a goroutine waits in the library or holds the lock: a participant takes one lock at a time.
	gate chan struct{}
	// acquired belongs to the holder.
	acquired Acquired

	// Over `closing`, which is closed before the handles are: nobody goes in after it, and those inside go out.
	mutex   sync.Mutex
	closing chan struct{}
	inside  sync.WaitGroup
}

// open gives an open lock its participant.
func (l *exclusive) open(file *File, opened kind, label string) error {
	// Not a field of l, which has pointers of Go beside it.
	var who *C.turnlock_participant
	err := file.with(func(handle *C.turnlock_file) C.int32_t { return openParticipant(handle, label, &who) })
	if err != nil {
		opened.close()
		return err
	}
	l.kind, l.who = opened, who
	l.gate = make(chan struct{}, 1)
	l.closing = make(chan struct{})
	runtime.SetFinalizer(l, (*exclusive).Close)
	return nil
}

// enter keeps the handles open until leave.
func (l *exclusive) enter() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.kind == nil {
		return closed("lock")
	}
	select {
	case <-l.closing:
		return closed("lock")
	default:
	}
	l.inside.Add(1)
	return nil
}

// with calls the library while the handles are open.
func (l *exclusive) with(function func() C.int32_t) (Status, error) {
	if err := l.enter(); err != nil {
		return ErrClosed, err
	}
	defer l.inside.Done()
	return call(function)
}

// Acquire waits for the lock until it comes or ctx is done, and then nothing is left in the queue. The error is ctx.Err()
// then. A ctx that is done already is not waited for, not even if the lock is free.
func (l *exclusive) Acquire(ctx context.Context) (Acquired, error) {
	if err := l.enter(); err != nil {
		return Acquired{}, err
	}
	defer l.inside.Done()
	if err := ctx.Err(); err != nil {
		return Acquired{}, err
	}
	select {
	case l.gate <- struct{}{}:
	case <-ctx.Done():
		return Acquired{}, ctx.Err()
	case <-l.closing:
		return Acquired{}, closed("lock")
	}
	var native C.turnlock_acquired
	native.size = C.sizeof_turnlock_acquired
	// Most locks are free, and need nobody to watch over the wait.
	status, err := call(func() C.int32_t { return l.kind.tryLock(l.who, &native) })
	if status == ErrWouldBlock {
		_, err = wait(ctx, l.closing, l.who, func() C.int32_t { return l.kind.lock(l.who, &native) })
	}
	if err != nil {
		<-l.gate
		return Acquired{}, err
	}
	l.acquired = acquiredOf(&native)
	return l.acquired, nil
}

// wait waits in the library, on this goroutine's thread; another goroutine cancels it.
func wait(
	ctx context.Context, closing chan struct{}, who *C.turnlock_participant, lock func() C.int32_t,
) (Status, error) {
	over := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
		case <-closing:
		case <-over:
			return
		}
		C.turnlock_participant_cancel(who)
	}()
	status, err := call(lock)
	close(over)
	<-watched
	// The cancel may have come too late for this wait; it is not for the next one.
	C.turnlock_participant_clear_cancel(who)
	if status == ErrCancelled {
		if err = ctx.Err(); err == nil {
			err = closed("lock")
		}
	}
	return status, err
}

// TryAcquire takes the lock if that needs no waiting; else the error is ErrWouldBlock.
func (l *exclusive) TryAcquire() (Acquired, error) {
	if err := l.enter(); err != nil {
		return Acquired{}, err
	}
	defer l.inside.Done()
	select {
	case l.gate <- struct{}{}:
	default:
		return Acquired{}, &Error{ErrWouldBlock, "another goroutine has the lock, or waits for it"}
	}
	var native C.turnlock_acquired
	native.size = C.sizeof_turnlock_acquired
	if _, err := call(func() C.int32_t { return l.kind.tryLock(l.who, &native) }); err != nil {
		<-l.gate
		return Acquired{}, err
	}
	l.acquired = acquiredOf(&native)
	return l.acquired, nil
}

// release ends the holding by one function of the library.
func (l *exclusive) release(function func(*C.turnlock_participant) C.int32_t) error {
	_, err := l.with(func() C.int32_t { return function(l.who) })
	if hasUnlocked(err) {
		<-l.gate
	}
	return err
}

// hasUnlocked is whether an unlock that gave this error has unlocked: one that reports what happened to the file has.
func hasUnlocked(err error) bool {
	if err == nil {
		return true
	}
	status := err.(*Error).Status
	return status == ErrDamaged || status == ErrReplaced
}

// Release unlocks. ErrDamaged and ErrReplaced say that something was seen to have happened to the file: it is unlocked all
// the same. After a death without MarkConsistent it closes the lock for everyone until Reset.
func (l *exclusive) Release() error {
	return l.release(func(who *C.turnlock_participant) C.int32_t { return l.kind.unlock(who) })
}

// Abandon unlocks as a dying owner does, since the data were left half-done: the next holder is told.
func (l *exclusive) Abandon() error {
	return l.release(func(who *C.turnlock_participant) C.int32_t { return l.kind.abandon(who) })
}

// Lock waits for the lock, as sync.Locker wants it. It panics with an *Error where Acquire fails.
func (l *exclusive) Lock() {
	if _, err := l.Acquire(context.Background()); err != nil {
		panic(err)
	}
}

// TryLock is whether the lock was taken, without waiting. It panics with an *Error where TryAcquire fails otherwise.
func (l *exclusive) TryLock() bool {
	_, err := l.TryAcquire()
	if err != nil && err.(*Error).Status != ErrWouldBlock {
		panic(err)
	}
	return err == nil
}

// Unlock unlocks, as sync.Locker wants it. It panics with an *Error if the lock is not held: a sync.Mutex, too, ends a
// program that does this.
func (l *exclusive) Unlock() {
	// What happened to the file is what the next Lock fails with.
	if err := l.Release(); !hasUnlocked(err) {
		panic(err)
	}
}

// Do calls section while it has the lock. If section panics, or ends its goroutine, the lock is abandoned: the next holder
// is told.
func (l *exclusive) Do(ctx context.Context, section func(Acquired) error) error {
	return do(section, func() (Acquired, error) { return l.Acquire(ctx) }, l.Release, l.Abandon)
}

func do(
	section func(Acquired) error, acquire func() (Acquired, error), release func() error, abandon func() error,
) (err error) {
	acquired, err := acquire()
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned {
			_ = abandon()
		} else if released := release(); err == nil {
			err = released
		}
	}()
	err = section(acquired)
	returned = true
	return err
}

// Acquired is what came with the acquisition that is held now. Only its holder may ask.
func (l *exclusive) Acquired() Acquired { return l.acquired }

// MarkConsistent says, after Acquired.OwnerDied, that the data are well again.
func (l *exclusive) MarkConsistent() error {
	_, err := l.with(func() C.int32_t { return l.kind.markConsistent(l.who) })
	return err
}

// IsContended is whether another participant waits behind the holder, which asks. Goroutines that wait for this same
// object are not counted.
func (l *exclusive) IsContended() (bool, error) {
	status, err := l.with(func() C.int32_t { return l.kind.isContended(l.who) })
	return status == C.TURNLOCK_CONTENDED, err
}

// Reset opens a lock that is not recoverable again, in its turn, after the data were repaired or given up. The calling
// thread takes a slot for it.
func (l *exclusive) Reset(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		status, err := l.with(func() C.int32_t { return l.kind.resetFor(nanoseconds(50 * time.Millisecond)) })
		if status != ErrTimedOut {
			return err
		}
	}
}

// TryReset is Reset if that needs no waiting; else the error is ErrTimedOut.
func (l *exclusive) TryReset() error {
	_, err := l.with(func() C.int32_t { return l.kind.resetFor(0) })
	return err
}

// Close closes the lock and its participant. Goroutines that wait get ErrClosed. While the lock is held it fails with
// ErrStillHeld, and nothing is done; to close it again does nothing.
func (l *exclusive) Close() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.kind == nil || isClosed(l.closing) {
		return nil
	}
	if l.isHeld() {
		return &Error{ErrStillHeld, "the lock is held: unlock it before it is closed"}
	}
	close(l.closing)
	l.mutex.Unlock()
	l.inside.Wait()
	l.mutex.Lock()
	// A wait that got the lock in spite of the cancel: its goroutine has it, and may still unlock it.
	if l.isHeld() {
		l.closing = make(chan struct{})
		return &Error{ErrStillHeld, "the lock was taken while it was being closed: unlock it, and close it again"}
	}
	runtime.SetFinalizer(l, nil)
	_, err := call(func() C.int32_t { return C.turnlock_participant_close(l.who) })
	if _, another := call(l.kind.close); err == nil {
		err = another
	}
	return err
}

// isHeld is whether the participant has the lock: only its holder may ask whether it is contended.
func (l *exclusive) isHeld() bool { return l.kind.isContended(l.who) >= 0 }

func isClosed(channel chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}
