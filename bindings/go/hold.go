package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"sync"
)

// acquisition is what of a lock is held by whichever goroutine has it. Its methods give ErrNotOwner once it is released.
type acquisition struct {
	of *base

	// Over what follows; hold is nil once it is released.
	lock     sync.Mutex
	hold     *C.turnlock_hold
	acquired Acquired
}

// Acquired is what came with it. OwnerDied stands until the data are marked consistent, by one that has them alone. A
// reader's fencing token is that of the last writer.
func (held *acquisition) Acquired() Acquired {
	held.lock.Lock()
	defer held.lock.Unlock()
	return held.acquired
}

// Release unlocks. Without MarkConsistent, what a dead owner left is told to the next holder of a part, or the next member; a
// reader/writer lock that is held exclusively then is closed for everyone until Reset.
func (held *acquisition) Release() error {
	return held.release(func(hold *C.turnlock_hold) C.int32_t { return C.turnlock_hold_release(hold) })
}

func (held *acquisition) release(release func(*C.turnlock_hold) C.int32_t) error {
	held.lock.Lock()
	defer held.lock.Unlock()
	if held.hold == nil {
		return released()
	}
	isOver, err := held.of.give(held.hold, func() C.int32_t { return release(held.hold) })
	if isOver {
		held.hold = nil
	}
	return err
}

// MarkConsistent says, holding it exclusively after Acquired().OwnerDied, that the data are consistent again. Of a death in what
// is only partly held nothing is marked.
func (held *acquisition) MarkConsistent() error {
	_, err := held.with(func(hold *C.turnlock_hold) C.int32_t { return C.turnlock_hold_mark_consistent(hold) })
	return err
}

// IsContended is whether another participant waits for what is held.
func (held *acquisition) IsContended() (bool, error) {
	status, err := held.with(func(hold *C.turnlock_hold) C.int32_t { return C.turnlock_hold_is_contended(hold) })
	return status == C.TURNLOCK_CONTENDED, err
}

func (held *acquisition) with(function func(*C.turnlock_hold) C.int32_t) (Status, error) {
	held.lock.Lock()
	defer held.lock.Unlock()
	if held.hold == nil {
		return ErrNotOwner, released()
	}
	return held.of.with(func() C.int32_t { return function(held.hold) })
}

func released() error { return &Error{ErrNotOwner, "it was released before"} }

// Hold is a reader/writer lock that is held, by whichever goroutine has the Hold. Its methods give ErrNotOwner once it is
// released.
type Hold struct{ acquisition }

// Abandon unlocks as a dying owner does, since the data were left half-done: if it is held exclusively, the next one is
// told.
func (hold *Hold) Abandon() error {
	return hold.release(func(hold *C.turnlock_hold) C.int32_t { return C.turnlock_hold_abandon(hold) })
}

// mustRelease is Release for Unlock and RUnlock; a nil Hold is a lock without a holder.
func (hold *Hold) mustRelease() {
	if hold == nil {
		panic(&Error{ErrNotOwner, "the lock is not held"})
	}
	// What happened to the file is what the next lock fails with.
	if err := hold.Release(); !hasUnlocked(err) {
		panic(err)
	}
}

// Upgrade makes an upgradable hold exclusive, or waits for the readers to leave until ctx is done. No other holder
// writes in between. Where it fails the lock is held upgradable as before.
func (hold *Hold) Upgrade(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return hold.upgrade(C.TURNLOCK_WAIT_FOREVER, func(upgrade func() C.int32_t) error {
		_, err := hold.of.wait(ctx, hold.hold, upgrade)
		return err
	})
}

// TryUpgrade is Upgrade if that needs no waiting; else the error is ErrWouldBlock.
func (hold *Hold) TryUpgrade() error {
	return hold.upgrade(C.TURNLOCK_WAIT_NEVER, func(upgrade func() C.int32_t) error {
		_, err := call(upgrade)
		return err
	})
}

func (hold *Hold) upgrade(limit C.uint32_t, by func(upgrade func() C.int32_t) error) error {
	hold.lock.Lock()
	defer hold.lock.Unlock()
	if hold.hold == nil {
		return released()
	}
	if err := hold.of.enter(); err != nil {
		return err
	}
	defer hold.of.inside.Done()
	var native C.turnlock_acquired
	native.size = C.sizeof_turnlock_acquired
	err := by(func() C.int32_t { return C.turnlock_hold_upgrade(hold.hold, limit, 0, &native) })
	if err == nil {
		hold.acquired = acquiredOf(&native)
	}
	return err
}

func (hold *Hold) waitAt(ctx context.Context, condition *Condition) (Acquired, bool, error) {
	hold.lock.Lock()
	defer hold.lock.Unlock()
	if hold.hold == nil {
		return Acquired{}, false, released()
	}
	if err := hold.of.enter(); err != nil {
		return Acquired{}, true, err
	}
	defer hold.of.inside.Done()
	acquired, isHeld, err := condition.waitBy(ctx, hold.hold)
	if !isHeld {
		hold.of.forget(hold.hold)
		hold.hold = nil
	} else if acquired.FencingToken != 0 {
		hold.acquired = acquired
	}
	return acquired, isHeld, err
}

// Downgrade makes the hold less than it is: exclusive to upgradable or shared, upgradable to shared. No other holder
// writes in between.
func (hold *Hold) Downgrade(mode Mode) error {
	_, err := hold.with(func(hold *C.turnlock_hold) C.int32_t { return C.turnlock_hold_downgrade(hold, C.uint32_t(mode)) })
	return err
}
