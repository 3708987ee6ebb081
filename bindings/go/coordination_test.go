package turnlock_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"turnlock.example/go"
)

// actor is a child that plays a role, and says a line about what came of it.
type actor struct {
	t       *testing.T
	process *exec.Cmd
	orders  io.Writer
	lines   chan string
}

func start(t *testing.T, path, role string) *actor {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "TURNLOCK_TEST_FILE="+path, "TURNLOCK_TEST_ROLE="+role)
	child.Stderr = os.Stderr
	orders, err := child.StdinPipe()
	must(err)
	output, err := child.StdoutPipe()
	must(err)
	must(child.Start())
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	return &actor{t, child, orders, lines}
}

func (a *actor) hear() string {
	a.t.Helper()
	select {
	case line := <-a.lines:
		return line
	case <-time.After(30 * time.Second):
		a.t.Fatal("the child says nothing")
		return ""
	}
}

func (a *actor) expect(said string) {
	a.t.Helper()
	if line := a.hear(); line != said {
		a.t.Fatalf("it said %q, and not %q", line, said)
	}
}

func (a *actor) tell(order string) { fmt.Fprintln(a.orders, order) }

func (a *actor) kill() {
	must(a.process.Process.Kill())
	_, err := a.process.Process.Wait()
	must(err)
}

// play is what the children do.
func play(role, path string) {
	file, err := turnlock.Open(path, &turnlock.FileOptions{Label: "the child"})
	must(err)
	limited, end := context.WithTimeout(anywhere, 30*time.Second)
	defer end()
	switch role {
	case "wait":
		mutex := opened(file, "mutex").(*turnlock.Mutex)
		changed, err := file.Condition("changed", nil)
		must(err)
		mutex.Lock()
		acquired, err := changed.Wait(limited, mutex)
		must(err)
		if acquired.OwnerDied {
			fmt.Println("owner died")
			must(mutex.MarkConsistent())
		}
		mutex.Unlock()
	case "await":
		ready, err := file.Event("ready", nil)
		must(err)
		must(ready.Wait(limited))
	case "meet":
		stage, err := file.Barrier("stage", nil)
		must(err)
		orders := bufio.NewReader(os.Stdin)
		for order := "again\n"; order == "again\n"; {
			if _, err = stage.Wait(limited); err != nil {
				fmt.Println(err)
			} else {
				fmt.Println("met")
			}
			order, err = orders.ReadString('\n')
			must(err)
		}
		must(stage.Close())
		must(file.Close())
	case "begin":
		schema, err := file.Once("schema", nil)
		must(err)
		_, err = schema.Do(limited, func(previousDied bool) error {
			fmt.Println("at it", previousDied)
			_, err := bufio.NewReader(os.Stdin).ReadString('\n')
			return err
		})
		must(err)
	case "consume":
		consume(file, path)
	case "group 1":
		beMember(limited, file, 1)
	case "group 2":
		beMember(limited, file, 2)
	}
	fmt.Println("done")
}

// buffer is a bounded buffer in a file that several processes map, and how much was taken out of it.
type buffer struct{ numbers, count, sum, taken []uint64 }

const (
	room   = 4
	amount = 600
)

