'use strict';
// libturnlock as this thread calls it: the functions, the structs, and what the numbers of turnlock.h are called.

const koffi = require('koffi');
const { TurnlockError, STATUS } = require('./errors');

const ABI_VERSION = 3;
const OWNER_DEAD = 1;
const CONTENDED = 2;
const FLAGS = {
  FILE_GROUP: 1,
  FILE_MUST_EXIST: 2,
  FILE_FULL_FENCES: 4,
  MUTEX_MUST_EXIST: 1,
  MUTEX_STRICT: 2,
  MUTEX_RELEASE_ON_DEATH: 4,
  MUTEX_INFORM_ON_DEATH: 16,
  MUTEX_RELEASE_BY_DEFAULT: 32,
  MUTEX_RECURSIVE: 8,
  RING_MUST_EXIST: 1,
  RING_STANDING: 2,
  RING_RELEASE_ON_DEATH: 4,
  RING_INFORM_ON_DEATH: 16,
  RING_RELEASE_BY_DEFAULT: 32,
  RWLOCK_MUST_EXIST: 1,
  RWLOCK_STRICT: 2,
  RWLOCK_RELEASE_ON_DEATH: 4,
  RWLOCK_INFORM_ON_DEATH: 16,
  RWLOCK_RELEASE_BY_DEFAULT: 32,
  SEMAPHORE_MUST_EXIST: 1,
  SEMAPHORE_STRICT: 2,
  RANGELOCK_MUST_EXIST: 1,
  RANGELOCK_RELEASE_ON_DEATH: 4,
  RANGELOCK_INFORM_ON_DEATH: 16,
  RANGELOCK_RELEASE_BY_DEFAULT: 32,
  KEYEDLOCK_MUST_EXIST: 1,
  KEYEDLOCK_RELEASE_ON_DEATH: 4,
  KEYEDLOCK_INFORM_ON_DEATH: 16,
  KEYEDLOCK_RELEASE_BY_DEFAULT: 32,
};

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

const fileOptions = koffi.struct({
  size: 'size_t',
  participants: 'uint32_t',
  locks: 'uint32_t',
  mode: 'uint32_t',
  group: 'uint32_t',
  flags: 'uint32_t',
  reserved: 'uint32_t',
  label: 'const char *',
  is_wait_to_end: 'void *',
  context: 'void *',
});
const participantOptions = koffi.struct({
  size: 'size_t',
  label: 'const char *',
  flags: 'uint32_t',
  reserved: 'uint32_t',
});
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
const rwlockOptions = koffi.struct({
  size: 'size_t',
  flags: 'uint32_t',
  patience_ns: 'uint64_t',
});
const semaphoreOptions = koffi.struct({
  size: 'size_t',
  flags: 'uint32_t',
  permits: 'uint32_t',
  patience_ns: 'uint64_t',
});
// Of range locks and keyed locks.
const partsOptions = koffi.struct({
  size: 'size_t',
  flags: 'uint32_t',
  reserved: 'uint32_t',
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
  reserved: 'uint32_t',
});

// Handles are addresses, so that another thread can be told of them. Structs that are filled in are buffers.
const handle = 'uintptr_t';
const handleOut = koffi.out(koffi.pointer('uintptr_t'));
const buffer = 'void *';
const string = 'const char *';
const optionsOf = (struct) => koffi.pointer(struct);

