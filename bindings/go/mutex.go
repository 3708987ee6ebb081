package turnlock

// #include <turnlock.h>
import "C"

import (
	"time"
	"unsafe"
)

// MutexOptions says how to open, or create, a mutex. A mutex that exists keeps what it was created with.
type MutexOptions struct {
	LockOptions
	// Patience is how long a waiter lets others pass before it is queued for good. 0 = whatever the lock has, and 1
	// millisecond if it is created now; another one than a lock has that exists is ErrKind.
	Patience time.Duration
	// Strict: no patience, strictly first come first served.
	Strict bool
}

// Mutex is a mutex in a lock file: one at a time, first come first served after a moment of patience. It is a
// sync.Locker. A RecursiveMutex is one that its owner may take again.
type Mutex struct{ exclusive }

// Mutex opens the mutex of this name (1 to 63 bytes of UTF-8), or creates it. options may be nil.
func (file *File) Mutex(name string, options *MutexOptions) (*Mutex, error) {
	mutex := &Mutex{}
	if err := mutex.openAs(file, name, options, 0); err != nil {
		return nil, err
	}
	return mutex, nil
}

// openAs opens it with flags of the library beside those that the options stand for.
func (mutex *Mutex) openAs(file *File, name string, options *MutexOptions, flags C.uint32_t) error {
	if options == nil {
		options = &MutexOptions{}
	}
	if err := withoutNUL(options.Label, ErrInvalidArgument, "label"); err != nil {
		return err
	}
	native := C.turnlock_mutex_options{
		size:        C.sizeof_turnlock_mutex_options,
		flags:       flags,
		patience_ns: nanoseconds(options.Patience),
	}
	if options.MustExist {
		native.flags |= C.TURNLOCK_MUTEX_MUST_EXIST
	}
	if options.Strict {
		native.flags |= C.TURNLOCK_MUTEX_STRICT
	}
	native.flags |= options.OnDeath.flags()
	var handle *C.turnlock_mutex
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_mutex_open(file, name, &native, &handle)
	})
	if err != nil {
		return err
	}
	return mutex.open(file, unsafe.Pointer(handle), options.Label, func() C.int32_t { return C.turnlock_mutex_close(handle) })
}

// Patience is how long waiters let others pass here, as its creator said; 0 is strictly first come first served.
func (mutex *Mutex) Patience() (time.Duration, error) {
	var patience C.uint64_t
	_, err := mutex.with(func() C.int32_t { return C.turnlock_lock_patience(mutex.handle, &patience) })
	return time.Duration(patience), err
}

// StillOwner is whether this host has the mutex still, for its holder, which asks: not, once the lease of a linked mutex has
// ended, from when on another host may have it. What goes out to others needs the fencing token besides.
func (mutex *Mutex) StillOwner() (bool, error) {
	if _, err := mutex.holding(); err != nil {
		return false, err
	}
	status, err := mutex.with(func() C.int32_t {
		return C.turnlock_lock_still_owner(mutex.handle)
	})
	if Status(status) == ErrLeaseEnded {
		return false, nil
	}
	return err == nil, err
}
