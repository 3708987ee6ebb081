package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"unsafe"
)

// exclusive is an open lock of any kind that one holds at a time, always by the same hold: a member of a ring stays one, and a
// mutex that no other process wants is biased to it.
type exclusive struct{ base }

func (l *exclusive) open(file *File, handle unsafe.Pointer, label string, closeHandle func() C.int32_t) error {
	if err := l.base.open(file, handle, label, closeHandle); err != nil {
		return err
	}
	own, err := l.hold()
	if err != nil {
		_ = l.Close()
		return err
	}
	l.own, l.isSingle = own, true
	return nil
}

// Acquire waits for the lock until it comes or ctx is done, and then nothing is left in the queue. The error is ctx.Err()
// then. A ctx that is done already is not waited for, not even if the lock is free.
func (l *exclusive) Acquire(ctx context.Context) (Acquired, error) { return l.take(ctx, true) }

// TryAcquire takes the lock if that needs no waiting; else the error is ErrWouldBlock.
func (l *exclusive) TryAcquire() (Acquired, error) { return l.take(context.Background(), false) }

func (l *exclusive) take(ctx context.Context, waits bool) (Acquired, error) {
	_, acquired, err := l.base.take(ctx, wanted{}, waits)
	return acquired, err
}

// holding is the hold that has the lock.
func (l *exclusive) holding() (*C.turnlock_hold, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.handle == nil || isClosed(l.closing) {
		return nil, l.closed()
	}
	if l.holder == nil {
		return nil, &Error{ErrNotOwner, "the lock is not held by this object: lock it first"}
	}
	return l.holder, nil
}

func (l *exclusive) release(release func(*C.turnlock_hold) C.int32_t) error {
	hold, err := l.holding()
	if err != nil {
		return err
	}
	_, err = l.give(hold, func() C.int32_t { return release(hold) })
	return err
}

// Release unlocks. ErrDamaged and ErrReplaced say that something was seen to have happened to the file, ErrLeaseEnded that
// another host may have had the lock: it is unlocked all the same. After a death without MarkConsistent it closes the lock for everyone until Reset.
func (l *exclusive) Release() error {
	return l.release(func(hold *C.turnlock_hold) C.int32_t { return C.turnlock_hold_release(hold) })
}

// Abandon unlocks as a dying owner does, since the data were left half-done: the next holder is told.
func (l *exclusive) Abandon() error {
	return l.release(func(hold *C.turnlock_hold) C.int32_t { return C.turnlock_hold_abandon(hold) })
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

// waitAt waits at a condition by the hold that has the lock. Meanwhile the object has another hold, by which other goroutines
// take the lock.
func (l *exclusive) waitAt(ctx context.Context, condition *Condition) (acquired Acquired, isHeld bool, err error) {
	if err = l.enter(); err != nil {
		return acquired, false, err
	}
	defer l.inside.Done()
	hold, err := l.holding()
	if err != nil {
		return acquired, false, err
	}
	if err = l.leaveTo(hold); err != nil {
		return acquired, true, err
	}
	acquired, isHeld, err = condition.waitBy(ctx, hold)
	if !isHeld {
		l.forget(hold)
		return acquired, false, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.holder = hold
	if acquired.FencingToken != 0 {
		l.acquired = acquired
	}
	return acquired, true, err
}

// leaveTo leaves a hold that has the lock to a goroutine that waits with it, and lets others through to the object.
func (l *exclusive) leaveTo(hold *C.turnlock_hold) error {
	next, err := l.newHold()
	if err != nil {
		return err
	}
	l.mutex.Lock()
	l.holder = nil
	isOwn := hold == l.own
	if isOwn {
		l.own = next
	}
	l.mutex.Unlock()
	if isOwn {
		l.leaveTurnstile()
	} else {
		C.turnlock_hold_close(next)
	}
	return nil
}

// Acquired is what came with the acquisition that is held now. Only its holder may ask.
func (l *exclusive) Acquired() Acquired {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.acquired
}

// MarkConsistent says, after Acquired.OwnerDied, that the data are consistent again.
func (l *exclusive) MarkConsistent() error {
	hold, err := l.holding()
	if err == nil {
		_, err = l.with(func() C.int32_t { return C.turnlock_hold_mark_consistent(hold) })
	}
	return err
}

// IsContended is whether another participant waits behind the holder, which asks. Goroutines that wait for this same
// object are not counted.
func (l *exclusive) IsContended() (bool, error) {
	hold, err := l.holding()
	if err != nil {
		return false, err
	}
	status, err := l.with(func() C.int32_t { return C.turnlock_hold_is_contended(hold) })
	return status == C.TURNLOCK_CONTENDED, err
}

// Reset opens a lock that is not recoverable again, in its turn, after the data were repaired or given up. The calling
// thread takes a slot for it.
func (l *exclusive) Reset(ctx context.Context) error { return l.reset(ctx) }

// TryReset is Reset if that needs no waiting; else the error is ErrTimedOut.
func (l *exclusive) TryReset() error {
	_, err := l.resetFor(0)
	return err
}

// PreviousOwner is the participant that died holding the lock last; nil if no holder ever did.
func (l *exclusive) PreviousOwner() (*DeadOwner, error) { return l.previousOwner() }

// Holder is the participant that has the lock now, dead or alive; nil if it has no holder.
func (l *exclusive) Holder() (*ParticipantInfo, error) {
	holders, err := l.holders()
	if len(holders) == 0 {
		return nil, err
	}
	return &holders[0], nil
}

// Waiters is who waits for the lock now, first the one that is next; of a ring also who else is a member of it. Goroutines that
// wait for the same object are one.
func (l *exclusive) Waiters() ([]ParticipantInfo, error) { return l.waiters() }
