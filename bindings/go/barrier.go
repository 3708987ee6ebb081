package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"errors"
	"unsafe"
)

// BarrierOptions says how to open, or create, a barrier.
type BarrierOptions struct {
	// Parties is how many parties it has, ErrKind if it exists and has another number; 0: as many as it has, and it must exist.
	Parties   uint32
	MustExist bool
}

// Barrier is a barrier in a lock file: so many parties wait until all of them have come, then all go on, and it can be used
// again. A party is a goroutine that waits, of whichever process.
//
// The death of a process that waits, or has waited here before and has the file open still, breaks the barrier for all; so
// does a context that ends the wait of one. Those that wait, and those that come until a Reset, get ErrBrokenBarrier, whose
// story says who it was.
type Barrier struct{ base }

// Barrier opens the barrier of this name (1 to 63 bytes of UTF-8), or creates it. options may be nil.
func (file *File) Barrier(name string, options *BarrierOptions) (*Barrier, error) {
	if options == nil {
		options = &BarrierOptions{}
	}
	var flags C.uint32_t
	if options.MustExist {
		flags = C.TURNLOCK_BARRIER_MUST_EXIST
	}
	var handle *C.turnlock_barrier
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_barrier_open(file, name, C.uint32_t(options.Parties), flags, &handle)
	})
	if err != nil {
		return nil, err
	}
	barrier := &Barrier{base{kind: "barrier"}}
	err = barrier.open(file, unsafe.Pointer(handle), "", func() C.int32_t { return C.turnlock_barrier_close(handle) })
	if err != nil {
		return nil, err
	}
	return barrier, nil
}

func (barrier *Barrier) native() *C.turnlock_barrier {
	return (*C.turnlock_barrier)(unsafe.Pointer(barrier.handle))
}

// Wait waits until all parties have come, and says whether this one was the last: that is so for one of them. When ctx is done
// before, the error is ctx.Err(), and the barrier is broken for the others. A ctx that is done already breaks nothing.
func (barrier *Barrier) Wait(ctx context.Context) (bool, error) {
	var isLast C.uint32_t
	err := barrier.waitOnThread(ctx, func() C.int32_t {
		return C.turnlock_barrier_wait(barrier.native(), C.TURNLOCK_WAIT_FOREVER, 0, &isLast)
	})
	return isLast != 0, err
}

// Abort breaks it: those that wait, and those that come until a Reset, get ErrBrokenBarrier.
func (barrier *Barrier) Abort() error {
	return barrier.onThread(func() C.int32_t { return C.turnlock_barrier_abort(barrier.native()) })
}

// Reset opens it anew, whether it is broken or not. Those that wait get ErrBrokenBarrier; the deaths so far are forgotten.
func (barrier *Barrier) Reset() error {
	return barrier.onThread(func() C.int32_t { return C.turnlock_barrier_reset(barrier.native()) })
}

// BarrierState is a barrier at one moment.
type BarrierState struct {
	// Parties is how many it has, and Waiting is how many of them wait.
	Parties, Waiting uint32
	IsBroken         bool
}

// State is what the barrier is like now.
func (barrier *Barrier) State() (BarrierState, error) {
	var parties, waiting C.uint32_t
	_, err := barrier.with(func() C.int32_t { return C.turnlock_barrier_query(barrier.native(), &parties, &waiting) })
	isBroken := errors.Is(err, ErrBrokenBarrier)
	return BarrierState{uint32(parties), uint32(waiting), isBroken}, unless(err, ErrBrokenBarrier)
}

// Waiters are the participants that wait now.
func (barrier *Barrier) Waiters() ([]ParticipantInfo, error) { return barrier.waiters() }
