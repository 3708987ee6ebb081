package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"unsafe"
)

// KeyedLock is a lock for each key in a lock file. Keys need not be created, and take no room while nobody wants them; they are
// told apart by a hash of 128 bits.
type KeyedLock struct {
	parts
	handle *C.turnlock_keyedlock
}

// KeyedLock opens the keyed lock of this name (1 to 63 bytes of UTF-8), or creates it. options may be nil.
func (file *File) KeyedLock(name string, options *LockOptions) (*KeyedLock, error) {
	if options == nil {
		options = &LockOptions{}
	}
	if err := withoutNUL(options.Label, ErrInvalidArgument, "label"); err != nil {
		return nil, err
	}
	native := C.turnlock_keyedlock_options{size: C.sizeof_turnlock_keyedlock_options}
	if options.MustExist {
		native.flags |= C.TURNLOCK_KEYEDLOCK_MUST_EXIST
	}
	native.flags |= options.OnDeath.flags()
	keys := &KeyedLock{}
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_keyedlock_open(file, name, &native, &keys.handle)
	})
	if err != nil {
		return nil, err
	}
	handle := keys.handle
	err = keys.openParts(file, options.Label, func() C.int32_t { return C.turnlock_keyedlock_close(handle) }, partCalls{
		unlock: func(who *C.turnlock_participant) C.int32_t { return C.turnlock_keyedlock_unlock_as(handle, who) },
		markConsistent: func(who *C.turnlock_participant) C.int32_t {
			return C.turnlock_keyedlock_mark_consistent_as(handle, who)
		},
		isContended: func(who *C.turnlock_participant) C.int32_t { return C.turnlock_keyedlock_is_contended_as(handle, who) },
		resetFor:    func(limit C.uint64_t) C.int32_t { return C.turnlock_keyedlock_reset_for(handle, limit) },
		previousOwner: func(owner *C.turnlock_previous_owner) C.int32_t {
			return C.turnlock_keyedlock_previous_owner(handle, owner)
		},
		holders: func(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t {
			return C.turnlock_keyedlock_holders(handle, capacity, infos, count)
		},
		waiters: func(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t {
			return C.turnlock_keyedlock_waiters(handle, capacity, infos, count)
		},
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// Acquire takes the key, which is any bytes, as mode says (Exclusive or Shared), or waits for it until ctx is done; then
// nothing is left in the queue, and the error is ctx.Err().
func (keys *KeyedLock) Acquire(ctx context.Context, key string, mode Mode) (*Part, error) {
	return keys.acquire(ctx, key, mode, true)
}

// TryAcquire takes it if that needs no waiting; else the error is ErrWouldBlock.
func (keys *KeyedLock) TryAcquire(key string, mode Mode) (*Part, error) {
	return keys.acquire(context.Background(), key, mode, false)
}

func (keys *KeyedLock) acquire(ctx context.Context, key string, mode Mode, waits bool) (*Part, error) {
	// One byte more: an empty key has an address too.
	bytes := append([]byte(key), 0)
	return keys.take(ctx, mode, waits, [2]entry{
		func(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t {
			return C.turnlock_keyedlock_try_lock_exclusive_as(keys.handle, who, unsafe.Pointer(&bytes[0]), C.size_t(len(key)), acquired)
		},
		func(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t {
			return C.turnlock_keyedlock_lock_exclusive_as(keys.handle, who, unsafe.Pointer(&bytes[0]), C.size_t(len(key)), acquired)
		},
	}, [2]entry{
		func(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t {
			return C.turnlock_keyedlock_try_lock_shared_as(keys.handle, who, unsafe.Pointer(&bytes[0]), C.size_t(len(key)), acquired)
		},
		func(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t {
			return C.turnlock_keyedlock_lock_shared_as(keys.handle, who, unsafe.Pointer(&bytes[0]), C.size_t(len(key)), acquired)
		},
	})
}
