// The pool has workers that do jobs, of which so many at a time are at work on this machine, whichever process they are in:
// a limit for what is scarce, such as memory, connections or a licence.
//
//	go run . FOLDER JOBS [AT-ONCE]
//
// Start it several times with the same FOLDER: the semaphore jobs of pool.lock has AT-ONCE permits (2, if nothing is said
// by the first process). Kill one of the processes, and its permits come back. Ctrl-C ends the waits and lets the jobs
// at work finish. Each job writes two lines into the file log, as it begins and as it ends.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"turnlock.example/go"
)

const workers = 8

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pool:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) != 2 && len(arguments) != 3 {
		return fmt.Errorf("usage: pool FOLDER JOBS [AT-ONCE]")
	}
	jobs, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	atOnce := uint64(2)
	if len(arguments) == 3 {
		if atOnce, err = strconv.ParseUint(arguments[2], 10, 32); err != nil {
			return err
		}
	}
	file, err := turnlock.Open(filepath.Join(arguments[0], "pool.lock"), nil)
	if err != nil {
		return err
	}
	permits, err := file.Semaphore("jobs", &turnlock.SemaphoreOptions{Permits: uint32(atOnce)})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(arguments[0], "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()

	queue := make(chan int)
	failures := make(chan error, workers)
	var all sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for number := range queue {
				if err := work(ctx, permits, log, number); err != nil {
					failures <- err
					return
				}
			}
		}()
	}
	for number := 1; number <= jobs; number++ {
		select {
		case queue <- number:
		case err := <-failures:
			failures <- err
			number = jobs
		}
	}
	close(queue)
	all.Wait()
	select {
	case err := <-failures:
		return err
	default:
		fmt.Println("pool: done,", jobs, "jobs")
		return nil
	}
}

func work(ctx context.Context, permits *turnlock.Semaphore, log *os.File, number int) (err error) {
	if err := permits.Acquire(ctx, 1); err != nil {
		return err
	}
	defer func() {
		if released := permits.Release(1); err == nil {
			err = released
		}
	}()
	// One write for each line, so that the lines of several processes do not mix.
	if _, err := fmt.Fprintf(log, "begin %d %d\n", os.Getpid(), number); err != nil {
		return err
	}
	time.Sleep(2 * time.Millisecond)
	_, err = fmt.Fprintf(log, "end %d %d\n", os.Getpid(), number)
	return err
}
