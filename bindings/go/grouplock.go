package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"unsafe"
)

// GroupLock is a lock that any number of members of one group have together, and never two of different groups; first come,
// first served. A group is any number, and need not be created. For programs that agree within a group and not across: two
// versions of a format, the phases of a batch.
//
// The death of a member is told to each that enters afterwards, of whichever group, until one that was told has called
// MarkConsistent. To release it without that closes nothing.
type GroupLock struct{ parts }

// Member is a place inside a group lock, held by whichever goroutine has the Member. Its methods give ErrNotOwner once it is
// released. MarkConsistent gives ErrNotInconsistent where another member has marked it before.
type Member struct{ acquisition }

// GroupLock opens the group lock of this name (1 to 63 bytes of UTF-8), or creates it. options may be nil.
func (file *File) GroupLock(name string, options *LockOptions) (*GroupLock, error) {
	if options == nil {
		options = &LockOptions{}
	}
	if err := withoutNUL(options.Label, ErrInvalidArgument, "label"); err != nil {
		return nil, err
	}
	native := C.turnlock_grouplock_options{size: C.sizeof_turnlock_grouplock_options}
	if options.MustExist {
		native.flags |= C.TURNLOCK_GROUPLOCK_MUST_EXIST
	}
	native.flags |= options.OnDeath.flags()
	var handle *C.turnlock_grouplock
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_grouplock_open(file, name, &native, &handle)
	})
	if err != nil {
		return nil, err
	}
	groups := &GroupLock{parts{base{part: groupOf}}}
	err = groups.open(file, unsafe.Pointer(handle), options.Label, func() C.int32_t { return C.turnlock_grouplock_close(handle) })
	if err != nil {
		return nil, err
	}
	return groups, nil
}

// Acquire enters as a member of group, beside others of that group, or waits for earlier participants of other groups until ctx is
// done; then nothing is left in the queue, and the error is ctx.Err().
func (groups *GroupLock) Acquire(ctx context.Context, group uint64) (*Member, error) {
	return groups.enter(ctx, group, true)
}

// TryAcquire enters if that needs no waiting; else the error is ErrWouldBlock.
func (groups *GroupLock) TryAcquire(group uint64) (*Member, error) {
	return groups.enter(context.Background(), group, false)
}

func (groups *GroupLock) enter(ctx context.Context, group uint64, waits bool) (*Member, error) {
	hold, acquired, err := groups.base.take(ctx, wanted{group: group}, waits)
	if err != nil {
		return nil, err
	}
	return &Member{acquisition{of: &groups.base, hold: hold, acquired: acquired}}, nil
}

// Abandon leaves as a dying member does, since the data were left half-done: those that enter next are told.
func (member *Member) Abandon() error {
	return member.release(func(hold *C.turnlock_hold) C.int32_t { return C.turnlock_hold_abandon(hold) })
}
