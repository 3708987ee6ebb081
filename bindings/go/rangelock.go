package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
)

// RangeLock is a lock of ranges of numbers in a lock file: who wants a range waits for the earlier ones that overlap with it,
// unless both only read. Goroutines that have a part by one object exclude each other as those of several objects do.
type RangeLock struct {
	parts
	handle *C.turnlock_rangelock
}

// RangeLock opens the range lock of this name (1 to 63 bytes of UTF-8), or creates it. options may be nil.
func (file *File) RangeLock(name string, options *LockOptions) (*RangeLock, error) {
	if options == nil {
		options = &LockOptions{}
	}
	if err := withoutNUL(options.Label, ErrInvalidArgument, "label"); err != nil {
		return nil, err
	}
	native := C.turnlock_rangelock_options{size: C.sizeof_turnlock_rangelock_options}
	if options.MustExist {
		native.flags |= C.TURNLOCK_RANGELOCK_MUST_EXIST
	}
	native.flags |= options.OnDeath.flags()
	ranges := &RangeLock{}
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_rangelock_open(file, name, &native, &ranges.handle)
	})
	if err != nil {
		return nil, err
	}
	handle := ranges.handle
	err = ranges.openParts(file, options.Label, func() C.int32_t { return C.turnlock_rangelock_close(handle) }, partCalls{
		unlock: func(who *C.turnlock_participant) C.int32_t { return C.turnlock_rangelock_unlock_as(handle, who) },
		markConsistent: func(who *C.turnlock_participant) C.int32_t {
			return C.turnlock_rangelock_mark_consistent_as(handle, who)
		},
		isContended: func(who *C.turnlock_participant) C.int32_t { return C.turnlock_rangelock_is_contended_as(handle, who) },
		resetFor:    func(limit C.uint64_t) C.int32_t { return C.turnlock_rangelock_reset_for(handle, limit) },
		previousOwner: func(owner *C.turnlock_previous_owner) C.int32_t {
			return C.turnlock_rangelock_previous_owner(handle, owner)
		},
		holders: func(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t {
			return C.turnlock_rangelock_holders(handle, capacity, infos, count)
		},
		waiters: func(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t {
			return C.turnlock_rangelock_waiters(handle, capacity, infos, count)
		},
	})
	if err != nil {
		return nil, err
	}
	return ranges, nil
}

// Acquire takes the range from start to before end (RangeEnd: to the end) as mode says (Exclusive or Shared), or waits for it until ctx is done; then
// nothing is left in the queue, and the error is ctx.Err().
func (ranges *RangeLock) Acquire(ctx context.Context, start, end uint64, mode Mode) (*Part, error) {
	return ranges.acquire(ctx, start, end, mode, true)
}

// TryAcquire takes it if that needs no waiting; else the error is ErrWouldBlock.
func (ranges *RangeLock) TryAcquire(start, end uint64, mode Mode) (*Part, error) {
	return ranges.acquire(context.Background(), start, end, mode, false)
}

func (ranges *RangeLock) acquire(ctx context.Context, start, end uint64, mode Mode, waits bool) (*Part, error) {
	return ranges.take(ctx, mode, waits, [2]entry{
		func(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t {
			return C.turnlock_rangelock_try_lock_exclusive_as(ranges.handle, who, C.uint64_t(start), C.uint64_t(end), acquired)
		},
		func(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t {
			return C.turnlock_rangelock_lock_exclusive_as(ranges.handle, who, C.uint64_t(start), C.uint64_t(end), acquired)
		},
	}, [2]entry{
		func(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t {
			return C.turnlock_rangelock_try_lock_shared_as(ranges.handle, who, C.uint64_t(start), C.uint64_t(end), acquired)
		},
		func(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t {
			return C.turnlock_rangelock_lock_shared_as(ranges.handle, who, C.uint64_t(start), C.uint64_t(end), acquired)
		},
	})
}
