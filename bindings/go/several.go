package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"runtime"
	"sync"
)

// several is an open lock that several goroutines may hold at once. Each holding has a participant of its own, which is
// used again by a later one. Only one goroutine at a time waits in the library, so that a crowd takes one slot more than
// those that are inside; but for locks of parts, where each does.
type several struct {
	file  *File
	label string
	// turnstile is full while a goroutine tries or waits in the library; nil where all may at once.
	turnstile chan struct{}

	mutex   sync.Mutex
	idle    []*C.turnlock_participant
	held    int
	closing chan struct{}
	inside  sync.WaitGroup
	// closeLock is nil while nothing is open.
	closeLock func() C.int32_t
}

func (l *several) open(file *File, label string, closeLock func() C.int32_t) error {
	if err := file.keep(); err != nil {
		_ = closeLock()
		return err
	}
	l.file, l.label, l.closeLock = file, label, closeLock
	l.turnstile = make(chan struct{}, 1)
	l.closing = make(chan struct{})
	runtime.SetFinalizer(l, (*several).Close)
	return nil
}

// enter keeps the handles open until inside.Done.
func (l *several) enter() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closeLock == nil || isClosed(l.closing) {
		return closed("lock")
	}
	l.inside.Add(1)
	return nil
}

func (l *several) with(function func() C.int32_t) (Status, error) {
	if err := l.enter(); err != nil {
		return ErrClosed, err
	}
	defer l.inside.Done()
	return call(function)
}

// An entry takes the lock as a participant.
type entry func(who *C.turnlock_participant, acquired *C.turnlock_acquired) C.int32_t

// take waits until try succeeds, by lock, and gives the participant that holds the lock then. lock is nil for one that does
// not wait.
func (l *several) take(ctx context.Context, try, lock entry) (*C.turnlock_participant, Acquired, error) {
	if err := l.enter(); err != nil {
		return nil, Acquired{}, err
	}
	defer l.inside.Done()
	if err := ctx.Err(); err != nil {
		return nil, Acquired{}, err
	}
	if l.turnstile != nil {
		if err := l.throughTurnstile(ctx, lock != nil); err != nil {
			return nil, Acquired{}, err
		}
		defer func() { <-l.turnstile }()
	}
	who, err := l.participant()
	if err != nil {
		return nil, Acquired{}, err
	}
	var native C.turnlock_acquired
	native.size = C.sizeof_turnlock_acquired
	status, err := call(func() C.int32_t { return try(who, &native) })
	if status == ErrWouldBlock && lock != nil {
		_, err = wait(ctx, l.closing, who, func() C.int32_t { return lock(who, &native) })
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err != nil {
		l.idle = append(l.idle, who)
		return nil, Acquired{}, err
	}
	l.held++
	return who, acquiredOf(&native), nil
}

func (l *several) throughTurnstile(ctx context.Context, waits bool) error {
	if !waits {
		select {
		case l.turnstile <- struct{}{}:
			return nil
		default:
			return &Error{ErrWouldBlock, "another goroutine waits for the lock"}
		}
	}
	select {
	case l.turnstile <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.closing:
		return closed("lock")
	}
}

func (l *several) participant() (who *C.turnlock_participant, err error) {
	l.mutex.Lock()
	if last := len(l.idle) - 1; last >= 0 {
		who, l.idle = l.idle[last], l.idle[:last]
	}
	l.mutex.Unlock()
	if who == nil {
		err = l.file.kept(func(file *C.turnlock_file) C.int32_t { return openParticipant(file, l.label, &who) })
	}
	return who, err
}

// give has a participant let go of the lock, wholly: another goroutine may use it afterwards. Whether it has let go.
func (l *several) give(who *C.turnlock_participant, unlock func() C.int32_t) (bool, error) {
	_, err := l.with(unlock)
	isOver := hasUnlocked(err)
	if isOver {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.idle = append(l.idle, who)
		l.held--
	}
	return isOver, err
}

// Close closes the lock and its participants. Goroutines that wait get ErrClosed. While it is held it fails with
// ErrStillHeld, and nothing is done; to close it again does nothing.
func (l *several) Close() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closeLock == nil || isClosed(l.closing) {
		return nil
	}
	if l.held > 0 {
		return &Error{ErrStillHeld, "the lock is held: unlock it before it is closed"}
	}
	close(l.closing)
	l.mutex.Unlock()
	l.inside.Wait()
	l.mutex.Lock()
	if l.held > 0 {
		l.closing = make(chan struct{})
		return &Error{ErrStillHeld, "the lock was taken while it was being closed: unlock it, and close it again"}
	}
	runtime.SetFinalizer(l, nil)
	for _, who := range l.idle {
		C.turnlock_participant_close(who)
	}
	l.idle = nil
	_, err := call(l.closeLock)
	l.file.drop()
	return err
}
