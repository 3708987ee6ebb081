'use strict';
// libturnlock as this thread calls it: the functions, the structs, and what the numbers of turnlock.h are called.

const koffi = require('koffi');
const { TurnlockError, STATUS } = require('./errors');

const ABI_VERSION = 4;
const OWNER_DEAD = 1;
const CONTENDED = 2;
const DONE = 3;
const MODES = { exclusive: 0, shared: 1, upgradable: 2, upgrading: 3 };
const WAITS = { FOREVER: 0, NEVER: 1, AT_MOST: 2, UNTIL: 3 };
const FLAGS = {
  FILE_MUST_EXIST: 1,
  FILE_GROUP: 2,
  FILE_FULL_FENCES: 4,
  MUTEX_RECURSIVE: 8,
  RING_MEMBER: 2,
  HOLD_AT_SLOT: 8,
  INFO_WHOLE_KEY: 8,
  CONDITION_MUST_EXIST: 1,
  EVENT_MUST_EXIST: 1,
  BARRIER_MUST_EXIST: 1,
  ONCE_MUST_EXIST: 1,
  ONCE_ACROSS_BOOTS: 2,
};
// Of every kind that has them, they have the same numbers.
const LOCK_FLAGS = { MUST_EXIST: 1, STRICT: 2, RELEASE_ON_DEATH: 4, INFORM_ON_DEATH: 16, RELEASE_BY_DEFAULT: 32 };
const KINDS = ['mutex', 'ring', 'rwlock', 'semaphore', 'rangelock', 'keyedlock', 'grouplock'];

const library = load();

function load() {
  const named = process.env.TURNLOCK_LIBRARY;
  const tried = named ? [named] : [`libturnlock.so.${ABI_VERSION}`, 'libturnlock.so'];
  const reasons = [];
  for (const path of tried) {
    let library;
    try {
      library = koffi.load(path);
    } catch (error) {
      reasons.push(`${path}: ${error.message}`);
      continue;
    }
    const found = library.func('uint32_t turnlock_abi_version()')();
    if (found !== ABI_VERSION) {
      throw new TurnlockError(
        STATUS.UNSUPPORTED,
        `${path} has ABI version ${found}, and this package was made for ${ABI_VERSION}: install that one`,
      );
    }
    return library;
  }
  throw new TurnlockError(
    STATUS.UNSUPPORTED,
    `libturnlock is not found (${reasons.join('; ')}): install it, or say where it is in TURNLOCK_LIBRARY`,
  );
}

// Handles are addresses, so that another thread can be told of them. Structs that are filled in are buffers. What a struct points
// to, koffi keeps until the call is over: all calls return before they give their thread back to JavaScript.
const handle = 'uintptr_t';
const handleOut = koffi.out(koffi.pointer('uintptr_t'));
const buffer = 'void *';
const string = 'const char *';

const fileOptions = koffi.struct({
  size: 'size_t',
  participants: 'uint32_t',
  locks: 'uint32_t',
  mode: 'uint32_t',
  group: 'uint32_t',
  flags: 'uint32_t',
  mailboxes: 'uint32_t',
  label: string,
  should_stop_waiting: 'void *',
  context: 'void *',
  recorded_events: 'uint32_t',
  reserved: 'uint32_t',
});
const holdOptions = koffi.struct({ size: 'size_t', label: string, flags: 'uint32_t', slot: 'uint32_t' });
const mutexOptions = koffi.struct({
  size: 'size_t',
  algorithm: 'uint32_t',
  flags: 'uint32_t',
  patience_ns: 'uint64_t',
});
const ringOptions = koffi.struct({
  size: 'size_t',
  algorithm: 'uint32_t',
  flags: 'uint32_t',
  step: 'uint32_t',
  reserved: 'uint32_t',
});
const rwlockOptions = koffi.struct({ size: 'size_t', flags: 'uint32_t', patience_ns: 'uint64_t' });
const semaphoreOptions = koffi.struct({
  size: 'size_t',
  flags: 'uint32_t',
  permits: 'uint32_t',
  patience_ns: 'uint64_t',
});
const partsOptions = koffi.struct({ size: 'size_t', flags: 'uint32_t', reserved: 'uint32_t' });
const lockOptions = {
  mutex: mutexOptions,
  ring: ringOptions,
  rwlock: rwlockOptions,
  semaphore: semaphoreOptions,
  rangelock: partsOptions,
  keyedlock: partsOptions,
  grouplock: partsOptions,
};
const request = koffi.struct({
  size: 'size_t',
  lock: handle,
  mode: 'uint32_t',
  flags: 'uint32_t',
  permits: 'uint32_t',
  wait: 'uint32_t',
  time_ns: 'uint64_t',
  ranges: koffi.pointer(koffi.struct({ start: 'uint64_t', end: 'uint64_t' })),
  range_count: 'size_t',
  keys: koffi.pointer(koffi.struct({ data: buffer, size: 'size_t' })),
  key_count: 'size_t',
  group: 'uint64_t',
});
const text = koffi.array('char', 64, 'String');
const previousOwner = koffi.struct({
  size: 'size_t',
  fencing_token: 'uint64_t',
  pid: 'uint32_t',
  thread: 'uint32_t',
  label: text,
});
const participantInfo = koffi.struct({
  size: 'size_t',
  fencing_token: 'uint64_t',
  duration_ns: 'uint64_t',
  slot: 'uint32_t',
  pid: 'uint32_t',
  thread: 'uint32_t',
  life: 'uint32_t',
  state: 'uint32_t',
  mode: 'uint32_t',
  flags: 'uint32_t',
  activity: 'uint32_t',
  label: text,
  program: text,
  first: 'uint64_t',
  last: 'uint64_t',
  permits: 'uint32_t',
  key_size: 'uint32_t',
  key: koffi.array('uint8_t', 48),
});

