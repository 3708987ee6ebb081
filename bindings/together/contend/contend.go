// contend.go KIND FOLDER TURNS [--die-at N]: contend.c in Go.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"turnlock.example/go"
)

const me = "contend.go"

func must(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", me, err)
		os.Exit(1)
	}
}

func number(text string) int {
	value, err := strconv.Atoi(strings.TrimSpace(text))
	must(err)
	return value
}

func readCounter() int {
	text, err := os.ReadFile("counter")
	must(err)
	return number(string(text))
}

func journalLines() int {
	text, err := os.ReadFile("journal")
	must(err)
	return bytes.Count(text, []byte("\n"))
}

func write(name string, flags int, text string) {
	file, err := os.OpenFile(name, os.O_WRONLY|flags, 0)
	must(err)
	_, err = io.WriteString(file, text)
	must(err)
	must(file.Close())
}

func writeCounter(count int)  { write("counter", 0, fmt.Sprintln(count)) }
func appendLine(token uint64) { write("journal", os.O_APPEND, fmt.Sprintln(me, token)) }

func waitToBeKilled() {
	fmt.Printf("%s: stopped inside; now: kill -9 %d\n", me, os.Getpid())
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

func writeAndRead(lock *turnlock.RWMutex, dies bool) {
	writer, err := lock.Acquire(context.Background(), turnlock.Exclusive)
	must(err)
	if writer.Acquired().OwnerDied {
		writeCounter(journalLines())
		dead, err := lock.PreviousOwner()
		must(err)
		fmt.Printf("%s: told that %s (process %d) died inside\n", me, dead.Label, dead.Pid)
		must(writer.MarkConsistent())
	}
	count := readCounter()
	appendLine(writer.Acquired().FencingToken)
	if dies {
		waitToBeKilled()
	}
	writeCounter(count + 1)
	must(writer.Release())
	reader, err := lock.Acquire(context.Background(), turnlock.Shared)
	must(err)
	if !reader.Acquired().OwnerDied && readCounter() != journalLines() {
		must(errors.New("a reader saw half a turn"))
	}
	must(reader.Release())
}

func withPermit(semaphore *turnlock.Semaphore, dies bool) {
	must(semaphore.Acquire(context.Background(), 1))
	if dies {
		waitToBeKilled()
	}
	count := readCounter()
	appendLine(0)
	writeCounter(count + 1)
	must(semaphore.Release(1))
}

func main() {
	arguments := os.Args[1:]
	kind, turns, dieAt := arguments[0], number(arguments[2]), 0
	if len(arguments) == 5 {
		dieAt = number(arguments[4])
	}
	must(os.Chdir(arguments[1]))
	file, err := turnlock.Open("demo.lock", &turnlock.FileOptions{Label: me})
	must(err)
	lock, semaphore := (*turnlock.RWMutex)(nil), (*turnlock.Semaphore)(nil)
	if kind == "rwlock" {
		// Readers rely on what a dead writer left being repaired first.
		informs := turnlock.LockOptions{OnDeath: turnlock.InformOnDeath}
		lock, err = file.RWMutex(kind, &turnlock.RWMutexOptions{LockOptions: informs})
	} else {
		semaphore, err = file.Semaphore(kind, nil)
	}
	must(err)
	for turn := 1; turn <= turns; turn++ {
		if lock != nil {
			writeAndRead(lock, turn == dieAt)
		} else {
			withPermit(semaphore, turn == dieAt)
		}
	}
}
