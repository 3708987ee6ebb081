package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"sync"
	"time"
	"unsafe"
)

// RWMutexOptions says how to open, or create, a reader/writer lock. One that exists keeps what it was created with.
type RWMutexOptions struct {
	LockOptions
	// Patience is how long a waiter lets others pass before it is queued for good. 0 = whatever the lock has, and 1
	// millisecond if it is created now; another one than a lock has that exists is ErrKind.
	Patience time.Duration
	// Strict: no patience, strictly first come first served.
	Strict bool
}

// RWMutex is a reader/writer lock in a lock file: several goroutines of all processes that read, or one that writes.
// A caller waits for the earlier ones that stand in its way. Lock and the like are those of a sync.RWMutex; Acquire
// gives a Hold, which can be upgraded and downgraded.
type RWMutex struct {
	base
	// writer and readers are the holds of Lock and RLock; guarded by the mutex of base.
	writer  *Hold
	readers []*Hold
}

// RWMutex opens the reader/writer lock of this name (1 to 63 bytes of UTF-8), or creates it. options may be nil.
func (file *File) RWMutex(name string, options *RWMutexOptions) (*RWMutex, error) {
	if options == nil {
		options = &RWMutexOptions{}
	}
	if err := withoutNUL(options.Label, ErrInvalidArgument, "label"); err != nil {
		return nil, err
	}
	native := C.turnlock_rwlock_options{
		size:        C.sizeof_turnlock_rwlock_options,
		patience_ns: nanoseconds(options.Patience),
	}
	if options.MustExist {
		native.flags |= C.TURNLOCK_RWLOCK_MUST_EXIST
	}
	if options.Strict {
		native.flags |= C.TURNLOCK_RWLOCK_STRICT
	}
	native.flags |= options.OnDeath.flags()
	var handle *C.turnlock_rwlock
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_rwlock_open(file, name, &native, &handle)
	})
	if err != nil {
		return nil, err
	}
	mutex := &RWMutex{}
	err = mutex.open(file, unsafe.Pointer(handle), options.Label, func() C.int32_t { return C.turnlock_rwlock_close(handle) })
	if err != nil {
		return nil, err
	}
	return mutex, nil
}

// Acquire takes the lock as mode says (Exclusive, Shared or Upgradable), or waits for it until ctx is done; then nothing is
// left in the queue, and the error is ctx.Err().
func (mutex *RWMutex) Acquire(ctx context.Context, mode Mode) (*Hold, error) {
	return mutex.holding(ctx, mode, true)
}

// TryAcquire takes the lock if that needs no waiting; else the error is ErrWouldBlock.
func (mutex *RWMutex) TryAcquire(mode Mode) (*Hold, error) {
	return mutex.holding(context.Background(), mode, false)
}

func (mutex *RWMutex) holding(ctx context.Context, mode Mode, waits bool) (*Hold, error) {
	hold, acquired, err := mutex.take(ctx, wanted{mode: mode}, waits)
	if err != nil {
		return nil, err
	}
	return &Hold{acquisition{of: &mutex.base, hold: hold, acquired: acquired}}, nil
}

func (mutex *RWMutex) mustAcquire(mode Mode) *Hold {
	hold, err := mutex.Acquire(context.Background(), mode)
	if err != nil {
		panic(err)
	}
	return hold
}

func (mutex *RWMutex) mayAcquire(mode Mode) *Hold {
	hold, err := mutex.TryAcquire(mode)
	if err != nil && err.(*Error).Status != ErrWouldBlock {
		panic(err)
	}
	return hold
}

// Lock takes the lock to write. It panics with an *Error where Acquire fails. Acquired tells whether the last writer died.
func (mutex *RWMutex) Lock() { mutex.setWriter(mutex.mustAcquire(Exclusive)) }

// TryLock is whether the lock was taken to write, without waiting.
func (mutex *RWMutex) TryLock() bool { return mutex.setWriter(mutex.mayAcquire(Exclusive)) }

func (mutex *RWMutex) setWriter(hold *Hold) bool {
	mutex.base.mutex.Lock()
	defer mutex.base.mutex.Unlock()
	if hold != nil {
		mutex.writer = hold
	}
	return hold != nil
}

// Writer is the hold of Lock, for its holder: to ask what came with it, and to mark consistent. Nil if it has no
// writer.
func (mutex *RWMutex) Writer() *Hold {
	mutex.base.mutex.Lock()
	defer mutex.base.mutex.Unlock()
	return mutex.writer
}

// Unlock ends Lock. It panics with an *Error if the lock is not held so.
func (mutex *RWMutex) Unlock() {
	mutex.base.mutex.Lock()
	hold := mutex.writer
	mutex.writer = nil
	mutex.base.mutex.Unlock()
	hold.mustRelease()
}

func (mutex *RWMutex) waitAt(ctx context.Context, condition *Condition) (Acquired, bool, error) {
	if err := mutex.enter(); err != nil {
		return Acquired{}, false, err
	}
	defer mutex.inside.Done()
	mutex.base.mutex.Lock()
	writer := mutex.writer
	mutex.writer = nil
	mutex.base.mutex.Unlock()
	if writer == nil {
		return Acquired{}, false, &Error{ErrNotOwner,
			"the lock is not held by Lock: lock it first, or wait with the Hold of Acquire"}
	}
	acquired, isHeld, err := writer.waitAt(ctx, condition)
	if isHeld {
		mutex.setWriter(writer)
	}
	return acquired, isHeld, err
}

// RLock takes the lock to read, beside others that do. It panics with an *Error where Acquire fails.
func (mutex *RWMutex) RLock() { mutex.addReader(mutex.mustAcquire(Shared)) }

// TryRLock is whether the lock was taken to read, without waiting.
func (mutex *RWMutex) TryRLock() bool { return mutex.addReader(mutex.mayAcquire(Shared)) }

func (mutex *RWMutex) addReader(hold *Hold) bool {
	mutex.base.mutex.Lock()
	defer mutex.base.mutex.Unlock()
	if hold != nil {
		mutex.readers = append(mutex.readers, hold)
	}
	return hold != nil
}

// RUnlock ends one RLock. It panics with an *Error if the lock is not held so.
func (mutex *RWMutex) RUnlock() {
	mutex.base.mutex.Lock()
	var hold *Hold
	if last := len(mutex.readers) - 1; last >= 0 {
		hold, mutex.readers = mutex.readers[last], mutex.readers[:last]
	}
	mutex.base.mutex.Unlock()
	hold.mustRelease()
}

// RLocker is a sync.Locker whose Lock and Unlock are RLock and RUnlock.
func (mutex *RWMutex) RLocker() sync.Locker { return (*readLocker)(mutex) }

type readLocker RWMutex

func (reader *readLocker) Lock()   { (*RWMutex)(reader).RLock() }
func (reader *readLocker) Unlock() { (*RWMutex)(reader).RUnlock() }

// Reset opens a lock that is not recoverable again, with no other holder, after the data were repaired or given up.
func (mutex *RWMutex) Reset(ctx context.Context) error { return mutex.reset(ctx) }

// PreviousOwner is the writer that died last; nil if no holder ever did.
func (mutex *RWMutex) PreviousOwner() (*DeadOwner, error) { return mutex.previousOwner() }

// Holders is who has the lock now, and as what.
func (mutex *RWMutex) Holders() ([]ParticipantInfo, error) { return mutex.holders() }

// Waiters is who waits for the lock now, and as what. Goroutines that wait for this object are one.
func (mutex *RWMutex) Waiters() ([]ParticipantInfo, error) { return mutex.waiters() }
