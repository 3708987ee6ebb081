package turnlock

// #include <turnlock.h>
import "C"

import "io/fs"

// Status is a failure that the library has a number for. The constants below are what errors.Is compares an error with.
type Status int32

// The failures of turnlock.h, which has a sentence on each.
const (
	ErrInvalidArgument  Status = C.TURNLOCK_ERROR_INVALID_ARGUMENT
	ErrWouldBlock       Status = C.TURNLOCK_ERROR_WOULD_BLOCK
	ErrTimedOut         Status = C.TURNLOCK_ERROR_TIMED_OUT
	ErrCancelled        Status = C.TURNLOCK_ERROR_CANCELLED
	ErrDeadlock         Status = C.TURNLOCK_ERROR_DEADLOCK
	ErrNotOwner         Status = C.TURNLOCK_ERROR_NOT_OWNER
	ErrNotRecoverable   Status = C.TURNLOCK_ERROR_NOT_RECOVERABLE
	ErrClosed           Status = C.TURNLOCK_ERROR_CLOSED
	ErrParticipantsFull Status = C.TURNLOCK_ERROR_PARTICIPANTS_FULL
	ErrLocksFull        Status = C.TURNLOCK_ERROR_LOCKS_FULL
	ErrBadName          Status = C.TURNLOCK_ERROR_BAD_NAME
	ErrNotALockFile     Status = C.TURNLOCK_ERROR_NOT_A_LOCK_FILE
	ErrVersion          Status = C.TURNLOCK_ERROR_VERSION
	ErrDamaged          Status = C.TURNLOCK_ERROR_DAMAGED
	ErrReplaced         Status = C.TURNLOCK_ERROR_REPLACED
	ErrPermission       Status = C.TURNLOCK_ERROR_PERMISSION
	ErrNotFound         Status = C.TURNLOCK_ERROR_NOT_FOUND
	ErrFilesystem       Status = C.TURNLOCK_ERROR_FILESYSTEM
	ErrNoSpace          Status = C.TURNLOCK_ERROR_NO_SPACE
	ErrSystem           Status = C.TURNLOCK_ERROR_SYSTEM
	ErrKind             Status = C.TURNLOCK_ERROR_KIND
	ErrHoldBusy         Status = C.TURNLOCK_ERROR_HOLD_BUSY
	ErrInternal         Status = C.TURNLOCK_ERROR_INTERNAL
	ErrStillHeld        Status = C.TURNLOCK_ERROR_STILL_HELD
	ErrNotInconsistent  Status = C.TURNLOCK_ERROR_NOT_INCONSISTENT
	ErrFileTooSmall     Status = C.TURNLOCK_ERROR_FILE_TOO_SMALL
	ErrUnsupported      Status = C.TURNLOCK_ERROR_UNSUPPORTED
	ErrInterrupted      Status = C.TURNLOCK_ERROR_INTERRUPTED
	ErrNoMemory         Status = C.TURNLOCK_ERROR_NO_MEMORY
	ErrInUse            Status = C.TURNLOCK_ERROR_IN_USE
	ErrRecursionLimit   Status = C.TURNLOCK_ERROR_RECURSION_LIMIT
	ErrNotUpgradable    Status = C.TURNLOCK_ERROR_NOT_UPGRADABLE
	ErrNotExclusive     Status = C.TURNLOCK_ERROR_NOT_EXCLUSIVE
	ErrPermits          Status = C.TURNLOCK_ERROR_PERMITS
	ErrTooManyReleased  Status = C.TURNLOCK_ERROR_TOO_MANY_RELEASED
	ErrEmptyRange       Status = C.TURNLOCK_ERROR_EMPTY_RANGE
	ErrBrokenBarrier    Status = C.TURNLOCK_ERROR_BROKEN_BARRIER
	ErrCircularWait     Status = C.TURNLOCK_ERROR_CIRCULAR_WAIT
	ErrLeaseEnded       Status = C.TURNLOCK_ERROR_LEASE_ENDED
)

// Error is one sentence for the status.
func (status Status) Error() string { return C.GoString(C.turnlock_status_text(C.int32_t(status))) }

// Error is a call that failed.
type Error struct {
	Status Status
	// Story says which path, what was expected, what to do.
	Story string
}

func (err *Error) Error() string { return "turnlock: " + err.Story }

// Is makes errors.Is true for the Status, and for the error of io/fs that means the same.
func (err *Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return err.Status == ErrNotFound
	case fs.ErrPermission:
		return err.Status == ErrPermission
	case fs.ErrClosed:
		return err.Status == ErrClosed
	}
	status, is := target.(Status)
	return is && status == err.Status
}

func closed(what string) error {
	return &Error{ErrClosed, "the " + what + " is closed, or was never opened: open it"}
}
