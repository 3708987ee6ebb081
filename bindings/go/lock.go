package turnlock

// #include <turnlock.h>
//
// // Written down here, in memory of C: what Go passes to C does not point to memory of Go.
// static int32_t acquire(const turnlock_hold *hold, turnlock_request request, turnlock_range range, const void *key,
//                        size_t key_size, turnlock_acquired *acquired) {
//   turnlock_key keyed = {key, key_size};
//   request.ranges = &range;
//   request.keys = &keyed;
//   return turnlock_hold_acquire(hold, &request, acquired);
// }
import "C"

import (
	"context"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// DeathPolicy is what a holder's death means for the next one.
type DeathPolicy uint32

const (
	// AnyOnDeath is whichever the lock has, and ReleaseOnDeath if it is created now.
	AnyOnDeath DeathPolicy = iota
	// InformOnDeath: the next holder is told (OwnerDied), and marks the data consistent before it unlocks; else the lock is
	// closed for everyone. All who take such a lock have to know it: sync.Locker does not show the notice.
	InformOnDeath
	// ReleaseOnDeath: the next holder is told, and has nothing to mark consistent.
	ReleaseOnDeath
)

// flags are those of the library, which are the same for every kind.
func (policy DeathPolicy) flags() C.uint32_t {
	switch policy {
	case AnyOnDeath:
		return C.TURNLOCK_MUTEX_RELEASE_BY_DEFAULT
	case InformOnDeath:
		return C.TURNLOCK_MUTEX_INFORM_ON_DEATH
	case ReleaseOnDeath:
		return C.TURNLOCK_MUTEX_RELEASE_ON_DEATH
	}
	// None that the library knows.
	return 1 << 31
}

// LockOptions are what locks of every kind are opened with.
type LockOptions struct {
	MustExist bool
	// OnDeath is what a holder's death must mean (ErrKind, if the lock exists and it means something else). Nothing: whatever
	// it does, and ReleaseOnDeath if the lock is created now.
	OnDeath DeathPolicy
	// Label is what the holds of this object call themselves; "" = the file's label.
	Label string
}

// base is an open lock of any kind. What it holds belongs to holds of the library, which any goroutine may release: one for
// each acquisition; or one for the object, where it is held by one at a time.
type base struct {
	file  *File
	label string
	// part tells which part of the lock a participant has; nil where it has all of it.
	part partOf
	// kind is what errors call it; "": a lock.
	kind string
	// slot is which slot the object's hold takes; nil: a free one.
	slot *uint32
	// handle is nil while nothing is open.
	handle      *C.turnlock_lock
	closeHandle func() C.int32_t
	// isSingle: one holds it at a time, by the object's hold; else each acquisition has a hold.
	isSingle bool
	// turnstile is full while a goroutine tries or waits in the library, and while own holds the lock. So a crowd of
	// goroutines takes one slot more than those that are inside. It is nil where each of them waits in the library.
	turnstile chan struct{}

	// Over what follows. closing is closed before the handles are: no call goes in after it, and the calls inside go out.
	mutex sync.Mutex
	// own is the object's hold; nil where each acquisition has one.
	own *C.turnlock_hold
	// holder is the hold that has a lock which is single: own, or one that waited at a condition and has it again. acquired
	// is what came with it.
	holder   *C.turnlock_hold
	acquired Acquired
	held     int
	closing  chan struct{}
	inside   sync.WaitGroup
}

// open takes over a lock that was opened in the file.
func (l *base) open(file *File, handle unsafe.Pointer, label string, closeHandle func() C.int32_t) error {
	if err := file.keep(); err != nil {
		_ = closeHandle()
		return err
	}
	l.file, l.label, l.closeHandle = file, label, closeHandle
	l.handle = (*C.turnlock_lock)(handle)
	l.turnstile = make(chan struct{}, 1)
	l.closing = make(chan struct{})
	runtime.SetFinalizer(l, (*base).Close)
	return nil
}

// enter keeps the handles open until inside.Done.
func (l *base) enter() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.handle == nil || isClosed(l.closing) {
		return l.closed()
	}
	l.inside.Add(1)
	return nil
}

