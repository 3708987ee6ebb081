package turnlock

// #include <turnlock.h>
import "C"

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// threads are OS threads that call the library for goroutines where a call belongs to a thread, and takes a slot for it: to
// wait for an event or a barrier, to notify a condition, to be at a once. On the threads of Go's own, of which there may be
// any number, slots would be left over. There are as many threads as such calls at once; each keeps its slot until the file
// is closed.
type threads struct {
	mutex sync.Mutex
	idle  []*thread
}

// thread is one of them. Idle, it refers to nothing of the file, which may be garbage then.
type thread struct {
	calls chan func()
	// hold stands for the thread, to cancel its waits.
	hold *C.turnlock_hold
	// isRunning is closed when it has its OS thread, ended when it needs it no more.
	isRunning, ended chan struct{}
	id               int
}

func (t *thread) run() {
	runtime.LockOSThread()
	if t.id = syscall.Gettid(); t.id == os.Getpid() {
		// The main thread does not end with a goroutine. Held until another goroutine has another thread.
		defer runtime.UnlockOSThread()
		go t.run()
		<-t.isRunning
		return
	}
	close(t.isRunning)
	defer close(t.ended)
	// It is never unlocked: the thread ends with the goroutine, and its slot is free.
	for call := range t.calls {
		call()
	}
	if t.hold != nil {
		C.turnlock_hold_close(t.hold)
	}
}

// do has the thread do it, and waits.
func (t *thread) do(function func()) {
	done := make(chan struct{})
	t.calls <- func() {
		defer close(done)
		function()
	}
	<-done
}

// takeThread is a thread that no other goroutine uses until it is given back.
func (file *File) takeThread() (*thread, error) {
	file.threads.mutex.Lock()
	if last := len(file.threads.idle) - 1; last >= 0 {
		t := file.threads.idle[last]
		file.threads.idle = file.threads.idle[:last]
		file.threads.mutex.Unlock()
		return t, nil
	}
	file.threads.mutex.Unlock()
	t := &thread{calls: make(chan func()), isRunning: make(chan struct{}), ended: make(chan struct{})}
	go t.run()
	var err error
	t.do(func() {
		err = file.kept(func(file *C.turnlock_file) C.int32_t { return C.turnlock_hold_of_thread(file, &t.hold) })
	})
	if err != nil {
		close(t.calls)
		return nil, err
	}
	return t, nil
}

func (file *File) giveThread(t *thread) {
	file.threads.mutex.Lock()
	defer file.threads.mutex.Unlock()
	file.threads.idle = append(file.threads.idle, t)
}

// end ends the threads, when no call is left, and waits for that: they leave their barriers then, and a program that ends
// before has died there.
func (all *threads) end() {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	for _, t := range all.idle {
		close(t.calls)
	}
	for _, t := range all.idle {
		<-t.ended
		t.awaitEnd()
	}
	all.idle = nil
}

// awaitEnd waits until the kernel has the thread no more; not for ever, if it never ends.
func (t *thread) awaitEnd() {
	const looks = 1000
	task := fmt.Sprintf("/proc/self/task/%d", t.id)
	for look := 0; look < looks; look++ {
		if _, err := os.Stat(task); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// onThread calls the library on one of the threads.
func (l *base) onThread(function func() C.int32_t) error {
	return l.useThread(func(t *thread) (err error) {
		t.do(func() { _, err = call(function) })
		return err
	})
}

// waitOnThread is the same for a call that waits, until ctx is done.
func (l *base) waitOnThread(ctx context.Context, function func() C.int32_t) error {
	return l.useThread(func(t *thread) (err error) {
		if err = ctx.Err(); err != nil {
			return err
		}
		t.do(func() { _, err = l.wait(ctx, t.hold, function) })
		return err
	})
}

func (l *base) useThread(use func(t *thread) error) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.inside.Done()
	t, err := l.file.takeThread()
	if err != nil {
		return err
	}
	defer l.file.giveThread(t)
	return use(t)
}
