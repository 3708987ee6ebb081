package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"sync"
	"time"
)

// MostTaken is most often that an owner can have a recursive mutex at once.
const MostTaken = 65535

// Owner is one that takes recursive mutexes: a chain of calls, which hands it on. It is what a thread is to a recursive mutex
// elsewhere, since a goroutine has no identity. It may move between goroutines; two that run at once are two owners.
type Owner struct {
	// Else two of them might have one address.
	_ byte
}

// NewOwner makes an owner unlike all others. It takes no slot, and needs not be closed.
func NewOwner() *Owner { return &Owner{} }

// RecursiveMutex is a mutex that its owner may take again, and unlocks as often. To other processes it is taken once. One that
// another language opens as recursive is the same lock: there a thread is the owner.
type RecursiveMutex struct {
	mutex Mutex

	// Over what follows.
	state sync.Mutex
	// owner is nil while no owner has the lock by this object.
	owner *Owner
	// depth is how often the owner has it.
	depth int
	// isAbandoned: it was given up within.
	isAbandoned bool
	waiting     map[*Owner]bool
}

// RecursiveMutex opens the recursive mutex of this name (1 to 63 bytes of UTF-8), or creates it. options may be nil. It is the
// lock that is recursive: a mutex that exists and is not is ErrKind.
func (file *File) RecursiveMutex(name string, options *MutexOptions) (*RecursiveMutex, error) {
	mutex := &RecursiveMutex{waiting: map[*Owner]bool{}}
	if err := mutex.mutex.openAs(file, name, options, C.TURNLOCK_MUTEX_RECURSIVE); err != nil {
		return nil, err
	}
	return mutex, nil
}

// Acquire takes the lock as owner: at once, if owner has it already, and then with the fencing token that it has and no word
// of a death. Else it waits, as Mutex.Acquire does, in line with the other owners of this object. An owner that waits here
// already is ErrHoldBusy; one that has the lock MostTaken times is ErrRecursionLimit.
func (mutex *RecursiveMutex) Acquire(ctx context.Context, owner *Owner) (Acquired, error) {
	if err := ctx.Err(); err != nil && owner != nil {
		return Acquired{}, err
	}
	return mutex.acquire(owner, func() (Acquired, error) { return mutex.mutex.Acquire(ctx) })
}

// TryAcquire is Acquire if that needs no waiting; else the error is ErrWouldBlock.
func (mutex *RecursiveMutex) TryAcquire(owner *Owner) (Acquired, error) {
	return mutex.acquire(owner, mutex.mutex.TryAcquire)
}

func (mutex *RecursiveMutex) acquire(owner *Owner, take func() (Acquired, error)) (Acquired, error) {
	if owner == nil {
		return Acquired{}, &Error{ErrInvalidArgument, "the owner is nil: make one by NewOwner"}
	}
	mutex.state.Lock()
	defer mutex.state.Unlock()
	if mutex.owner == owner {
		if mutex.depth == MostTaken {
			return Acquired{}, &Error{ErrRecursionLimit,
				"this owner has the recursive lock 65,535 times, and cannot take it once more: unlock it as often as it was taken"}
		}
		mutex.depth++
		// The notice of a death came with the first of them.
		return Acquired{FencingToken: mutex.mutex.Acquired().FencingToken}, nil
	}
	if mutex.waiting[owner] {
		return Acquired{}, &Error{ErrHoldBusy,
			"this owner waits for the lock on another goroutine: give each chain of calls an owner of its own"}
	}
	// Not in a lock that was never opened, which says so.
	if mutex.waiting != nil {
		mutex.waiting[owner] = true
	}
	mutex.state.Unlock()
	acquired, err := take()
	mutex.state.Lock()
	delete(mutex.waiting, owner)
	if err == nil {
		mutex.owner, mutex.depth, mutex.isAbandoned = owner, 1, false
	}
	return acquired, err
}

// held calls function while owner has the lock.
func (mutex *RecursiveMutex) held(owner *Owner, function func() error) error {
	mutex.state.Lock()
	defer mutex.state.Unlock()
	if owner == nil || mutex.owner != owner {
		// Also what a closed lock says.
		if err := mutex.mutex.enter(); err != nil {
			return err
		}
		mutex.mutex.inside.Done()
		return &Error{ErrNotOwner, "this owner does not have the lock"}
	}
	return function()
}

// Release unlocks once; the last time, others get the lock. ErrDamaged and ErrReplaced: see Mutex.Release.
func (mutex *RecursiveMutex) Release(owner *Owner) error { return mutex.release(owner, false) }

// Abandon is Release, where the data were left half-done: when the lock is unlocked for the last time, the next holder is
// told.
func (mutex *RecursiveMutex) Abandon(owner *Owner) error { return mutex.release(owner, true) }

func (mutex *RecursiveMutex) release(owner *Owner, abandon bool) error {
	return mutex.held(owner, func() error {
		mutex.isAbandoned = mutex.isAbandoned || abandon
		if mutex.depth > 1 {
			mutex.depth--
			return nil
		}
		leave := mutex.mutex.Release
		if mutex.isAbandoned {
			leave = mutex.mutex.Abandon
		}
		err := leave()
		if hasUnlocked(err) {
			mutex.owner, mutex.depth = nil, 0
		}
		return err
	})
}

