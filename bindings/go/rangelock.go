package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"unsafe"
)

// RangeLock is a lock of ranges of numbers in a lock file: a caller waits for the earlier ranges that overlap with its
// own, unless both only read. Goroutines that have a part by one object exclude each other as those of several objects
// do.
type RangeLock struct{ parts }

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
	var handle *C.turnlock_rangelock
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_rangelock_open(file, name, &native, &handle)
	})
	if err != nil {
		return nil, err
	}
	ranges := &RangeLock{parts{base{part: rangeOf}}}
	err = ranges.open(file, unsafe.Pointer(handle), options.Label, func() C.int32_t { return C.turnlock_rangelock_close(handle) })
	if err != nil {
		return nil, err
	}
	return ranges, nil
}

// Acquire takes the range from start to before end (RangeEnd: to the end) as mode says (Exclusive or Shared), or waits for it
// until ctx is done; then nothing is left in the queue, and the error is ctx.Err().
func (ranges *RangeLock) Acquire(ctx context.Context, start, end uint64, mode Mode) (*Part, error) {
	return ranges.take(ctx, wanted{mode: mode, bounds: &[2]uint64{start, end}}, true)
}

// TryAcquire takes it if that needs no waiting; else the error is ErrWouldBlock.
func (ranges *RangeLock) TryAcquire(start, end uint64, mode Mode) (*Part, error) {
	return ranges.take(context.Background(), wanted{mode: mode, bounds: &[2]uint64{start, end}}, false)
}
