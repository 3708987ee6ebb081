package turnlock

// #include <turnlock.h>
import "C"

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
	// Standing: after its first turn the participant stays in the ring, and the ring waits for it, until Leave.
	Standing bool
}

// TurnRing is a lock whose turn goes round: whoever had it gets it again only after everybody else who wants it. It is a
// sync.Locker.
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
	if options.Standing {
		native.flags |= C.TURNLOCK_RING_STANDING
	}
	native.flags |= options.OnDeath.flags()
	var opened ringKind
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_ring_open(file, name, &native, &opened.handle)
	})
	if err != nil {
		return nil, err
	}
	ring := &TurnRing{}
	if err := ring.open(file, opened, options.Label); err != nil {
		return nil, err
	}
	return ring, nil
}

// Leave has the participant leave the ring, if it stands in it: it is passed over until its next turn is asked for.
func (ring *TurnRing) Leave() error {
	_, err := ring.with(func() C.int32_t {
		return C.turnlock_ring_leave_as(ring.kind.(ringKind).handle, ring.who)
	})
	return err
}

type ringKind struct{ handle *C.turnlock_ring }

func (ring ringKind) lock(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t {
	return C.turnlock_ring_lock_as(ring.handle, who, acquired)
}

func (ring ringKind) tryLock(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t {
	return C.turnlock_ring_try_lock_as(ring.handle, who, acquired)
}

func (ring ringKind) unlock(who *C.turnlock_participant) C.int32_t {
	return C.turnlock_ring_unlock_as(ring.handle, who)
}

func (ring ringKind) abandon(who *C.turnlock_participant) C.int32_t {
	return C.turnlock_ring_abandon_as(ring.handle, who)
}

func (ring ringKind) markConsistent(who *C.turnlock_participant) C.int32_t {
	return C.turnlock_ring_mark_consistent_as(ring.handle, who)
}

func (ring ringKind) isContended(who *C.turnlock_participant) C.int32_t {
	return C.turnlock_ring_is_contended_as(ring.handle, who)
}

func (ring ringKind) resetFor(nanoseconds C.uint64_t) C.int32_t {
	return C.turnlock_ring_reset_for(ring.handle, nanoseconds)
}

func (ring ringKind) previousOwner(owner *C.turnlock_previous_owner) C.int32_t {
	return C.turnlock_ring_previous_owner(ring.handle, owner)
}

func (ring ringKind) holder(info *C.turnlock_participant_info) C.int32_t {
	return C.turnlock_ring_holder(ring.handle, info)
}

func (ring ringKind) waiters(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t {
	return C.turnlock_ring_waiters(ring.handle, capacity, infos, count)
}

func (ring ringKind) close() C.int32_t { return C.turnlock_ring_close(ring.handle) }
