package turnlock

// #include <stdlib.h>
// #include <turnlock.h>
import "C"

import (
	"os"
	"runtime"
	"sync"
	"unsafe"
)

// FileOptions says how to open, or create, a lock file. Zero values are the library's defaults.
type FileOptions struct {
	// Participants and Locks are how many there may be, 1 to 4096; 0 = 128 and 64.
	Participants, Locks uint32
	// Mode has the permission bits of a file that is created; 0 = 0600, or 0660 with a group.
	Mode os.FileMode
	// Group, if it is not nil, is the number of the group that a file that is created is given to.
	Group     *uint32
	MustExist bool
	// FullFences: do without membarrier (TURNLOCK_FILE_FULL_FENCES).
	FullFences bool
	// Label is what this process calls itself in `turnlock status` and in the owner-dead notice; "" = the program's name.
	Label string
}

// File is a lock file that is open. Any goroutine may use it. Locks that were opened from it stay open without it.
type File struct {
	mutex  sync.RWMutex
	handle *C.turnlock_file
	// isClosed: Close was called. The handle stays until the last lock that opens holds in it is closed too.
	isClosed bool
	keepers  int

	threads threads
}

// Open opens the lock file at path, or creates it. options may be nil.
func Open(path string, options *FileOptions) (*File, error) {
	if err := withoutNUL(path, ErrInvalidArgument, "path"); err != nil {
		return nil, err
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	return open(options, func(native *C.turnlock_file_options, handle **C.turnlock_file) C.int32_t {
		return C.turnlock_file_open(name, native, handle)
	})
}

// OpenDescriptor opens the lock file that a descriptor stands for, a memfd, say. The descriptor stays the caller's.
func OpenDescriptor(descriptor uintptr, options *FileOptions) (*File, error) {
	if descriptor > 1<<31-1 {
		return nil, &Error{ErrInvalidArgument, "there is no such descriptor"}
	}
	return open(options, func(native *C.turnlock_file_options, handle **C.turnlock_file) C.int32_t {
		return C.turnlock_file_open_descriptor(C.int32_t(descriptor), native, handle)
	})
}

func open(options *FileOptions, opens func(*C.turnlock_file_options, **C.turnlock_file) C.int32_t) (*File, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	if options == nil {
		options = &FileOptions{}
	}
	if err := withoutNUL(options.Label, ErrInvalidArgument, "label"); err != nil {
		return nil, err
	}
	if options.Mode&^os.ModePerm != 0 {
		return nil, &Error{ErrInvalidArgument, "the mode has more than permission bits: " + options.Mode.String()}
	}
	native := C.turnlock_file_options{
		participants: C.uint32_t(options.Participants),
		locks:        C.uint32_t(options.Locks),
		mode:         C.uint32_t(options.Mode),
	}
	native.size = C.size_t(unsafe.Sizeof(native))
	if options.Group != nil {
		native.group = C.uint32_t(*options.Group)
		native.flags |= C.TURNLOCK_FILE_GROUP
	}
	if options.MustExist {
		native.flags |= C.TURNLOCK_FILE_MUST_EXIST
	}
	if options.FullFences {
		native.flags |= C.TURNLOCK_FILE_FULL_FENCES
	}
	if options.Label != "" {
		native.label = C.CString(options.Label)
		defer C.free(unsafe.Pointer(native.label))
	}
	file := &File{}
	if _, err := call(func() C.int32_t { return opens(&native, &file.handle) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(file, (*File).Close)
	return file, nil
}

// with calls the library with the file's handle, which stays open meanwhile.
func (file *File) with(function func(*C.turnlock_file) C.int32_t) error {
	if file == nil {
		return closed("lock file")
	}
	file.mutex.RLock()
	defer file.mutex.RUnlock()
	if file.handle == nil || file.isClosed {
		return closed("lock file")
	}
	_, err := call(func() C.int32_t { return function(file.handle) })
	return err
}

// keep has the handle stay open until drop.
func (file *File) keep() error {
	file.mutex.Lock()
	defer file.mutex.Unlock()
	if file.handle == nil || file.isClosed {
		return closed("lock file")
	}
	file.keepers++
	return nil
}

func (file *File) drop() {
	file.mutex.Lock()
	defer file.mutex.Unlock()
	file.keepers--
	if file.isClosed && file.keepers == 0 {
		_ = file.closeHandle()
	}
}

// kept calls the library with the handle of a file that is kept.
func (file *File) kept(function func(*C.turnlock_file) C.int32_t) error {
	file.mutex.RLock()
	defer file.mutex.RUnlock()
	_, err := call(func() C.int32_t { return function(file.handle) })
	return err
}

// named is the same for a function that has the name of a lock.
func (file *File) named(name string, function func(*C.turnlock_file, *C.char) C.int32_t) error {
	if err := withoutNUL(name, ErrBadName, "name of a lock"); err != nil {
		return err
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return file.with(func(handle *C.turnlock_file) C.int32_t { return function(handle, text) })
}

// Path is the path by which the file was opened last, its folder resolved.
func (file *File) Path() (string, error) {
	path := make([]byte, 4097)
	for {
		var length C.size_t
		err := file.with(func(handle *C.turnlock_file) C.int32_t {
			return C.turnlock_file_path(handle, C.size_t(len(path)), (*C.char)(unsafe.Pointer(&path[0])), &length)
		})
		if err != nil {
			return "", err
		}
		if int(length) < len(path) {
			return string(path[:length]), nil
		}
		path = make([]byte, length+1)
	}
}

// RemoveLock removes a lock that no process uses, of whatever kind. One that is open is used while it is held or waited
// for.
func (file *File) RemoveLock(name string) error {
	return file.named(name, func(handle *C.turnlock_file, name *C.char) C.int32_t {
		return C.turnlock_file_remove_lock(handle, name)
	})
}

// Close closes the file. To close it again does nothing.
func (file *File) Close() error {
	file.mutex.Lock()
	defer file.mutex.Unlock()
	if file.handle == nil || file.isClosed {
		return nil
	}
	file.isClosed = true
	if file.keepers > 0 {
		return nil
	}
	return file.closeHandle()
}

func (file *File) closeHandle() error {
	runtime.SetFinalizer(file, nil)
	file.threads.end()
	handle := file.handle
	file.handle = nil
	_, err := call(func() C.int32_t { return C.turnlock_file_close(handle) })
	return err
}

// openHold opens a hold in the file, by one of the slots that the library keeps of it, unless it is to have a label or a slot of
// its choice.
func openHold(file *C.turnlock_file, label string, slot *uint32, hold **C.turnlock_hold) C.int32_t {
	if label == "" && slot == nil {
		return C.turnlock_hold_open(file, nil, hold)
	}
	options := (*C.turnlock_hold_options)(C.calloc(1, C.sizeof_turnlock_hold_options))
	defer C.free(unsafe.Pointer(options))
	options.size = C.sizeof_turnlock_hold_options
	if label != "" {
		options.label = C.CString(label)
		defer C.free(unsafe.Pointer(options.label))
	}
	if slot != nil {
		options.flags = C.TURNLOCK_HOLD_AT_SLOT
		options.slot = C.uint32_t(*slot)
	}
	return C.turnlock_hold_open(file, options, hold)
}