func mapped(path string) buffer {
	file, err := os.OpenFile(path+".data", os.O_RDWR|os.O_CREATE, 0o600)
	must(err)
	defer file.Close()
	must(file.Truncate(8 * (room + 3)))
	bytes, err := syscall.Mmap(int(file.Fd()), 0, 8*(room+3), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	must(err)
	numbers := unsafe.Slice((*uint64)(unsafe.Pointer(&bytes[0])), room+3)
	return buffer{numbers[:room], numbers[room : room+1], numbers[room+1 : room+2], numbers[room+2:]}
}

func conditions(file *turnlock.File) (notFull, notEmpty *turnlock.Condition) {
	notFull, err := file.Condition("not full", nil)
	must(err)
	notEmpty, err = file.Condition("not empty", nil)
	must(err)
	return notFull, notEmpty
}

// consume takes numbers out, by two goroutines that share one object, until all were taken.
func consume(file *turnlock.File, path string) {
	mutex, err := file.Mutex("mutex", nil)
	must(err)
	notFull, notEmpty := conditions(file)
	data := mapped(path)
	var all sync.WaitGroup
	for i := 0; i < 2; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			mutex.Lock()
			defer mutex.Unlock()
			for {
				must(notEmpty.WaitUntil(anywhere, mutex, func() bool { return data.count[0] > 0 || data.taken[0] == amount }))
				if data.count[0] == 0 {
					return
				}
				data.count[0]--
				data.sum[0] += data.numbers[data.count[0]]
				data.taken[0]++
				_, err := notFull.NotifyOne()
				must(err)
				if data.taken[0] == amount {
					_, err = notEmpty.NotifyAll()
					must(err)
				}
			}
		}()
	}
	all.Wait()
}

// A waited is what participants wait for.
type waited interface {
	Waiters() ([]turnlock.ParticipantInfo, error)
}

func untilAsleep(lock waited, count int) {
	waitFor(func() bool {
		waiters, err := lock.Waiters()
		must(err)
		return len(waiters) >= count
	})
	time.Sleep(5 * time.Millisecond)
}

func TestProducersAndConsumersLoseNothingOverADeath(t *testing.T) {
	file, path := newFile(t)
	mutex, err := file.Mutex("mutex", nil)
	must(err)
	notFull, notEmpty := conditions(file)
	data := mapped(path)
	doomed := start(t, path, "consume")
	untilAsleep(notEmpty, 2)
	consumer := start(t, path, "consume")
	untilAsleep(notEmpty, 4)
	doomed.kill()
	for number := uint64(1); number <= amount; number++ {
		mutex.Lock()
		must(notFull.WaitUntil(anywhere, mutex, func() bool { return data.count[0] < room }))
		data.numbers[data.count[0]] = number
		data.count[0]++
		_, err = notEmpty.NotifyOne()
		must(err)
		mutex.Unlock()
	}
	consumer.expect("done")
	if data.taken[0] != amount || data.sum[0] != amount*(amount+1)/2 {
		t.Fatal(data.taken, data.sum)
	}
}

func newCondition(t *testing.T) (*turnlock.Condition, *turnlock.Mutex, *turnlock.File, string) {
	file, path := newFile(t)
	changed, err := file.Condition("changed", nil)
	must(err)
	return changed, opened(file, "mutex").(*turnlock.Mutex), file, path
}

// The first one has the notification, and is killed before it has the lock.
func TestTheNotificationOfADeadWaiterGoesToTheNextOne(t *testing.T) {
	changed, mutex, _, path := newCondition(t)
	first := start(t, path, "wait")
	untilAsleep(changed, 1)
	second := start(t, path, "wait")
	untilAsleep(changed, 2)
	mutex.Lock()
	if notified, err := changed.NotifyOne(); notified != 1 || err != nil {
		t.Fatal(notified, err)
	}
	untilAsleep(mutex, 1)
	first.kill()
	mutex.Unlock()
	second.expect("done")
	if notified, err := changed.NotifyOne(); notified != 0 || err != nil {
		t.Fatal(notified, err)
	}
}

func TestAWaiterComesBackWithTheOwnerDeadNotice(t *testing.T) {
	changed, _, _, path := newCondition(t)
	waiter := start(t, path, "wait")
	untilAsleep(changed, 1)
	dieInside(t, path, "mutex")
	if notified, err := changed.NotifyAll(); notified != 1 || err != nil {
		t.Fatal(notified, err)
	}
	waiter.expect("owner died")
	waiter.expect("done")
}

