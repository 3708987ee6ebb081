package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"unsafe"
)

// ConditionOptions says how to open, or create, a condition.
type ConditionOptions struct{ MustExist bool }

// Condition is a condition in a lock file, as a sync.Cond between processes: the holder of a lock unlocks it and waits, in
// one step, until another participant notifies it; then it has the lock again. It is used with one lock at a time.
//
// Waiters are notified in the order in which they came, and none without a notification. The notification of a waiter that
// dies before it has the lock goes to the next one.
type Condition struct {
	base
	// waits is how many goroutines wait; guarded by the mutex of base.
	waits int
}

// Condition opens the condition of this name (1 to 63 bytes of UTF-8), or creates it. Its lock has another name. options may be
// nil.
func (file *File) Condition(name string, options *ConditionOptions) (*Condition, error) {
	var flags C.uint32_t
	if options != nil && options.MustExist {
		flags = C.TURNLOCK_CONDITION_MUST_EXIST
	}
	var handle *C.turnlock_condition
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_condition_open(file, name, flags, &handle)
	})
	if err != nil {
		return nil, err
	}
	condition := &Condition{base: base{kind: "condition"}}
	err = condition.open(file, unsafe.Pointer(handle), "", func() C.int32_t { return C.turnlock_condition_close(handle) })
	if err != nil {
		return nil, err
	}
	return condition, nil
}

func (condition *Condition) native() *C.turnlock_condition {
	return (*C.turnlock_condition)(unsafe.Pointer(condition.handle))
}

// ConditionLock is a lock that a Condition waits with, which the caller holds exclusively: a *Mutex; a *RWMutex after its
// Lock; the *Hold of a RWMutex; the OwnedLocker of a RecursiveMutex, which is unlocked whole.
type ConditionLock interface {
	// waitAt waits at a condition, and says whether the lock is held again.
	waitAt(ctx context.Context, condition *Condition) (Acquired, bool, error)
}

// Wait unlocks, waits until it is notified, and locks again. When ctx is done it waits for no notification any more, and the
// error is ctx.Err(); for the lock it waits all the same. A ctx that is done already is not waited for, and the lock stays
// locked.
//
// Acquired is what came with the lock when it was taken again: the last holder may have died. Meanwhile other goroutines take
// the lock by the same object, too; each goroutine that waits takes a slot of the file.
//
// The lock is held again also where Wait fails, but for ErrNotRecoverable, ErrDamaged, ErrReplaced, ErrSystem and
// ErrPermission: then it could not be taken, and is not unlocked.
func (condition *Condition) Wait(ctx context.Context, lock ConditionLock) (Acquired, error) {
	if err := condition.enter(); err != nil {
		return Acquired{}, err
	}
	defer condition.inside.Done()
	if err := ctx.Err(); err != nil {
		return Acquired{}, err
	}
	condition.count(1)
	defer condition.count(-1)
	acquired, _, err := lock.waitAt(ctx, condition)
	return acquired, err
}

// WaitUntil waits until isSo, which is called with the lock held: at once, and after each notification. An error is that of
// Wait.
func (condition *Condition) WaitUntil(ctx context.Context, lock ConditionLock, isSo func() bool) error {
	for !isSo() {
		if _, err := condition.Wait(ctx, lock); err != nil {
			return err
		}
	}
	return nil
}

func (condition *Condition) count(more int) {
	condition.mutex.Lock()
	defer condition.mutex.Unlock()
	condition.waits += more
}

// waitBy waits by a hold that has the lock. Whether it has it again.
func (condition *Condition) waitBy(ctx context.Context, hold *C.turnlock_hold) (Acquired, bool, error) {
	var native C.turnlock_acquired
	native.size = C.sizeof_turnlock_acquired
	_, err := condition.wait(ctx, hold, func() C.int32_t {
		return C.turnlock_hold_wait(hold, condition.native(), C.TURNLOCK_WAIT_FOREVER, 0, &native)
	})
	isHeld := err == nil || C.turnlock_hold_is_contended(hold) >= 0
	if !isHeld {
		// What cannot be told to be held is unlocked, as far as it is.
		C.turnlock_hold_release(hold)
	}
	return acquiredOf(&native), isHeld, err
}

// NotifyOne notifies the participant that has waited longest, and says how many those were, 0 or 1. The lock need not be held.
func (condition *Condition) NotifyOne() (int, error) {
	var notified C.uint32_t
	err := condition.onThread(func() C.int32_t { return C.turnlock_condition_notify_one(condition.native(), &notified) })
	return int(notified), err
}

// NotifyAll notifies all participants that wait by now, the one that has waited longest first, and says how many those were.
func (condition *Condition) NotifyAll() (int, error) {
	var notified C.uint32_t
	_, err := condition.with(func() C.int32_t { return C.turnlock_condition_notify_all(condition.native(), &notified) })
	return int(notified), err
}

// Waiters are the participants that wait now, the one that has waited longest first.
func (condition *Condition) Waiters() ([]ParticipantInfo, error) { return condition.waiters() }

// Close closes the condition. Goroutines that wait get ErrClosed when they have their lock again, which the caller may hold;
// to close it again does nothing.
func (condition *Condition) Close() error {
	isClosing, err := condition.beginClose()
	if !isClosing {
		return err
	}
	condition.mutex.Lock()
	waits := condition.waits
	condition.mutex.Unlock()
	if waits == 0 {
		return condition.finishClose()
	}
	// They may wait for the lock until the caller unlocks it.
	go func() { _ = condition.finishClose() }()
	return nil
}
