package turnlock

// #include <turnlock.h>
import "C"

import "unsafe"

// Algorithm is that of a turn ring.
type Algorithm uint32

// AnyAlgorithm is whichever the ring has, and Raynal's if it is created now. The others: Dijkstra's K-state ring, Raynal's
// ring modulo n squared, Raynal's sum ring.
const (
	AnyAlgorithm Algorithm = 0
	KState       Algorithm = C.TURNLOCK_ALGORITHM_K_STATE
	Raynal       Algorithm = C.TURNLOCK_ALGORITHM_RAYNAL
	Sum          Algorithm = C.TURNLOCK_ALGORITHM_SUM
)

// RingOptions says how to open, or create, a turn ring. A ring that exists keeps what it was created with.
type RingOptions struct {
	LockOptions
	Algorithm Algorithm
	// Step, of the sum ring: from one slot to the next in order of turns; 0 = 1.
	Step uint32
	// Member: after its first turn the object stays a member of the ring, and the ring waits for it, until Leave.
	Member bool
	// Slot is the object's place on the ring: which of the file's slots its hold takes, from 0; nil: a free one. With a place for
	// each program, the order of turns does not depend on which of them starts first. ErrInUse if it is taken.
	Slot *uint32
}

// TurnRing is a lock whose turn goes round: a holder gets it again only after every other participant that wants it. It
// is a sync.Locker.
type TurnRing struct{ exclusive }

// TurnRing opens the ring of this name (1 to 63 bytes of UTF-8), or creates it. options may be nil.
func (file *File) TurnRing(name string, options *RingOptions) (*TurnRing, error) {
	if options == nil {
		options = &RingOptions{}
	}
	if err := withoutNUL(options.Label, ErrInvalidArgument, "label"); err != nil {
		return nil, err
	}
	native := C.turnlock_ring_options{
		size:      C.sizeof_turnlock_ring_options,
		algorithm: C.uint32_t(options.Algorithm),
		step:      C.uint32_t(options.Step),
	}
	if options.MustExist {
		native.flags |= C.TURNLOCK_RING_MUST_EXIST
	}
	if options.Member {
		native.flags |= C.TURNLOCK_RING_MEMBER
	}
	native.flags |= options.OnDeath.flags()
	var handle *C.turnlock_ring
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_ring_open(file, name, &native, &handle)
	})
	if err != nil {
		return nil, err
	}
	ring := &TurnRing{}
	ring.slot = options.Slot
	err = ring.open(file, unsafe.Pointer(handle), options.Label, func() C.int32_t { return C.turnlock_ring_close(handle) })
	if err != nil {
		return nil, err
	}
	return ring, nil
}

// Leave has the object leave the ring, if it is a member of it: it is passed over until its next turn is asked for.
func (ring *TurnRing) Leave() error {
	_, err := ring.with(func() C.int32_t {
		return C.turnlock_hold_leave_ring(ring.own, (*C.turnlock_ring)(unsafe.Pointer(ring.handle)))
	})
	return err
}