func (l *base) closed() error {
	if l.kind == "" {
		return closed("lock")
	}
	return closed(l.kind)
}

// with calls the library while the handles are open.
func (l *base) with(function func() C.int32_t) (Status, error) {
	if err := l.enter(); err != nil {
		return ErrClosed, err
	}
	defer l.inside.Done()
	return call(function)
}

// wanted is what is acquired of a lock: all of it exclusively, but for what is said here.
type wanted struct {
	mode    Mode
	permits uint32
	// bounds are of a range lock, key is of a keyed lock; else nil. group is of a group lock; else 0.
	bounds *[2]uint64
	key    []byte
	group  uint64
}

func (l *base) acquire(hold *C.turnlock_hold, wanted wanted, wait C.uint32_t, acquired *C.turnlock_acquired) C.int32_t {
	request := C.turnlock_request{
		size:    C.sizeof_turnlock_request,
		lock:    l.handle,
		mode:    C.uint32_t(wanted.mode),
		permits: C.uint32_t(wanted.permits),
		wait:    wait,
		group:   C.uint64_t(wanted.group),
	}
	var bounds C.turnlock_range
	if wanted.bounds != nil {
		bounds.start, bounds.end = C.uint64_t(wanted.bounds[0]), C.uint64_t(wanted.bounds[1])
		request.range_count = 1
	}
	var key unsafe.Pointer
	if wanted.key != nil {
		request.key_count = 1
	}
	if len(wanted.key) > 0 {
		key = unsafe.Pointer(&wanted.key[0])
	}
	return C.acquire(hold, request, bounds, key, C.size_t(len(wanted.key)), acquired)
}

// take acquires what is wanted, waiting until ctx is done if it waits at all, and gives the hold that has it then.
func (l *base) take(ctx context.Context, wanted wanted, waits bool) (hold *C.turnlock_hold, acquired Acquired, err error) {
	if err = l.enter(); err != nil {
		return nil, acquired, err
	}
	defer l.inside.Done()
	if err = ctx.Err(); err != nil {
		return nil, acquired, err
	}
	if err = l.throughTurnstile(ctx, waits); err != nil {
		return nil, acquired, err
	}
	defer func() {
		if err != nil || !l.isSingle {
			l.leaveTurnstile()
		}
	}()
	if hold, err = l.hold(); err != nil {
		return nil, acquired, err
	}
	var native C.turnlock_acquired
	native.size = C.sizeof_turnlock_acquired
	// Most locks are free, and need no thread to watch over the wait.
	status, err := call(func() C.int32_t { return l.acquire(hold, wanted, C.TURNLOCK_WAIT_NEVER, &native) })
	if status == ErrWouldBlock && waits {
		_, err = l.wait(ctx, hold, func() C.int32_t {
			return l.acquire(hold, wanted, C.TURNLOCK_WAIT_FOREVER, &native)
		})
	}
	if err != nil {
		l.drop(hold)
		return nil, acquired, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.held++
	acquired = acquiredOf(&native)
	if l.isSingle {
		l.holder, l.acquired = hold, acquired
	}
	return hold, acquired, nil
}

func (l *base) throughTurnstile(ctx context.Context, waits bool) error {
	if l.turnstile == nil {
		return nil
	}
	if !waits {
		select {
		case l.turnstile <- struct{}{}:
			return nil
		default:
			return &Error{ErrWouldBlock, "another goroutine has the lock, or waits for it"}
		}
	}
	select {
	case l.turnstile <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.closing:
		return l.closed()
	}
}

func (l *base) leaveTurnstile() {
	if l.turnstile != nil {
		<-l.turnstile
	}
}

// hold is the object's, or one of the acquisition's own.
func (l *base) hold() (*C.turnlock_hold, error) {
	if l.isSingle {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return l.own, nil
	}
	return l.newHold()
}

func (l *base) newHold() (hold *C.turnlock_hold, err error) {
	err = l.file.kept(func(file *C.turnlock_file) C.int32_t { return openHold(file, l.label, l.slot, &hold) })
	return hold, err
}

// drop closes a hold that holds nothing, if it is not the object's. Whether it is.
func (l *base) drop(hold *C.turnlock_hold) bool {
	l.mutex.Lock()
	isOwn := hold == l.own
	l.mutex.Unlock()
	if !isOwn {
		C.turnlock_hold_close(hold)
	}
	return isOwn
}

// wait waits in the library, on this goroutine's thread; another goroutine cancels it.
func (l *base) wait(ctx context.Context, hold *C.turnlock_hold, lock func() C.int32_t) (Status, error) {
	over := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
		case <-l.closing:
		case <-over:
			return
		}
		C.turnlock_hold_cancel(hold)
	}()
	status, err := call(lock)
	close(over)
	<-watched
	// The cancel may have come too late for this wait; it is not for the next one.
	C.turnlock_hold_clear_cancel(hold)
	if status == ErrCancelled {
		if err = ctx.Err(); err == nil {
			err = l.closed()
		}
	}
	return status, err
}