const functions = {
  file_open: [string, koffi.pointer(fileOptions), handleOut],
  file_open_descriptor: ['int32_t', koffi.pointer(fileOptions), handleOut],
  file_remove_lock: [handle, string],
  file_path: [handle, 'size_t', buffer, buffer],
  file_close: [handle],
  hold_open: [handle, koffi.pointer(holdOptions), handleOut],
  hold_close: [handle],
  hold_acquire: [handle, koffi.pointer(request), buffer],
  hold_release: [handle],
  hold_release_permits: [handle, 'uint32_t'],
  hold_abandon: [handle],
  hold_mark_consistent: [handle],
  hold_is_contended: [handle],
  hold_upgrade: [handle, 'uint32_t', 'uint64_t', buffer],
  hold_downgrade: [handle, 'uint32_t'],
  hold_leave_ring: [handle, handle],
  hold_cancel: [handle],
  hold_clear_cancel: [handle],
  hold_fencing_token: [handle, buffer],
  hold_of_thread: [handle, buffer],
  hold_wait: [handle, handle, 'uint32_t', 'uint64_t', buffer],
  lock_death_policy: [handle, buffer],
  lock_patience: [handle, buffer],
  lock_still_owner: [handle],
  lock_holders: [handle, 'size_t', buffer, buffer],
  lock_waiters: [handle, 'size_t', buffer, buffer],
  lock_previous_owner: [handle, buffer],
  lock_try_reset: [handle],
  semaphore_permits: [handle, buffer],
  semaphore_resize: [handle, 'uint32_t'],
  condition_open: [handle, string, 'uint32_t', handleOut],
  condition_close: [handle],
  condition_notify_one: [handle, buffer],
  condition_notify_all: [handle, buffer],
  event_open: [handle, string, 'uint32_t', handleOut],
  event_close: [handle],
  event_set: [handle],
  event_clear: [handle],
  event_is_set: [handle, buffer],
  event_wait: [handle, 'uint32_t', 'uint64_t'],
  barrier_open: [handle, string, 'uint32_t', 'uint32_t', handleOut],
  barrier_close: [handle],
  barrier_wait: [handle, 'uint32_t', 'uint64_t', buffer],
  barrier_abort: [handle],
  barrier_reset: [handle],
  barrier_query: [handle, buffer, buffer],
  once_open: [handle, string, 'uint32_t', handleOut],
  once_close: [handle],
  once_begin: [handle, 'uint32_t', 'uint64_t'],
  once_complete: [handle],
  once_give_up: [handle],
  once_is_done: [handle, buffer],
  once_reset: [handle],
};
for (const kind of KINDS) {
  functions[`${kind}_open`] = [handle, string, koffi.pointer(lockOptions[kind]), handleOut];
  functions[`${kind}_close`] = [handle];
}

const native = {};
for (const [name, parameters] of Object.entries(functions)) {
  native[name] = library.func(`turnlock_${name}`, 'int32_t', parameters);
}
const lastErrorMessage = library.func('const char *turnlock_last_error_message()');
const version = library.func('const char *turnlock_version()');

// The status, if it is not a failure. To be called at once: the story is that of this thread's last failure.
function check(status) {
  if (status < 0) throw new TurnlockError(status, lastErrorMessage());
  return status;
}

// A struct that the library reads: its size, and the members that are given.
function filled(struct, members) {
  return { size: koffi.sizeof(struct), ...members };
}

// A buffer for `count` structs that the library fills in.
function room(struct, count = 1) {
  const bytes = Buffer.alloc(koffi.sizeof(struct) * count);
  bytes.writeBigUInt64LE(BigInt(koffi.sizeof(struct)), 0);
  return bytes;
}

// What the library has filled in.
function decode(struct, bytes, index = 0) {
  return koffi.decode(bytes, koffi.sizeof(struct) * index, struct);
}

const ACQUIRED_SIZE = 32;

// A buffer for struct turnlock_acquired.
function acquiredRoom() {
  const bytes = Buffer.alloc(ACQUIRED_SIZE);
  bytes.writeBigUInt64LE(BigInt(ACQUIRED_SIZE), 0);
  return bytes;
}

// The handle that `open` gives, a function that is called with these.
function opened(open, ...given) {
  const handle = [0];
  check(open(...given, handle));
  return handle[0];
}

// Opens the lock of a kind, as the members of its options say.
function openLock(kind, file, name, members) {
  return opened(native[`${kind}_open`], file, name, filled(lockOptions[kind], members));
}

// Opens a hold with this label and this slot; null: any.
function openHold(file, label, slot) {
  const chosen = slot === null ? {} : { flags: FLAGS.HOLD_AT_SLOT, slot };
  return opened(native.hold_open, file, label === null && slot === null ? null : filled(holdOptions, { label, ...chosen }));
}

module.exports = {
  ABI_VERSION,
  CONTENDED,
  DONE,
  FLAGS,
  KINDS,
  LOCK_FLAGS,
  MODES,
  OWNER_DEAD,
  WAITS,
  acquiredRoom,
  check,
  decode,
  filled,
  lastErrorMessage,
  native,
  openHold,
  openLock,
  opened,
  room,
  structs: { fileOptions, participantInfo, previousOwner, request },
  version,
};
