package turnlock_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"turnlock.example/go"
)

// In a file with slots for what is held at once, and for the thread that creates the locks, but no more.
func TestWhatIsReleasedGivesItsSlotsBack(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, label := range []string{"", "with a label"} {
		file, err := turnlock.Open(filepath.Join(t.TempDir(), "lock"), &turnlock.FileOptions{Participants: 5})
		must(err)
		options := turnlock.LockOptions{Label: label}
		mutex, err := file.RWMutex("rwlock", &turnlock.RWMutexOptions{LockOptions: options})
		must(err)
		semaphore, err := file.Semaphore("semaphore", &turnlock.SemaphoreOptions{Permits: 4, Label: label})
		must(err)
		ranges, err := file.RangeLock("ranges", &options)
		must(err)
		keys, err := file.KeyedLock("keys", &options)
		must(err)
		groups, err := file.GroupLock("groups", &options)
		must(err)
		for turn := 0; turn < 20; turn++ {
			for i := 0; i < 3; i++ {
				mutex.RLock()
			}
			if mutex.TryLock() {
				t.Fatal("a writer beside readers")
			}
			for i := 0; i < 3; i++ {
				mutex.RUnlock()
			}
			must(semaphore.Acquire(anywhere, 1))
			must(semaphore.Acquire(anywhere, 3))
			must(semaphore.Release(4))
			part, err := ranges.Acquire(anywhere, 1, 2, turnlock.Exclusive)
			must(err)
			if holders, err := ranges.Holders(); err != nil || len(holders) != 1 || (label != "" && holders[0].Label != label) {
				t.Fatal(holders, err)
			}
			key, err := keys.Acquire(anywhere, "key", turnlock.Shared)
			must(err)
			_, err = keys.TryAcquire("key", turnlock.Exclusive)
			expect(t, err, turnlock.ErrWouldBlock)
			must(key.Release())
			member, err := groups.Acquire(anywhere, 7)
			must(err)
			_, err = groups.TryAcquire(8)
			expect(t, err, turnlock.ErrWouldBlock)
			must(member.Release())
			must(part.Release())
		}
		// Other slots are needed now than those that were given back.
		var all []*turnlock.Mutex
		for i := 0; i < 4; i++ {
			mutex, err := file.Mutex("mutex", &turnlock.MutexOptions{LockOptions: turnlock.LockOptions{Label: "another"}})
			must(err)
			all = append(all, mutex)
		}
		_, err = mutex.TryAcquire(turnlock.Shared)
		expect(t, err, turnlock.ErrParticipantsFull)
		for _, mutex := range all {
			must(mutex.Close())
		}
		mutex.Lock()
		mutex.Unlock()
	}
}
