package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"unsafe"
)

// EventOptions says how to open, or create, an event.
type EventOptions struct{ MustExist bool }

// Event is an event in a lock file: it is set or not, and participants wait until it is set. It stays set until it is
// cleared, or the machine boots. No death disturbs it.
type Event struct{ base }

// Event opens the event of this name (1 to 63 bytes of UTF-8), or creates it; one that is created now is not set. options may
// be nil.
func (file *File) Event(name string, options *EventOptions) (*Event, error) {
	var flags C.uint32_t
	if options != nil && options.MustExist {
		flags = C.TURNLOCK_EVENT_MUST_EXIST
	}
	var handle *C.turnlock_event
	err := file.named(name, func(file *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_event_open(file, name, flags, &handle)
	})
	if err != nil {
		return nil, err
	}
	event := &Event{base{kind: "event"}}
	err = event.open(file, unsafe.Pointer(handle), "", func() C.int32_t { return C.turnlock_event_close(handle) })
	if err != nil {
		return nil, err
	}
	return event, nil
}

func (event *Event) native() *C.turnlock_event {
	return (*C.turnlock_event)(unsafe.Pointer(event.handle))
}

// Set sets it: all that wait for it go on.
func (event *Event) Set() error {
	_, err := event.with(func() C.int32_t { return C.turnlock_event_set(event.native()) })
	return err
}

// Clear clears it: who waits from now on waits until it is set again.
func (event *Event) Clear() error {
	_, err := event.with(func() C.int32_t { return C.turnlock_event_clear(event.native()) })
	return err
}

// IsSet is whether it is set.
func (event *Event) IsSet() (bool, error) {
	var set C.uint32_t
	_, err := event.with(func() C.int32_t { return C.turnlock_event_is_set(event.native(), &set) })
	return set != 0, err
}

// Wait waits until it is set, or until ctx is done; the error is ctx.Err() then. A wait that began before it was set ends,
// also if it was cleared since. A ctx that is done already is not waited for, not even if the event is set.
func (event *Event) Wait(ctx context.Context) error {
	// Most of the time it is set, and needs no thread.
	if isSet, err := event.IsSet(); isSet || err != nil {
		return firstOf(err, ctx.Err())
	}
	return event.waitOnThread(ctx, func() C.int32_t {
		return C.turnlock_event_wait(event.native(), C.TURNLOCK_WAIT_FOREVER, 0)
	})
}

func firstOf(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// Waiters are the participants that wait now.
func (event *Event) Waiters() ([]ParticipantInfo, error) { return event.waiters() }