const functions = {
  file_open: [string, optionsOf(fileOptions), handleOut],
  file_open_descriptor: ['int32_t', optionsOf(fileOptions), handleOut],
  file_remove_lock: [handle, string],
  file_path: [handle, 'size_t', buffer, buffer],
  file_close: [handle],
  participant_open: [handle, optionsOf(participantOptions), handleOut],
  participant_cancel: [handle],
  participant_clear_cancel: [handle],
  participant_close: [handle],
  mutex_open: [handle, string, optionsOf(mutexOptions), handleOut],
  mutex_patience: [handle, buffer],
  ring_open: [handle, string, optionsOf(ringOptions), handleOut],
  ring_leave_as: [handle, handle],
  rwlock_open: [handle, string, optionsOf(rwlockOptions), handleOut],
  rwlock_upgrade_as: [handle, handle, buffer],
  rwlock_try_upgrade_as: [handle, handle, buffer],
  rwlock_downgrade_as: [handle, handle, 'uint32_t'],
  rwlock_unlock_as: [handle, handle],
  rwlock_abandon_as: [handle, handle],
  rwlock_mark_consistent_as: [handle, handle],
  rwlock_reset_for: [handle, 'uint64_t'],
  rwlock_previous_owner: [handle, buffer],
  semaphore_open: [handle, string, optionsOf(semaphoreOptions), handleOut],
  semaphore_acquire_as: [handle, handle, 'uint32_t', buffer],
  semaphore_try_acquire_as: [handle, handle, 'uint32_t', buffer],
  semaphore_acquire_for_as: [handle, handle, 'uint32_t', 'uint64_t', buffer],
  semaphore_release_as: [handle, handle, 'uint32_t'],
  semaphore_resize: [handle, 'uint32_t'],
  semaphore_permits: [handle, buffer],
};
for (const kind of ['mutex', 'ring']) {
  Object.assign(functions, {
    [`${kind}_lock_as`]: [handle, handle, buffer],
    [`${kind}_try_lock_as`]: [handle, handle, buffer],
    [`${kind}_lock_for_as`]: [handle, handle, 'uint64_t', buffer],
    [`${kind}_unlock_as`]: [handle, handle],
    [`${kind}_abandon_as`]: [handle, handle],
    [`${kind}_mark_consistent_as`]: [handle, handle],
    [`${kind}_is_contended_as`]: [handle, handle],
    [`${kind}_reset_for`]: [handle, 'uint64_t'],
    [`${kind}_previous_owner`]: [handle, buffer],
    [`${kind}_holder`]: [handle, buffer],
    [`${kind}_waiters`]: [handle, 'size_t', buffer, buffer],
    [`${kind}_close`]: [handle],
  });
}
for (const kind of ['mutex', 'ring', 'rwlock', 'rangelock', 'keyedlock']) {
  functions[`${kind}_death_policy`] = [handle, buffer];
}
for (const mode of ['exclusive', 'shared', 'upgradable']) {
  Object.assign(functions, {
    [`rwlock_lock_${mode}_as`]: [handle, handle, buffer],
    [`rwlock_try_lock_${mode}_as`]: [handle, handle, buffer],
    [`rwlock_lock_${mode}_for_as`]: [handle, handle, 'uint64_t', buffer],
  });
}
for (const [kind, place] of [['rangelock', ['uint64_t', 'uint64_t']], ['keyedlock', [buffer, 'size_t']]]) {
  functions[`${kind}_open`] = [handle, string, optionsOf(partsOptions), handleOut];
  functions[`${kind}_unlock_as`] = [handle, handle];
  functions[`${kind}_mark_consistent_as`] = [handle, handle];
  functions[`${kind}_reset_for`] = [handle, 'uint64_t'];
  functions[`${kind}_previous_owner`] = [handle, buffer];
  for (const mode of ['exclusive', 'shared']) {
    functions[`${kind}_lock_${mode}_as`] = [handle, handle, ...place, buffer];
    functions[`${kind}_try_lock_${mode}_as`] = [handle, handle, ...place, buffer];
    functions[`${kind}_lock_${mode}_for_as`] = [handle, handle, ...place, 'uint64_t', buffer];
  }
}
for (const kind of ['rwlock', 'semaphore', 'rangelock', 'keyedlock']) {
  Object.assign(functions, {
    [`${kind}_is_contended_as`]: [handle, handle],
    [`${kind}_holders`]: [handle, 'size_t', buffer, buffer],
    [`${kind}_waiters`]: [handle, 'size_t', buffer, buffer],
    [`${kind}_close`]: [handle],
  });
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

// A struct of options: its size, and the members that are given.
function options(struct, members) {
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

// Takes a slot in a file for a participant of that label.
function openParticipant(file, label) {
  const participant = [0];
  check(native.participant_open(file, options(participantOptions, { label: label ?? null }), participant));
  return participant[0];
}

module.exports = {
  ABI_VERSION,
  CONTENDED,
  FLAGS,
  OWNER_DEAD,
  acquiredRoom,
  check,
  decode,
  lastErrorMessage,
  native,
  openParticipant,
  options,
  room,
  structs: {
    fileOptions,
    mutexOptions,
    participantInfo,
    partsOptions,
    previousOwner,
    ringOptions,
    rwlockOptions,
    semaphoreOptions,
  },
  version,
};
