package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"math"
	"sync"
	"time"
)

// RangeEnd is the end of a range that reaches to the end, the last number included.
const RangeEnd uint64 = math.MaxUint64

// parts is what range locks and keyed locks have in common: several holds of different parts at once, by one object too.
type parts struct {
	several
	calls partCalls
}

// partCalls are the functions of the library for one kind of lock of parts.
type partCalls struct {
	unlock, markConsistent, isContended func(who *C.turnlock_participant) C.int32_t
	resetFor                            func(limit C.uint64_t) C.int32_t
	previousOwner                       func(owner *C.turnlock_previous_owner) C.int32_t
	holders, waiters                    listing
}

type listing = func(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t

// openParts opens the participants of a lock whose handle is open.
func (l *parts) openParts(file *File, label string, closeLock func() C.int32_t, calls partCalls) error {
	l.calls = calls
	err := l.several.open(file, label, closeLock)
	// Who waits for one part is in nobody's way who wants another.
	l.turnstile = nil
	return err
}

// Part is a part of a lock that is held, a range or a key, by whichever goroutine has the Part. Its methods give ErrNotOwner
// once it is released.
type Part struct {
	of *parts

	// Over what follows; who is nil once it is released.
	lock     sync.Mutex
	who      *C.turnlock_participant
	acquired Acquired
}

// take takes a part as mode says. Of each mode there are two functions: without waiting, and waiting.
func (l *parts) take(ctx context.Context, mode Mode, waits bool, exclusive, shared [2]entry) (*Part, error) {
	var entries [2]entry
	switch mode {
	case Exclusive:
		entries = exclusive
	case Shared:
		entries = shared
	default:
		return nil, &Error{ErrInvalidArgument, "a part is taken as Exclusive or Shared"}
	}
	if !waits {
		entries[1] = nil
	}
	who, acquired, err := l.several.take(ctx, entries[0], entries[1])
	if err != nil {
		return nil, err
	}
	return &Part{of: l, who: who, acquired: acquired}, nil
}

// Acquired is what came with it; OwnerDied, if one died that held some of it exclusively, until that is marked consistent.
func (part *Part) Acquired() Acquired { return part.acquired }

// Release unlocks. What a dead owner left and nobody marked consistent, the next one is told of again.
func (part *Part) Release() error {
	part.lock.Lock()
	defer part.lock.Unlock()
	who := part.who
	if who == nil {
		return &Error{ErrNotOwner, "the part was released before"}
	}
	isOver, err := part.of.give(who, func() C.int32_t { return part.of.calls.unlock(who) })
	if isOver {
		part.who = nil
	}
	return err
}

// MarkConsistent says, holding the part exclusively after Acquired().OwnerDied, that its data are well again. Of a death in
// what is only partly held nothing is marked.
func (part *Part) MarkConsistent() error {
	_, err := part.with(part.of.calls.markConsistent)
	return err
}

// IsContended is whether another participant waits for something of it.
func (part *Part) IsContended() (bool, error) {
	status, err := part.with(part.of.calls.isContended)
	return status == C.TURNLOCK_CONTENDED, err
}

func (part *Part) with(function func(*C.turnlock_participant) C.int32_t) (Status, error) {
	part.lock.Lock()
	defer part.lock.Unlock()
	if part.who == nil {
		return ErrNotOwner, &Error{ErrNotOwner, "the part was released before"}
	}
	return part.of.several.with(func() C.int32_t { return function(part.who) })
}

// Reset marks all parts consistent that dead participants left, beside nobody: the data were looked after, or given up.
func (l *parts) Reset(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		status, err := l.with(func() C.int32_t { return l.calls.resetFor(nanoseconds(50 * time.Millisecond)) })
		if status != ErrTimedOut {
			return err
		}
	}
}

// PreviousOwner is who died holding a part exclusively, last; nil if nobody ever did.
func (l *parts) PreviousOwner() (*DeadOwner, error) {
	return deadOwner(l.with, func(owner *C.turnlock_previous_owner) C.int32_t { return l.calls.previousOwner(owner) })
}

// Holders is who has a part now, and as what.
func (l *parts) Holders() ([]ParticipantInfo, error) {
	return listed(l.with, func(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t {
		return l.calls.holders(capacity, infos, count)
	})
}

// Waiters is who waits for a part now.
func (l *parts) Waiters() ([]ParticipantInfo, error) {
	return listed(l.with, func(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t {
		return l.calls.waiters(capacity, infos, count)
	})
}