// Goroutines that share one mutex, and one condition, take turns; each that waits leaves the lock to the others.
func TestGoroutinesOfOneObjectWaitAtACondition(t *testing.T) {
	changed, mutex, file, _ := newCondition(t)
	const goroutines, rounds = 5, 40
	turn, over := 0, make(chan error, goroutines)
	for me := 0; me < goroutines; me++ {
		me := me
		go func() {
			for round := 0; round < rounds; round++ {
				mutex.Lock()
				if err := changed.WaitUntil(anywhere, mutex, func() bool { return turn%goroutines == me }); err != nil {
					over <- err
					return
				}
				turn++
				if _, err := changed.NotifyAll(); err != nil {
					over <- err
					return
				}
				mutex.Unlock()
			}
			over <- nil
		}()
	}
	for me := 0; me < goroutines; me++ {
		must(<-over)
	}
	if turn != goroutines*rounds {
		t.Fatal(turn)
	}
	must(mutex.Close())
	must(changed.Close())
	must(file.RemoveLock("changed"))
	must(file.RemoveLock("mutex"))
}

// held is each way to hold a lock that a condition waits with, and what releases it.
func heldInEveryWay(file *turnlock.File) map[string]func() (turnlock.ConditionLock, func() error) {
	return map[string]func() (turnlock.ConditionLock, func() error){
		"mutex": func() (turnlock.ConditionLock, func() error) {
			mutex := opened(file, "mutex").(*turnlock.Mutex)
			mutex.Lock()
			return mutex, mutex.Release
		},
		"rwlock": func() (turnlock.ConditionLock, func() error) {
			mutex, err := file.RWMutex("rwlock", nil)
			must(err)
			mutex.Lock()
			return mutex, func() error { mutex.Unlock(); return nil }
		},
		"hold": func() (turnlock.ConditionLock, func() error) {
			mutex, err := file.RWMutex("rwlock", nil)
			must(err)
			hold, err := mutex.Acquire(anywhere, turnlock.Exclusive)
			must(err)
			return hold, hold.Release
		},
		"recursive": func() (turnlock.ConditionLock, func() error) {
			mutex, owner := recursive(file), turnlock.NewOwner()
			mutex.Locker(owner).Lock()
			mutex.Locker(owner).Lock()
			return mutex.Locker(owner), func() error {
				if depth := mutex.Depth(owner); depth != 2 {
					return fmt.Errorf("the owner has it %d times", depth)
				}
				must(mutex.Release(owner))
				return mutex.Release(owner)
			}
		},
	}
}

// Of every kind of lock: another one has it meanwhile, a context ends the wait at once, and the lock is held again.
func TestAContextEndsAWaitAtAConditionWithTheLockHeld(t *testing.T) {
	file, _ := newFile(t)
	for kind, hold := range heldInEveryWay(file) {
		t.Run(kind, func(t *testing.T) {
			changed, err := file.Condition("changed "+kind, nil)
			must(err)
			lock, release := hold()
			cancelled, cancel := context.WithCancel(anywhere)
			go func() {
				untilAsleep(changed, 1)
				_, release := hold()
				must(release())
				cancel()
			}()
			acquired, err := changed.Wait(cancelled, lock)
			expect(t, err, context.Canceled)
			if acquired.FencingToken == 0 {
				t.Fatal("no word of the lock")
			}
			// Done already: it stays locked.
			_, err = changed.Wait(cancelled, lock)
			expect(t, err, context.Canceled)
			limited, end := context.WithTimeout(anywhere, 10*time.Millisecond)
			defer end()
			_, err = changed.Wait(limited, lock)
			expect(t, err, context.DeadlineExceeded)
			// The next wait is not ended by what was cancelled before.
			go func() {
				untilAsleep(changed, 1)
				_, err := changed.NotifyOne()
				must(err)
			}()
			_, err = changed.Wait(anywhere, lock)
			must(err)
			must(release())
			if waiters, err := changed.Waiters(); len(waiters) != 0 || err != nil {
				t.Fatal(waiters, err)
			}
		})
	}
}

