package turnlock_test

import (
	"sync"
	"testing"
	"time"

	turnlock "turnlock.example/go"
)

// sections are how a program takes a lock that knows nothing of deaths: it opens it, and gives what locks and unlocks it.
var sections = map[string]func(file *turnlock.File) sync.Locker{
	"mutex": func(file *turnlock.File) sync.Locker { return openedAs(file, "mutex", turnlock.AnyOnDeath) },
	"ring":  func(file *turnlock.File) sync.Locker { return openedAs(file, "ring", turnlock.AnyOnDeath) },
	"recursive": func(file *turnlock.File) sync.Locker {
		mutex, err := file.RecursiveMutex("recursive", nil)
		must(err)
		return mutex.Locker(turnlock.NewOwner())
	},
	"rwlock": func(file *turnlock.File) sync.Locker {
		mutex, err := file.RWMutex("rwlock", nil)
		must(err)
		return mutex
	},
}

func TestAKilledHolderEndsNoneOfTheOthers(t *testing.T) {
	for kind, open := range sections {
		t.Run(kind, func(t *testing.T) {
			file, path := newFile(t)
			dieInside(t, path, kind)
			var all sync.WaitGroup
			inside := 0
			for other := 0; other < 7; other++ {
				lock := open(file)
				all.Add(1)
				go func() {
					defer all.Done()
					for turn := 0; turn < 10; turn++ {
						lock.Lock()
						inside++
						lock.Unlock()
					}
				}()
			}
			all.Wait()
			if inside != 70 {
				t.Fatal(inside)
			}
		})
	}
}

// opens are the ways to open a lock, each with a name of its own.
var opens = map[string]func(file *turnlock.File, name string, options turnlock.LockOptions) error{
	"mutex": func(file *turnlock.File, name string, options turnlock.LockOptions) error {
		_, err := file.Mutex(name, &turnlock.MutexOptions{LockOptions: options})
		return err
	},
	"recursive": func(file *turnlock.File, name string, options turnlock.LockOptions) error {
		_, err := file.RecursiveMutex(name, &turnlock.MutexOptions{LockOptions: options})
		return err
	},
	"ring": func(file *turnlock.File, name string, options turnlock.LockOptions) error {
		_, err := file.TurnRing(name, &turnlock.RingOptions{LockOptions: options})
		return err
	},
	"rwlock": func(file *turnlock.File, name string, options turnlock.LockOptions) error {
		_, err := file.RWMutex(name, &turnlock.RWMutexOptions{LockOptions: options})
		return err
	},
	"ranges": func(file *turnlock.File, name string, options turnlock.LockOptions) error {
		_, err := file.RangeLock(name, &options)
		return err
	},
	"keys": func(file *turnlock.File, name string, options turnlock.LockOptions) error {
		_, err := file.KeyedLock(name, &options)
		return err
	},
	"groups": func(file *turnlock.File, name string, options turnlock.LockOptions) error {
		_, err := file.GroupLock(name, &options)
		return err
	},
}

func TestADeathPolicyThatIsAskedForIsTheLocksOrAnError(t *testing.T) {
	file, _ := newFile(t)
	for kind, open := range opens {
		for _, policy := range []turnlock.DeathPolicy{turnlock.AnyOnDeath, turnlock.InformOnDeath, turnlock.ReleaseOnDeath} {
			name := kind + string(rune('0'+policy))
			other := turnlock.InformOnDeath
			if policy == turnlock.InformOnDeath {
				other = turnlock.ReleaseOnDeath
			}
			must(open(file, name, turnlock.LockOptions{OnDeath: policy}))
			must(open(file, name, turnlock.LockOptions{OnDeath: policy}))
			must(open(file, name, turnlock.LockOptions{}))
			expect(t, open(file, name, turnlock.LockOptions{OnDeath: other}), turnlock.ErrKind)
		}
		expect(t, open(file, "none", turnlock.LockOptions{OnDeath: 7}), turnlock.ErrInvalidArgument)
	}
}

func TestAPatienceThatIsAskedForIsTheLocksOrAnError(t *testing.T) {
	file, _ := newFile(t)
	kinds := map[string]func(name string, patience time.Duration, strict bool) error{
		"mutex": func(name string, patience time.Duration, strict bool) error {
			_, err := file.Mutex(name, &turnlock.MutexOptions{Patience: patience, Strict: strict})
			return err
		},
		"rwlock": func(name string, patience time.Duration, strict bool) error {
			_, err := file.RWMutex(name, &turnlock.RWMutexOptions{Patience: patience, Strict: strict})
			return err
		},
		"semaphore": func(name string, patience time.Duration, strict bool) error {
			_, err := file.Semaphore(name, &turnlock.SemaphoreOptions{Patience: patience, Strict: strict})
			return err
		},
	}
	for kind, open := range kinds {
		must(open(kind+" strict", 0, true))
		must(open(kind+" strict", 0, false))
		expect(t, open(kind+" strict", time.Millisecond, false), turnlock.ErrKind)
		must(open(kind+" usual", 0, false))
		must(open(kind+" usual", time.Millisecond, false))
		expect(t, open(kind+" usual", 0, true), turnlock.ErrKind)
	}
}
