package turnlock

// #include <turnlock.h>
import "C"

import (
	"encoding/binary"
	"errors"
	"time"
	"unsafe"
)

// Acquired is what came with an acquisition.
type Acquired struct {
	// FencingToken is larger than that of every acquisition of this lock before.
	FencingToken uint64
	// OwnerDied: the previous holder died inside. Repair the data and call MarkConsistent before you unlock.
	OwnerDied bool
	// DeadOwnerPid and DeadOwnerFencingToken are that holder's process and token.
	DeadOwnerPid          uint32
	DeadOwnerFencingToken uint64
}

func acquiredOf(native *C.turnlock_acquired) Acquired {
	return Acquired{
		FencingToken:          uint64(native.fencing_token),
		OwnerDied:             native.previous_owner_died != 0,
		DeadOwnerPid:          uint32(native.previous_owner_pid),
		DeadOwnerFencingToken: uint64(native.previous_owner_fencing_token),
	}
}

// DeadOwner is who died holding a lock.
type DeadOwner struct {
	Label        string
	Pid, Thread  uint32
	FencingToken uint64
}

// Life is whether a participant is alive.
type Life uint32

// What is known of a participant's life.
const (
	LifeUnknown Life = C.TURNLOCK_LIFE_UNKNOWN
	Alive       Life = C.TURNLOCK_LIFE_ALIVE
	Stopped     Life = C.TURNLOCK_LIFE_STOPPED
	Dead        Life = C.TURNLOCK_LIFE_DEAD
)

// State is what a participant does at a lock.
type State uint32

// What a participant does at a lock: it has it; it is in line; it has backed off, as long as it has patience, and lets others
// pass; it is a member of the ring and does not wait now.
const (
	Holding    State = C.TURNLOCK_STATE_HOLDING
	Queued     State = C.TURNLOCK_STATE_QUEUED
	BackedOff  State = C.TURNLOCK_STATE_BACKED_OFF
	RingMember State = C.TURNLOCK_STATE_RING_MEMBER
)

// ParticipantInfo is a participant at a lock, at one moment.
type ParticipantInfo struct {
	Label, Program string
	// FencingToken is a holder's; else 0.
	FencingToken uint64
	// Duration is for how long it has held or waited; 0 where that is unknown.
	Duration    time.Duration
	Slot        uint32
	Pid, Thread uint32
	Life        Life
	State       State
	// Mode is what it has of the lock, or wants.
	Mode Mode
	// Permits, of a semaphore: how many it has, or wants.
	Permits uint32
	// Group, of a group lock: the one that it is in, or wants to enter.
	Group uint64
	// Start and End, of a range lock: from where to before where it reaches; RangeEnd is the end of one that reaches to the end.
	Start, End uint64
	// Key, of a keyed lock: what the key begins with, at most 47 bytes. Without IsWholeKey the key is longer, or, if Key is "",
	// empty or not known.
	Key        string
	IsWholeKey bool
	// KeyHash, of a keyed lock: by what keys are told apart.
	KeyHash [16]byte
}

// Mode is how a lock is held.
type Mode uint32

// How a lock is held: alone; beside others that read; beside these, with the right to be alone; the latter, waiting for
// it.
const (
	Exclusive  Mode = C.TURNLOCK_MODE_EXCLUSIVE
	Shared     Mode = C.TURNLOCK_MODE_SHARED
	Upgradable Mode = C.TURNLOCK_MODE_UPGRADABLE
	Upgrading  Mode = C.TURNLOCK_MODE_UPGRADING
)

// partOf adds to info which part of a lock of its kind it has.
type partOf func(info *ParticipantInfo, native *C.turnlock_participant_info)

func groupOf(info *ParticipantInfo, native *C.turnlock_participant_info) {
	info.Group = uint64(native.first)
}

func rangeOf(info *ParticipantInfo, native *C.turnlock_participant_info) {
	info.Start, info.End = uint64(native.first), uint64(native.last)
	// The last number belongs to it.
	if info.End != RangeEnd {
		info.End++
	}
}

func keyOf(info *ParticipantInfo, native *C.turnlock_participant_info) {
	info.Key = C.GoStringN((*C.char)(unsafe.Pointer(&native.key[0])), C.int(native.key_size))
	info.IsWholeKey = native.flags&C.TURNLOCK_INFO_WHOLE_KEY != 0
	binary.BigEndian.PutUint64(info.KeyHash[:8], uint64(native.first))
	binary.BigEndian.PutUint64(info.KeyHash[8:], uint64(native.last))
}

func infoOf(native *C.turnlock_participant_info) ParticipantInfo {
	return ParticipantInfo{
		Label:        C.GoString(&native.label[0]),
		Program:      C.GoString(&native.program[0]),
		FencingToken: uint64(native.fencing_token),
		Duration:     time.Duration(native.duration_ns),
		Slot:         uint32(native.slot),
		Pid:          uint32(native.pid),
		Thread:       uint32(native.thread),
		Life:         Life(native.life),
		State:        State(native.state),
		Mode:         Mode(native.mode),
		Permits:      uint32(native.permits),
	}
}

func (l *base) previousOwner() (*DeadOwner, error) {
	var native C.turnlock_previous_owner
	native.size = C.sizeof_turnlock_previous_owner
	if _, err := l.with(func() C.int32_t { return C.turnlock_lock_previous_owner(l.handle, &native) }); err != nil {
		return nil, unless(err, ErrNotFound)
	}
	return &DeadOwner{
		Label:        C.GoString(&native.label[0]),
		Pid:          uint32(native.pid),
		Thread:       uint32(native.thread),
		FencingToken: uint64(native.fencing_token),
	}, nil
}

func (l *base) holders() ([]ParticipantInfo, error) {
	return l.listed(func(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t {
		return C.turnlock_lock_holders(l.handle, capacity, infos, count)
	})
}

func (l *base) waiters() ([]ParticipantInfo, error) {
	return l.listed(func(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t {
		return C.turnlock_lock_waiters(l.handle, capacity, infos, count)
	})
}

// listed is all the participants that a function of the library lists.
func (l *base) listed(
	list func(capacity C.size_t, infos *C.turnlock_participant_info, count *C.size_t) C.int32_t,
) ([]ParticipantInfo, error) {
	natives := make([]C.turnlock_participant_info, 8)
	for {
		var count C.size_t
		natives[0].size = C.sizeof_turnlock_participant_info
		_, err := l.with(func() C.int32_t { return list(C.size_t(len(natives)), &natives[0], &count) })
		if err != nil {
			return nil, err
		}
		if int(count) > len(natives) {
			natives = make([]C.turnlock_participant_info, count)
			continue
		}
		infos := make([]ParticipantInfo, count)
		for i := range infos {
			infos[i] = infoOf(&natives[i])
			if l.part != nil {
				l.part(&infos[i], &natives[i])
			}
		}
		return infos, nil
	}
}

func unless(err error, status Status) error {
	if errors.Is(err, status) {
		return nil
	}
	return err
}