func TestMisuseOfACondition(t *testing.T) {
	changed, mutex, file, _ := newCondition(t)
	other, err := file.Mutex("other", nil)
	must(err)
	rwlock, err := file.RWMutex("rwlock", nil)
	must(err)
	second, _ := newFile(t)
	foreign := opened(second, "mutex").(*turnlock.Mutex)
	waitWith := func(lock turnlock.ConditionLock) error {
		_, err := changed.Wait(anywhere, lock)
		return err
	}
	expect(t, waitWith(mutex), turnlock.ErrNotOwner)
	expect(t, waitWith(rwlock), turnlock.ErrNotOwner)
	expect(t, waitWith(recursive(file).Locker(turnlock.NewOwner())), turnlock.ErrNotOwner)
	expect(t, waitWith(recursive(file).Locker(nil)), turnlock.ErrNotOwner)
	expect(t, waitWith(&turnlock.Mutex{}), turnlock.ErrClosed)
	foreign.Lock()
	expect(t, waitWith(foreign), turnlock.ErrInvalidArgument)
	must(foreign.Release())
	reader, err := rwlock.Acquire(anywhere, turnlock.Shared)
	must(err)
	expect(t, waitWith(reader), turnlock.ErrNotExclusive)
	must(reader.Release())
	expect(t, waitWith(reader), turnlock.ErrNotOwner)
	_, err = file.Condition("mutex", nil)
	expect(t, err, turnlock.ErrKind)
	_, err = file.Condition("a\x00b", nil)
	expect(t, err, turnlock.ErrBadName)
	_, err = file.Condition("none", &turnlock.ConditionOptions{MustExist: true})
	expect(t, err, turnlock.ErrNotFound)

	// With one lock at a time.
	ended := make(chan error, 1)
	mutex.Lock()
	go func() {
		err := waitWith(mutex)
		ended <- err
	}()
	untilAsleep(changed, 1)
	other.Lock()
	expect(t, waitWith(other), turnlock.ErrInvalidArgument)
	must(other.Release())
	expect(t, file.RemoveLock("changed"), turnlock.ErrInUse)
	expect(t, mutex.Close(), turnlock.ErrStillHeld)

	// To close it ends the wait, also where the caller has the lock.
	another := opened(file, "mutex")
	another.Lock()
	must(changed.Close())
	_, err = changed.NotifyOne()
	expect(t, err, turnlock.ErrClosed)
	another.Unlock()
	expect(t, <-ended, turnlock.ErrClosed)
	must(mutex.Release())
	must(changed.Close())
	expect(t, waitWith(mutex), turnlock.ErrClosed)
	_, err = (&turnlock.Condition{}).NotifyAll()
	expect(t, err, turnlock.ErrClosed)
}

// A lock that was closed for everyone meanwhile.
func TestALockThatCannotBeTakenAgainIsNotHeld(t *testing.T) {
	changed, mutex, file, _ := newCondition(t)
	another := opened(file, "mutex")
	ended := make(chan error)
	mutex.Lock()
	go func() {
		_, err := changed.Wait(anywhere, mutex)
		ended <- err
	}()
	untilAsleep(changed, 1)
	another.Lock()
	must(another.Abandon())
	another.Lock()
	must(another.Release())
	_, err := changed.NotifyOne()
	must(err)
	expect(t, <-ended, turnlock.ErrNotRecoverable)
	expect(t, mutex.Release(), turnlock.ErrNotOwner)
	must(mutex.Reset(anywhere))
	mutex.Lock()
	mutex.Unlock()
	must(mutex.Close())
}

