package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"math"
	"unsafe"
)

// RangeEnd is the end of a range that reaches to the end, the last number included.
const RangeEnd uint64 = math.MaxUint64

// parts is what range locks, keyed locks and group locks have in common: several holds at once, by one object too.
type parts struct{ base }

func (l *parts) open(file *File, handle unsafe.Pointer, label string, closeHandle func() C.int32_t) error {
	err := l.base.open(file, handle, label, closeHandle)
	// A waiter for one part does not hinder a caller that wants another.
	l.turnstile = nil
	return err
}

// Part is a part of a lock that is held, a range or a key, by whichever goroutine has the Part. Its methods give ErrNotOwner
// once it is released.
type Part struct{ acquisition }

func (l *parts) take(ctx context.Context, wanted wanted, waits bool) (*Part, error) {
	hold, acquired, err := l.base.take(ctx, wanted, waits)
	if err != nil {
		return nil, err
	}
	return &Part{acquisition{of: &l.base, hold: hold, acquired: acquired}}, nil
}

// Reset marks consistent whatever dead participants left, while nothing of the lock is held: the data were looked after, or
// given up.
func (l *parts) Reset(ctx context.Context) error { return l.reset(ctx) }

// PreviousOwner is the participant that died last, holding a part exclusively or inside a group; nil if none ever did.
func (l *parts) PreviousOwner() (*DeadOwner, error) { return l.previousOwner() }

// Holders are the participants that have a part or are inside now, and as what.
func (l *parts) Holders() ([]ParticipantInfo, error) { return l.holders() }

// Waiters are the participants that wait now.
func (l *parts) Waiters() ([]ParticipantInfo, error) { return l.waiters() }