// give ends what a hold has, by one function of the library. Whether that is over.
func (l *base) give(hold *C.turnlock_hold, release func() C.int32_t) (bool, error) {
	_, err := l.with(release)
	if !hasUnlocked(err) {
		return false, err
	}
	l.forget(hold)
	return true, err
}

// forget is what follows when a hold has the lock no more.
func (l *base) forget(hold *C.turnlock_hold) {
	isOwn := l.drop(hold)
	l.mutex.Lock()
	l.held--
	if l.holder == hold {
		l.holder = nil
	}
	l.mutex.Unlock()
	if isOwn {
		l.leaveTurnstile()
	}
}

// hasUnlocked is whether an unlock that gave this error has unlocked: one that reports what happened to the file, or that
// the lease of a linked lock has ended, has.
func hasUnlocked(err error) bool {
	if err == nil {
		return true
	}
	status := err.(*Error).Status
	return status == ErrDamaged || status == ErrReplaced || status == ErrLeaseEnded
}

func (l *base) reset(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if status, err := l.resetFor(50 * time.Millisecond); status != ErrTimedOut {
			return err
		}
	}
}

func (l *base) resetFor(limit time.Duration) (Status, error) {
	return l.with(func() C.int32_t { return C.turnlock_lock_reset_for(l.handle, nanoseconds(limit)) })
}

// Close closes the lock and its holds. Goroutines that wait get ErrClosed. While it is held it fails with ErrStillHeld, and
// nothing is done; to close it again does nothing.
func (l *base) Close() error {
	isClosing, err := l.beginClose()
	if !isClosing {
		return err
	}
	return l.finishClose()
}

func (l *base) beginClose() (bool, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.handle == nil || isClosed(l.closing) {
		return false, nil
	}
	if l.held > 0 {
		return false, &Error{ErrStillHeld, "the lock is held: unlock it before it is closed"}
	}
	close(l.closing)
	return true, nil
}

// finishClose waits for the calls inside, and closes the handles.
func (l *base) finishClose() error {
	l.inside.Wait()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	// A wait that got the lock in spite of the cancel: its goroutine has it, and may still unlock it.
	if l.held > 0 {
		l.closing = make(chan struct{})
		return &Error{ErrStillHeld, "the lock was taken while it was being closed: unlock it, and close it again"}
	}
	runtime.SetFinalizer(l, nil)
	if l.own != nil {
		C.turnlock_hold_close(l.own)
	}
	_, err := call(l.closeHandle)
	l.file.drop()
	return err
}

func isClosed(channel chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}