func TestAnEventLetsAllGoThatWait(t *testing.T) {
	file, path := newFile(t)
	ready, err := file.Event("ready", nil)
	must(err)
	var waiters []*actor
	for i := 0; i < 3; i++ {
		waiters = append(waiters, start(t, path, "await"))
	}
	here := make(chan error, 10)
	for i := 0; i < 10; i++ {
		go func() { here <- ready.Wait(anywhere) }()
	}
	untilAsleep(ready, 13)
	// The dead disturb nothing.
	waiters[2].kill()
	must(ready.Set())
	must(ready.Clear())
	waiters[0].expect("done")
	waiters[1].expect("done")
	for i := 0; i < 10; i++ {
		must(<-here)
	}
	limited, end := context.WithTimeout(anywhere, 10*time.Millisecond)
	defer end()
	expect(t, ready.Wait(limited), context.DeadlineExceeded)
	must(ready.Set())
	if isSet, err := ready.IsSet(); !isSet || err != nil {
		t.Fatal(isSet, err)
	}
	expect(t, ready.Wait(limited), context.DeadlineExceeded)
	must(ready.Wait(anywhere))
}

func TestAContextOrACloseEndsAWaitForAnEvent(t *testing.T) {
	file, _ := newFile(t)
	ready, err := file.Event("ready", nil)
	must(err)
	for i := 0; i < 50; i++ {
		cancelled, cancel := context.WithCancel(anywhere)
		go cancel()
		expect(t, ready.Wait(cancelled), context.Canceled)
	}
	ended := make(chan error)
	go func() { ended <- ready.Wait(anywhere) }()
	untilAsleep(ready, 1)
	must(ready.Close())
	expect(t, <-ended, turnlock.ErrClosed)
	expect(t, ready.Set(), turnlock.ErrClosed)
	expect(t, (&turnlock.Event{}).Wait(anywhere), turnlock.ErrClosed)
	if err := ready.Clear(); !strings.Contains(err.Error(), "the event is closed") {
		t.Fatal(err)
	}
	_, err = file.Event("none", &turnlock.EventOptions{MustExist: true})
	expect(t, err, turnlock.ErrNotFound)
}

func newBarrier(t *testing.T, parties uint32) (*turnlock.Barrier, *turnlock.File, string) {
	file, path := newFile(t)
	stage, err := file.Barrier("stage", &turnlock.BarrierOptions{Parties: parties})
	must(err)
	return stage, file, path
}

func TestABarrierLetsAllGoOnWhenTheLastOneHasCome(t *testing.T) {
	const parties, rounds = 4, 100
	stage, _, _ := newBarrier(t, parties)
	var come, last int32
	var all sync.WaitGroup
	for party := 0; party < parties; party++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for round := int32(1); round <= rounds; round++ {
				atomic.AddInt32(&come, 1)
				isLast, err := stage.Wait(anywhere)
				must(err)
				if isLast {
					atomic.AddInt32(&last, 1)
				}
				if atomic.LoadInt32(&come) < round*parties {
					panic("it went on too early")
				}
				_, err = stage.Wait(anywhere)
				must(err)
			}
		}()
	}
	all.Wait()
	if last != rounds {
		t.Fatal(last)
	}
	if state, err := stage.State(); err != nil || state != (turnlock.BarrierState{Parties: parties}) {
		t.Fatal(state, err)
	}
}

func TestTheDeathOfAPartyBreaksABarrierAndIsNamed(t *testing.T) {
	stage, _, path := newBarrier(t, 3)
	doomed, other := start(t, path, "meet"), start(t, path, "meet")
	untilAsleep(stage, 2)
	doomed.kill()
	name := fmt.Sprintf("process %d", doomed.process.Process.Pid)
	if said := other.hear(); !strings.Contains(said, name) {
		t.Fatal(said)
	}
	_, err := stage.Wait(anywhere)
	expect(t, err, turnlock.ErrBrokenBarrier)
	if state, err := stage.State(); err != nil || !state.IsBroken {
		t.Fatal(state, err)
	}
	must(stage.Reset())

	// One that has left in good order is no party any more.
	leaves := start(t, path, "meet")
	other.tell("again")
	untilAsleep(stage, 2)
	_, err = stage.Wait(anywhere)
	must(err)
	other.expect("met")
	leaves.expect("met")
	leaves.tell("leave")
	leaves.expect("done")
	must(leaves.process.Wait())
	next := start(t, path, "meet")
	other.tell("again")
	untilAsleep(stage, 2)
	time.Sleep(150 * time.Millisecond)
	_, err = stage.Wait(anywhere)
	must(err)
	other.expect("met")
	next.expect("met")

	// One that dies elsewhere, after it has waited here, breaks it, too.
	next.kill()
	name = fmt.Sprintf("process %d", next.process.Process.Pid)
	other.tell("again")
	if said := other.hear(); !strings.Contains(said, name) {
		t.Fatal(said)
	}
	other.tell("leave")
	other.expect("done")
}

