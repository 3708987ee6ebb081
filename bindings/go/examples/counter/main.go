// The counter adds to a number in a plain file, together with other programs, one at a time.
//
//	go run . FOLDER TURNS [--die-at N]
//
// A turn reads the number in the file counter, adds a line to journal and writes the number plus one. The lock counter of
// demo.lock keeps other programs out meanwhile: examples/counter.c has the whole story.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"turnlock.example/go"
)

const me = "counter.go"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", me, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 2 && !(len(arguments) == 4 && arguments[2] == "--die-at") {
		return fmt.Errorf("usage: counter FOLDER TURNS [--die-at N]")
	}
	turns, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	dieAt := 0
	if len(arguments) == 4 {
		if dieAt, err = strconv.Atoi(arguments[3]); err != nil {
			return err
		}
	}
	if err := os.Chdir(arguments[0]); err != nil {
		return err
	}

	// The label is what others read when this program dies.
	file, err := turnlock.Open("demo.lock", &turnlock.FileOptions{Label: me})
	if err != nil {
		return err
	}
	mutex, err := file.Mutex("counter", nil)
	if err != nil {
		return err
	}
	for turn := 1; turn <= turns; turn++ {
		// A panic inside abandons the lock, and the next holder is told.
		err := mutex.Do(context.Background(), func(acquired turnlock.Acquired) error {
			return takeTurn(mutex, acquired, turn, dieAt)
		})
		if err != nil {
			return err
		}
	}
	fmt.Printf("%s: done, %d turns\n", me, turns)
	return nil
}

func takeTurn(mutex *turnlock.Mutex, acquired turnlock.Acquired, turn, dieAt int) error {
	if acquired.OwnerDied {
		if err := repair(mutex); err != nil {
			return err
		}
	}
	text, err := os.ReadFile("counter")
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	if err := appendToJournal(acquired.FencingToken); err != nil {
		return err
	}
	if turn == dieAt {
		fmt.Printf("%s: stopped half-way through turn %d, with fencing token %d; now: kill -9 %d\n",
			me, turn, acquired.FencingToken, os.Getpid())
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}
	return writeCounter(count + 1)
}

// repair: the holder before died inside, perhaps between the journal and the counter. The journal is written first, so it
// is right; the counter is made to agree with it.
func repair(mutex *turnlock.Mutex) error {
	journal, err := os.ReadFile("journal")
	if err != nil {
		return err
	}
	count := bytes.Count(journal, []byte("\n"))
	if err := writeCounter(count); err != nil {
		return err
	}
	dead, err := mutex.PreviousOwner()
	if err != nil {
		return err
	}
	fmt.Printf("%s: told that %s (process %d) died inside; set the counter to %d\n", me, dead.Label, dead.Pid, count)
	// Only now: a lock whose death policy is inform would be closed by an unlock without it.
	return mutex.MarkConsistent()
}

// In place, since the number never gets shorter.
func writeCounter(count int) error {
	file, err := os.OpenFile("counter", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, count)
	return err
}

func appendToJournal(token uint64) error {
	file, err := os.OpenFile("journal", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, me, token)
	return err
}
