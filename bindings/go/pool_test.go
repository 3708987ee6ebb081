package turnlock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The example in examples/pool, in three processes.
func TestThePoolHasSoManyAtWork(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "pool")
	if said, err := exec.Command("go", "build", "-o", program, "./examples/pool").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, said)
	}
	var processes []*exec.Cmd
	for i := 0; i < 3; i++ {
		process := exec.Command(program, folder, "40", "3")
		process.Stderr = os.Stderr
		must(process.Start())
		processes = append(processes, process)
	}
	for _, process := range processes {
		must(process.Wait())
	}
	log, err := os.ReadFile(filepath.Join(folder, "log"))
	must(err)
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	inside, most := 0, 0
	for _, line := range lines {
		if strings.HasPrefix(line, "begin ") {
			inside++
		} else {
			inside--
		}
		if inside > most {
			most = inside
		}
	}
	if len(lines) != 2*3*40 || inside != 0 || most > 3 || most < 2 {
		t.Fatalf("%d lines, %d at work at once", len(lines), most)
	}
}