func TestAContextAnAbortOrAResetBreaksABarrier(t *testing.T) {
	stage, file, _ := newBarrier(t, 3)
	broken := make(chan error)
	brokenBy := func(end func()) {
		go func() {
			_, err := stage.Wait(anywhere)
			broken <- err
		}()
		untilAsleep(stage, 1)
		end()
		expect(t, <-broken, turnlock.ErrBrokenBarrier)
		must(stage.Reset())
	}
	brokenBy(func() { must(stage.Abort()) })
	brokenBy(func() { must(stage.Reset()) })
	brokenBy(func() {
		limited, end := context.WithTimeout(anywhere, 10*time.Millisecond)
		defer end()
		_, err := stage.Wait(limited)
		expect(t, err, context.DeadlineExceeded)
		// Done already: it breaks nothing.
		must(stage.Reset())
		_, err = stage.Wait(limited)
		expect(t, err, context.DeadlineExceeded)
		if state, err := stage.State(); err != nil || state.IsBroken {
			t.Fatal(state, err)
		}
	})
	_, err := file.Barrier("stage", &turnlock.BarrierOptions{Parties: 4})
	expect(t, err, turnlock.ErrKind)
	_, err = file.Barrier("many", &turnlock.BarrierOptions{Parties: 5000})
	expect(t, err, turnlock.ErrInvalidArgument)
	_, err = file.Barrier("none", nil)
	expect(t, err, turnlock.ErrNotFound)
	_, err = (&turnlock.Barrier{}).State()
	expect(t, err, turnlock.ErrClosed)
}

func newOnce(t *testing.T) (*turnlock.Once, *turnlock.File, string) {
	file, path := newFile(t)
	schema, err := file.Once("schema", nil)
	must(err)
	return schema, file, path
}

func TestOneOfManyDoesIt(t *testing.T) {
	shared, file, _ := newOnce(t)
	var times, told int32
	var all sync.WaitGroup
	for i := 0; i < 20; i++ {
		once := shared
		if i%2 == 1 {
			another, err := file.Once("schema", nil)
			must(err)
			once = another
		}
		all.Add(1)
		go func() {
			defer all.Done()
			done, err := once.Do(anywhere, func(previousDied bool) error {
				if previousDied {
					panic("no participant died")
				}
				time.Sleep(5 * time.Millisecond)
				atomic.AddInt32(&times, 1)
				return nil
			})
			must(err)
			if done {
				atomic.AddInt32(&told, 1)
			}
			if atomic.LoadInt32(&times) != 1 {
				panic("it is not done yet")
			}
		}()
	}
	all.Wait()
	if times != 1 || told != 1 {
		t.Fatal(times, told)
	}
	must(shared.Reset(anywhere))
	if isDone, err := shared.IsDone(); isDone || err != nil {
		t.Fatal(isDone, err)
	}
}

