package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"unsafe"
)

// KeyedLock is a lock for each key in a lock file. Keys need not be created, and take no room while they are not
// wanted; they are told apart by a hash of 128 bits.
type KeyedLock struct{ parts }

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
	var handle *C.turnlock_keyedlock
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_keyedlock_open(file, name, &native, &handle)
	})
	if err != nil {
		return nil, err
	}
	keys := &KeyedLock{parts{base{part: keyOf}}}
	err = keys.open(file, unsafe.Pointer(handle), options.Label, func() C.int32_t { return C.turnlock_keyedlock_close(handle) })
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// Acquire takes the key, which is any bytes, as mode says (Exclusive or Shared), or waits for it until ctx is done; then
// nothing is left in the queue, and the error is ctx.Err().
func (keys *KeyedLock) Acquire(ctx context.Context, key string, mode Mode) (*Part, error) {
	return keys.take(ctx, wanted{mode: mode, key: []byte(key)}, true)
}

// TryAcquire takes it if that needs no waiting; else the error is ErrWouldBlock.
func (keys *KeyedLock) TryAcquire(key string, mode Mode) (*Part, error) {
	return keys.take(context.Background(), wanted{mode: mode, key: []byte(key)}, false)
}
