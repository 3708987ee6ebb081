'use strict';
// A lock file that is open.

const { FLAGS, check, native, options, structs } = require('./native');
const { STATUS, TurnlockError, boolean, name, object, optional, text, uint32, wrongType } = require('./errors');
const { Mutex, TurnRing, ours } = require('./kinds');

const garbage = new FinalizationRegistry((handle) => native.file_close(handle));

class LockFile {
  #handle;

  constructor(path, given) {
    const native_ = fileOptions(given);
    if (path instanceof Opened) this.#handle = path.by(native_);
    else this.#handle = opened((handle) => native.file_open(text('the path', path), native_, handle));
    garbage.register(this, this.#handle, this);
  }

  static openDescriptor(descriptor, given) {
    if (typeof descriptor !== 'number') throw wrongType('the descriptor', 'a number', descriptor);
    const isOne = Number.isInteger(descriptor) && descriptor >= 0 && descriptor < 2 ** 31;
    const number = isOne ? descriptor : -1;
    return new LockFile(
      new Opened((native_) => opened((handle) => native.file_open_descriptor(number, native_, handle))),
      given,
    );
  }

  mutex(lockName, given) {
    return new Mutex(ours, this.#open(), lockName, given);
  }

  turnRing(lockName, given) {
    return new TurnRing(ours, this.#open(), lockName, given);
  }

  removeLock(lockName) {
    check(native.file_remove_lock(this.#open(), name(lockName)));
  }

  get path() {
    const length = Buffer.alloc(8);
    for (let path = Buffer.alloc(4097); ; path = Buffer.alloc(Number(length.readBigUInt64LE()) + 1)) {
      check(native.file_path(this.#open(), path.length, path, length));
      const bytes = Number(length.readBigUInt64LE());
      if (bytes < path.length) return path.toString('utf8', 0, bytes);
    }
  }

  close() {
    if (this.#handle === null) return;
    garbage.unregister(this);
    native.file_close(this.#handle);
    this.#handle = null;
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }

  #open() {
    if (this.#handle === null) throw new TurnlockError(STATUS.CLOSED, 'the lock file is closed: open it again');
    return this.#handle;
  }
}

// In the place of a path: another way to open a file.
class Opened {
  constructor(by) {
    this.by = by;
  }
}

function opened(open) {
  const handle = [0];
  check(open(handle));
  return handle[0];
}

function fileOptions(given) {
  const known = ['participants', 'locks', 'mode', 'group', 'mustExist', 'fullFences', 'label'];
  const chosen = object('the options of a lock file', given, known);
  const group = optional(chosen, 'group', null, uint32);
  return options(structs.fileOptions, {
    participants: optional(chosen, 'participants', 0, uint32),
    locks: optional(chosen, 'locks', 0, uint32),
    mode: optional(chosen, 'mode', 0, uint32),
    group: group ?? 0,
    flags:
      (group === null ? 0 : FLAGS.FILE_GROUP) |
      (optional(chosen, 'mustExist', false, boolean) ? FLAGS.FILE_MUST_EXIST : 0) |
      (optional(chosen, 'fullFences', false, boolean) ? FLAGS.FILE_FULL_FENCES : 0),
    label: optional(chosen, 'label', null, text),
  });
}

module.exports = { LockFile };