func TestTheNextOneDoesItWhenOneDiedAtIt(t *testing.T) {
	schema, _, path := newOnce(t)
	doomed := start(t, path, "begin")
	doomed.expect("at it false")
	next := start(t, path, "begin")
	untilAsleep(schema, 1)
	limited, end := context.WithTimeout(anywhere, 20*time.Millisecond)
	defer end()
	_, err := schema.Do(limited, func(bool) error { panic("two at it") })
	expect(t, err, context.DeadlineExceeded)
	expect(t, schema.Reset(limited), context.DeadlineExceeded)
	doomed.kill()
	next.expect("at it true")
	waits := start(t, path, "begin")
	untilAsleep(schema, 1)
	next.tell("go on")
	next.expect("done")
	waits.expect("done")
	if done, err := schema.Do(anywhere, func(bool) error { panic("twice") }); done || err != nil {
		t.Fatal(done, err)
	}
	if dead, err := schema.PreviousRunner(); err != nil || int(dead.Pid) != doomed.process.Process.Pid {
		t.Fatal(dead, err)
	}
}

func TestWhatFailsIsNotDone(t *testing.T) {
	schema, file, _ := newOnce(t)
	done, err := schema.Do(anywhere, func(bool) error { return os.ErrExist })
	expect(t, err, os.ErrExist)
	if done {
		t.Fatal("it failed")
	}
	failure := panics(t, func() { _, _ = schema.Do(anywhere, func(bool) error { panic(os.ErrExist) }) })
	expect(t, failure, os.ErrExist)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_, _ = schema.Do(anywhere, func(bool) error { runtime.Goexit(); return nil })
	}()
	<-exited
	done, err = schema.Do(anywhere, func(previousDied bool) error {
		expect(t, schema.Close(), turnlock.ErrStillHeld)
		expect(t, file.RemoveLock("schema"), turnlock.ErrInUse)
		// Other work of the same goroutine moves it to whichever thread.
		runtime.Gosched()
		return nil
	})
	if !done || err != nil {
		t.Fatal(done, err)
	}
	must(schema.Close())
	_, err = schema.Do(anywhere, func(bool) error { return nil })
	expect(t, err, turnlock.ErrClosed)
	_, err = (&turnlock.Once{}).IsDone()
	expect(t, err, turnlock.ErrClosed)
}

// Calls that belong to threads take as many slots as there are of them at once, however many threads Go has; and these come
// back.
func TestThreadsOfAFileTakeFewSlotsAndGiveThemBack(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, path := newFile(t)
	for turn := 0; turn < 10; turn++ {
		file, err := turnlock.Open(path+"2", &turnlock.FileOptions{Participants: 8})
		must(err)
		// There is room for these if what the turn before took is free at once.
		var mutexes []*turnlock.Mutex
		for i := 0; i < 7; i++ {
			mutex, err := file.Mutex("mutex", nil)
			must(err)
			mutexes = append(mutexes, mutex)
		}
		for _, mutex := range mutexes {
			must(mutex.Close())
		}
		changed, err := file.Condition("changed", nil)
		must(err)
		ready, err := file.Event("ready", nil)
		must(err)
		must(ready.Clear())
		ended := make(chan error, 4)
		for i := 0; i < 4; i++ {
			go func() { ended <- ready.Wait(anywhere) }()
		}
		untilAsleep(ready, 4)
		must(ready.Set())
		for i := 0; i < 4; i++ {
			must(<-ended)
		}
		// Each on a thread of Go's of its own.
		stay := make(chan struct{})
		for i := 0; i < 30; i++ {
			over := make(chan error)
			go func() {
				runtime.LockOSThread()
				_, err := changed.NotifyOne()
				over <- err
				<-stay
			}()
			must(<-over)
		}
		close(stay)
		must(ready.Close())
		must(changed.Close())
		must(file.Close())
	}
}

// What is garbage ends its threads.
func TestAFileThatIsGarbageEndsItsThreads(t *testing.T) {
	_, path := newFile(t)
	func() {
		file, err := turnlock.Open(path, nil)
		must(err)
		changed, err := file.Condition("changed", nil)
		must(err)
		_, err = changed.NotifyOne()
		must(err)
	}()
	goroutines := func() string {
		stacks := make([]byte, 1<<20)
		return string(stacks[:runtime.Stack(stacks, true)])
	}
	waitFor(func() bool {
		runtime.GC()
		return !strings.Contains(goroutines(), "(*thread).run")
	})
}