// Do calls section while owner has the lock. If section panics, or ends its goroutine, the lock is abandoned.
func (mutex *RecursiveMutex) Do(ctx context.Context, owner *Owner, section func(Acquired) error) error {
	return do(section,
		func() (Acquired, error) { return mutex.Acquire(ctx, owner) },
		func() error { return mutex.Release(owner) },
		func() error { return mutex.Abandon(owner) })
}

// Locker is the lock as a sync.Locker, as owner. Its Lock and Unlock panic with an *Error where Acquire and Release fail.
// A Condition waits with it.
func (mutex *RecursiveMutex) Locker(owner *Owner) OwnedLocker { return OwnedLocker{mutex, owner} }

// OwnedLocker is a RecursiveMutex as one owner locks and unlocks it: a sync.Locker.
type OwnedLocker struct {
	mutex *RecursiveMutex
	owner *Owner
}

// Lock is RecursiveMutex.Acquire, and panics with an *Error where that fails.
func (locker OwnedLocker) Lock() {
	if _, err := locker.mutex.Acquire(context.Background(), locker.owner); err != nil {
		panic(err)
	}
}

// Unlock is RecursiveMutex.Release, and panics with an *Error where that fails.
func (locker OwnedLocker) Unlock() {
	// What happened to the file is what the next Lock fails with.
	if err := locker.mutex.Release(locker.owner); !hasUnlocked(err) {
		panic(err)
	}
}

// waitAt unlocks it whole, and locks it as often again.
func (locker OwnedLocker) waitAt(ctx context.Context, condition *Condition) (Acquired, bool, error) {
	mutex, owner := locker.mutex, locker.owner
	var depth int
	var isAbandoned bool
	err := mutex.held(owner, func() error {
		depth, isAbandoned = mutex.depth, mutex.isAbandoned
		mutex.owner, mutex.depth = nil, 0
		mutex.waiting[owner] = true
		return nil
	})
	if err != nil {
		return Acquired{}, false, err
	}
	acquired, isHeld, err := mutex.mutex.waitAt(ctx, condition)
	mutex.state.Lock()
	defer mutex.state.Unlock()
	delete(mutex.waiting, owner)
	if isHeld {
		mutex.owner, mutex.depth, mutex.isAbandoned = owner, depth, isAbandoned
	}
	return acquired, isHeld, err
}

// Depth is how often owner has the lock; 0: it has not.
func (mutex *RecursiveMutex) Depth(owner *Owner) int {
	mutex.state.Lock()
	defer mutex.state.Unlock()
	if owner == nil || mutex.owner != owner {
		return 0
	}
	return mutex.depth
}

// MarkConsistent says, after Acquired.OwnerDied, that the data are consistent again.
func (mutex *RecursiveMutex) MarkConsistent(owner *Owner) error {
	return mutex.held(owner, mutex.mutex.MarkConsistent)
}

// IsContended is whether another participant waits behind the holder, which asks. Owners that wait for this same object are
// not counted.
func (mutex *RecursiveMutex) IsContended(owner *Owner) (isContended bool, err error) {
	err = mutex.held(owner, func() (err error) {
		isContended, err = mutex.mutex.IsContended()
		return err
	})
	return isContended, err
}

// StillOwner is whether this host has the mutex still, for owner, which has it: see Mutex.StillOwner.
func (mutex *RecursiveMutex) StillOwner(owner *Owner) (isStill bool, err error) {
	err = mutex.held(owner, func() (err error) {
		isStill, err = mutex.mutex.StillOwner()
		return err
	})
	return isStill, err
}

// Patience is how long waiters let others pass here, as its creator said; 0 is strictly first come first served.
func (mutex *RecursiveMutex) Patience() (time.Duration, error) { return mutex.mutex.Patience() }

// Reset opens a lock that is not recoverable again: see Mutex.Reset.
func (mutex *RecursiveMutex) Reset(ctx context.Context) error { return mutex.mutex.Reset(ctx) }

// TryReset is Reset if that needs no waiting; else the error is ErrTimedOut.
func (mutex *RecursiveMutex) TryReset() error { return mutex.mutex.TryReset() }

// PreviousOwner is the participant that died holding the lock last; nil if no holder did.
func (mutex *RecursiveMutex) PreviousOwner() (*DeadOwner, error) { return mutex.mutex.PreviousOwner() }

// Holder is the participant that has the lock now, dead or alive; nil if it has no holder.
func (mutex *RecursiveMutex) Holder() (*ParticipantInfo, error) { return mutex.mutex.Holder() }

// Waiters are the participants that wait now, first the one that is next.
func (mutex *RecursiveMutex) Waiters() ([]ParticipantInfo, error) { return mutex.mutex.Waiters() }

// Close closes the lock. Owners that wait get ErrClosed. While it is held it fails with ErrStillHeld, and nothing is done; to
// close it again does nothing.
func (mutex *RecursiveMutex) Close() error { return mutex.mutex.Close() }
