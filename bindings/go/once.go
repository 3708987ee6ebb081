package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"unsafe"
)

// OnceOptions says how to open, or create, a once.
type OnceOptions struct {
	MustExist bool
	// AcrossBoots: what is done stays done when the machine boots, for work on a disk, beside which the file lies. Of one
	// that is created now.
	AcrossBoots bool
}

// Once is what is done once, by one participant of all that have the lock file open, as with a sync.Once. If that one dies or
// fails, the next one does it. It stays done until a Reset, or until the machine boots.
type Once struct{ base }

// Once opens the once of this name (1 to 63 bytes of UTF-8), or creates it. options may be nil.
func (file *File) Once(name string, options *OnceOptions) (*Once, error) {
	if options == nil {
		options = &OnceOptions{}
	}
	var flags C.uint32_t
	if options.MustExist {
		flags |= C.TURNLOCK_ONCE_MUST_EXIST
	}
	if options.AcrossBoots {
		flags |= C.TURNLOCK_ONCE_ACROSS_BOOTS
	}
	var handle *C.turnlock_once
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_once_open(file, name, flags, &handle)
	})
	if err != nil {
		return nil, err
	}
	once := &Once{base{kind: "once"}}
	err = once.open(file, unsafe.Pointer(handle), "", func() C.int32_t { return C.turnlock_once_close(handle) })
	if err != nil {
		return nil, err
	}
	return once, nil
}

func (once *Once) native() *C.turnlock_once { return (*C.turnlock_once)(unsafe.Pointer(once.handle)) }

// Do calls work unless it is done, and says whether it was called and is done now. While another participant is at it, Do
// waits until ctx is done, and the error is ctx.Err() then. work is told whether the participant that was at it before died.
//
// If work fails, panics, or ends its goroutine, it is not done, and the next participant does it; the error is that of work.
// Work that calls Do of the same once waits for itself, as with a sync.Once.
//
// To the library a thread of the file's is at it, not the goroutine's, which may move between threads meanwhile.
func (once *Once) Do(ctx context.Context, work func(previousDied bool) error) (done bool, err error) {
	if err = once.enter(); err != nil {
		return false, err
	}
	defer once.inside.Done()
	if err = ctx.Err(); err != nil {
		return false, err
	}
	if isDone, err := once.IsDone(); isDone || err != nil {
		return false, err
	}
	// Goroutines that share this object wait in line for one thread.
	if err = once.throughTurnstile(ctx, true); err != nil {
		return false, err
	}
	defer once.leaveTurnstile()
	t, err := once.file.takeThread()
	if err != nil {
		return false, err
	}
	defer once.file.giveThread(t)
	var status Status
	t.do(func() {
		status, err = once.wait(ctx, t.hold, func() C.int32_t {
			return C.turnlock_once_begin(once.native(), C.TURNLOCK_WAIT_FOREVER, 0)
		})
	})
	if err != nil || status == C.TURNLOCK_DONE {
		return false, err
	}
	once.count(1)
	defer once.count(-1)
	defer func() {
		if !done {
			t.do(func() { C.turnlock_once_give_up(once.native()) })
		}
	}()
	if err = work(status == C.TURNLOCK_OWNER_DEAD); err != nil {
		return false, err
	}
	t.do(func() { _, err = call(func() C.int32_t { return C.turnlock_once_complete(once.native()) }) })
	return err == nil, err
}

func (once *Once) count(more int) {
	once.mutex.Lock()
	defer once.mutex.Unlock()
	once.held += more
}

// IsDone is whether it is done.
func (once *Once) IsDone() (bool, error) {
	var done C.uint32_t
	_, err := once.with(func() C.int32_t { return C.turnlock_once_is_done(once.native(), &done) })
	return done != 0, err
}

// Reset has it be done again. It waits while a participant is at it, until ctx is done.
func (once *Once) Reset(ctx context.Context) error {
	return once.waitOnThread(ctx, func() C.int32_t { return C.turnlock_once_reset(once.native()) })
}

// PreviousRunner is the participant that died at it last; nil if none ever did.
func (once *Once) PreviousRunner() (*DeadOwner, error) { return once.previousOwner() }

// Waiters are the participants that wait now. Goroutines that wait for the same object are one.
func (once *Once) Waiters() ([]ParticipantInfo, error) { return once.waiters() }
