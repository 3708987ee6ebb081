package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"sync"
)

// Hold is a reader/writer lock that is held, by whichever goroutine has the Hold. Its methods give ErrNotOwner once it is
// released.
type Hold struct {
	mutex *RWMutex

	// Over what follows; who is nil once it is released.
	lock     sync.Mutex
	who      *C.turnlock_participant
	acquired Acquired
}

// Acquired is what came with it. A reader's fencing token is that of the last writer, and its OwnerDied stands until a
// writer marks consistent what a dead one left.
func (hold *Hold) Acquired() Acquired {
	hold.lock.Lock()
	defer hold.lock.Unlock()
	return hold.acquired
}

func (hold *Hold) with(function func() C.int32_t) (Status, error) {
	if hold.who == nil {
		return ErrNotOwner, &Error{ErrNotOwner, "the lock was released before"}
	}
	return hold.mutex.with(function)
}

// Release unlocks. What is held exclusively after a death without MarkConsistent closes the lock for everyone until Reset.
func (hold *Hold) Release() error {
	return hold.release(func(who *C.turnlock_participant) C.int32_t {
		return C.turnlock_rwlock_unlock_as(hold.mutex.handle, who)
	})
}

// Abandon unlocks as a dying owner does, since the data were left half-done: if it is held exclusively, the next one is
// told.
func (hold *Hold) Abandon() error {
	return hold.release(func(who *C.turnlock_participant) C.int32_t {
		return C.turnlock_rwlock_abandon_as(hold.mutex.handle, who)
	})
}

func (hold *Hold) release(unlock func(*C.turnlock_participant) C.int32_t) error {
	hold.lock.Lock()
	defer hold.lock.Unlock()
	who := hold.who
	if who == nil {
		return &Error{ErrNotOwner, "the lock was released before"}
	}
	isOver, err := hold.mutex.give(who, func() C.int32_t { return unlock(who) })
	if isOver {
		hold.who = nil
	}
	return err
}

// mustRelease is Release for Unlock and RUnlock; a nil Hold is a lock that nobody has.
func (hold *Hold) mustRelease() {
	if hold == nil {
		panic(&Error{ErrNotOwner, "the lock is not held"})
	}
	// What happened to the file is what the next lock fails with.
	if err := hold.Release(); !hasUnlocked(err) {
		panic(err)
	}
}

// MarkConsistent says, holding the lock exclusively after Acquired().OwnerDied, that the data are well again.
func (hold *Hold) MarkConsistent() error {
	hold.lock.Lock()
	defer hold.lock.Unlock()
	_, err := hold.with(func() C.int32_t { return C.turnlock_rwlock_mark_consistent_as(hold.mutex.handle, hold.who) })
	return err
}

// Upgrade makes an upgradable hold exclusive, or waits for the readers to leave until ctx is done. Nobody writes in between.
// Where it fails the lock is held upgradable as before.
func (hold *Hold) Upgrade(ctx context.Context) error {
	hold.lock.Lock()
	defer hold.lock.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if hold.who == nil {
		return &Error{ErrNotOwner, "the lock was released before"}
	}
	if err := hold.mutex.enter(); err != nil {
		return err
	}
	defer hold.mutex.inside.Done()
	var native C.turnlock_acquired
	native.size = C.sizeof_turnlock_acquired
	_, err := wait(ctx, hold.mutex.closing, hold.who, func() C.int32_t {
		return C.turnlock_rwlock_upgrade_as(hold.mutex.handle, hold.who, &native)
	})
	if err == nil {
		hold.acquired = acquiredOf(&native)
	}
	return err
}

// TryUpgrade is Upgrade if that needs no waiting; else the error is ErrWouldBlock.
func (hold *Hold) TryUpgrade() error {
	hold.lock.Lock()
	defer hold.lock.Unlock()
	var native C.turnlock_acquired
	native.size = C.sizeof_turnlock_acquired
	_, err := hold.with(func() C.int32_t {
		return C.turnlock_rwlock_try_upgrade_as(hold.mutex.handle, hold.who, &native)
	})
	if err == nil {
		hold.acquired = acquiredOf(&native)
	}
	return err
}

// Downgrade makes the hold less than it is: exclusive to upgradable or shared, upgradable to shared. Nobody writes in
// between.
func (hold *Hold) Downgrade(mode Mode) error {
	hold.lock.Lock()
	defer hold.lock.Unlock()
	_, err := hold.with(func() C.int32_t {
		return C.turnlock_rwlock_downgrade_as(hold.mutex.handle, hold.who, C.uint32_t(mode))
	})
	return err
}

// IsContended is whether another participant waits while the lock is held.
func (hold *Hold) IsContended() (bool, error) {
	hold.lock.Lock()
	defer hold.lock.Unlock()
	status, err := hold.with(func() C.int32_t { return C.turnlock_rwlock_is_contended_as(hold.mutex.handle, hold.who) })
	return status == C.TURNLOCK_CONTENDED, err
}
