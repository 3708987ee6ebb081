package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"math"
	"time"
	"unsafe"
)

// SemaphoreOptions says how to open, or create, a semaphore. One that exists keeps what it was created with.
type SemaphoreOptions struct {
	// Permits is how many there are, if the semaphore is created now; 0 = 1.
	Permits   uint32
	MustExist bool
	// Patience is how long a waiter lets others pass before it is queued for good. 0 = whatever the lock has, and 1
	// millisecond if it is created now; another one than a lock has that exists is ErrKind.
	Patience time.Duration
	// Strict: no patience, strictly first come first served.
	Strict bool
	// Label is what the holds of this object call themselves; "" = the file's label.
	Label string
}

// Semaphore is a number of permits in a lock file, of which goroutines of all processes take some for a while, first come
// first served. Those of a process that dies come back. Its methods are those of golang.org/x/sync/semaphore.Weighted.
type Semaphore struct {
	base
	// taken is which holds have permits by this object, and how many; guarded by the mutex of base.
	taken []permits
}

type permits struct {
	hold  *C.turnlock_hold
	count uint32
}

// Semaphore opens the semaphore of this name (1 to 63 bytes of UTF-8), or creates it. options may be nil.
func (file *File) Semaphore(name string, options *SemaphoreOptions) (*Semaphore, error) {
	if options == nil {
		options = &SemaphoreOptions{}
	}
	if err := withoutNUL(options.Label, ErrInvalidArgument, "label"); err != nil {
		return nil, err
	}
	native := C.turnlock_semaphore_options{
		size:        C.sizeof_turnlock_semaphore_options,
		permits:     C.uint32_t(options.Permits),
		patience_ns: nanoseconds(options.Patience),
	}
	if options.MustExist {
		native.flags |= C.TURNLOCK_SEMAPHORE_MUST_EXIST
	}
	if options.Strict {
		native.flags |= C.TURNLOCK_SEMAPHORE_STRICT
	}
	var handle *C.turnlock_semaphore
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_semaphore_open(file, name, &native, &handle)
	})
	if err != nil {
		return nil, err
	}
	semaphore := &Semaphore{}
	err = semaphore.open(file, unsafe.Pointer(handle), options.Label, func() C.int32_t { return C.turnlock_semaphore_close(handle) })
	if err != nil {
		return nil, err
	}
	return semaphore, nil
}

// Acquire takes n permits, all at once, or waits for them until ctx is done; then nothing is left in the queue, and the error
// is ctx.Err(). ErrPermits for none, or more than there are.
func (semaphore *Semaphore) Acquire(ctx context.Context, n int64) error {
	return semaphore.takeSome(ctx, n, true)
}

// TryAcquire is whether n permits were taken, without waiting. It panics with an *Error where that fails otherwise.
func (semaphore *Semaphore) TryAcquire(n int64) bool {
	err := semaphore.takeSome(context.Background(), n, false)
	if err != nil && err.(*Error).Status != ErrWouldBlock {
		panic(err)
	}
	return err == nil
}

func (semaphore *Semaphore) takeSome(ctx context.Context, n int64, waits bool) error {
	if n < 1 || n > math.MaxUint32 {
		return &Error{ErrPermits, "that many permits cannot be asked for"}
	}
	hold, _, err := semaphore.take(ctx, wanted{permits: uint32(n)}, waits)
	if err != nil {
		return err
	}
	semaphore.mutex.Lock()
	defer semaphore.mutex.Unlock()
	semaphore.taken = append(semaphore.taken, permits{hold, uint32(n)})
	return nil
}

// Release gives n permits back, whichever goroutine took them by this object. ErrTooManyReleased, and nothing is done, if it
// has fewer.
func (semaphore *Semaphore) Release(n int64) error {
	if n < 1 {
		return &Error{ErrInvalidArgument, "at least one permit is given back"}
	}
	back, err := semaphore.pick(n)
	if err != nil {
		return err
	}
	for _, one := range back {
		one := one
		if one.isPart {
			_, err = semaphore.with(func() C.int32_t {
				return C.turnlock_hold_release_permits(one.hold, C.uint32_t(one.count))
			})
		} else {
			_, err = semaphore.give(one.hold, func() C.int32_t { return C.turnlock_hold_release(one.hold) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type returned struct {
	permits
	isPart bool
}

// pick says from which holds n permits come back.
func (semaphore *Semaphore) pick(n int64) ([]returned, error) {
	semaphore.mutex.Lock()
	defer semaphore.mutex.Unlock()
	if semaphore.handle == nil || isClosed(semaphore.closing) {
		return nil, closed("semaphore")
	}
	all := int64(0)
	for _, one := range semaphore.taken {
		all += int64(one.count)
	}
	if n > all {
		return nil, &Error{ErrTooManyReleased, "more permits were to be given back than this object has"}
	}
	var back []returned
	for n > 0 {
		last := &semaphore.taken[len(semaphore.taken)-1]
		if int64(last.count) > n {
			back = append(back, returned{permits{last.hold, uint32(n)}, true})
			last.count -= uint32(n)
			break
		}
		back = append(back, returned{*last, false})
		n -= int64(last.count)
		semaphore.taken = semaphore.taken[:len(semaphore.taken)-1]
	}
	return back, nil
}

func (semaphore *Semaphore) native() *C.turnlock_semaphore {
	return (*C.turnlock_semaphore)(unsafe.Pointer(semaphore.handle))
}

// Permits is how many permits there are, taken or not.
func (semaphore *Semaphore) Permits() (uint32, error) {
	var count C.uint32_t
	_, err := semaphore.with(func() C.int32_t { return C.turnlock_semaphore_permits(semaphore.native(), &count) })
	return uint32(count), err
}

// Resize makes the semaphore have so many permits, for all processes and at once. Those that are taken stay taken.
func (semaphore *Semaphore) Resize(permits uint32) error {
	_, err := semaphore.with(func() C.int32_t {
		return C.turnlock_semaphore_resize(semaphore.native(), C.uint32_t(permits))
	})
	return err
}

// Holders is who has permits now, and how many.
func (semaphore *Semaphore) Holders() ([]ParticipantInfo, error) { return semaphore.holders() }

// Waiters is who waits for permits now, and for how many. Goroutines that wait for this object are one.
func (semaphore *Semaphore) Waiters() ([]ParticipantInfo, error) { return semaphore.waiters() }
