// Package turnlock takes locks between processes that are nothing but a memory-mapped file, by libturnlock.
//
// Open a lock file, open a lock in it by name, lock and unlock it. Programs in other languages that do the same take turns
// with this one.
//
//	file, err := turnlock.Open("app.lock", nil)
//	...
//	accounts, err := file.Mutex("accounts", nil)
//	...
//	acquired, err := accounts.Acquire(ctx)
//	if err != nil {
//		return err
//	}
//	defer accounts.Unlock()
//	if acquired.OwnerDied {
//		// Repair the data.
//		err = accounts.MarkConsistent()
//	}
//
// A goroutine moves between threads, so a lock belongs to no thread here, but to a hold of the library, with a slot in the file:
// a Mutex or a TurnRing that is open has one, and so has each acquisition of the other kinds, and each wait at a Condition.
// Goroutines that wait for the same object are queued as one, in Go's own order, and any goroutine may unlock what another one
// locked, as with a sync.Mutex. Open the lock again for a goroutine that is to be queued by itself.
//
// A Condition, an Event, a Barrier or a Once is what goroutines of several processes wait for beside locks.
//
// A holder that died is not an error, since the lock is held then: Acquired says it.
//
// A method of something that was closed, or never opened, gives ErrClosed. Everything that is open is closed when it is
// garbage; a lock that is held then stays held until the program ends.
package turnlock

/*
#cgo pkg-config: turnlock
#include <turnlock.h>
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// checkABI refuses a library that has another ABI version than the header that this package was compiled with.
func checkABI() error {
	if loaded := uint32(C.turnlock_abi_version()); loaded != C.TURNLOCK_ABI_VERSION {
		return &Error{ErrUnsupported, fmt.Sprintf("the libturnlock that is loaded has ABI version %d and this package "+
			"was compiled for %d: load that one, or compile anew", loaded, C.TURNLOCK_ABI_VERSION)}
	}
	return nil
}

// LibraryVersion is the version of the library that is loaded, such as "0.1.0".
func LibraryVersion() string { return C.GoString(C.turnlock_version()) }

// call runs a function of the library and makes an error of a negative status. The story of a failure is the thread's, so
// the goroutine stays on its thread meanwhile.
func call(function func() C.int32_t) (Status, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := Status(function())
	if status < 0 {
		return status, &Error{status, C.GoString(C.turnlock_last_error_message())}
	}
	return status, nil
}

// withoutNUL refuses a text that C would read to its first NUL only.
func withoutNUL(text string, failure Status, what string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return &Error{failure, fmt.Sprintf("the %s %q has a NUL in it: leave it out", what, text)}
	}
	return nil
}

// nanoseconds is a duration as the library has it: a negative one is 0.
func nanoseconds(duration time.Duration) C.uint64_t {
	if duration < 0 {
		return 0
	}
	return C.uint64_t(duration)
}
