'use strict';
// A lock file that is open.

const { FLAGS, check, filled, native, opened, structs } = require('./native');
const { STATUS, TurnlockError, boolean, name, object, optional, text, uint32, wrongType } = require('./errors');
const { Barrier } = require('./barrier');
const { Condition } = require('./condition');
const { Event } = require('./event');
const { Mutex, TurnRing } = require('./exclusive');
const { GroupLock } = require('./group');
const { Once } = require('./once');
const { OpenFile } = require('./openfile');
const { KeyedLock, RangeLock } = require('./parts');
const { RecursiveMutex } = require('./recursive');
const { RwLock } = require('./rwlock');
const { Semaphore } = require('./semaphore');

const garbage = new FinalizationRegistry((opened) => opened.drop());

class LockFile {
  #opened;

  constructor(path, given) {
    const struct = fileOptions(given);
    const handle =
      path instanceof Descriptor
        ? opened(native.file_open_descriptor, path.number, struct)
        : opened(native.file_open, text('the path', path), struct);
    this.#opened = new OpenFile(handle);
    garbage.register(this, this.#opened, this);
  }

  static openDescriptor(descriptor, given) {
    if (typeof descriptor !== 'number') throw wrongType('the descriptor', 'a number', descriptor);
    const isOne = Number.isInteger(descriptor) && descriptor >= 0 && descriptor < 2 ** 31;
    return new LockFile(new Descriptor(isOne ? descriptor : -1), given);
  }

  mutex(lockName, given) {
    return new Mutex(this.#open(), lockName, given);
  }

  recursiveMutex(lockName, given) {
    return new RecursiveMutex(this.#open(), lockName, given);
  }

  turnRing(lockName, given) {
    return new TurnRing(this.#open(), lockName, given);
  }

  rwLock(lockName, given) {
    return new RwLock(this.#open(), lockName, given);
  }

  semaphore(lockName, given) {
    return new Semaphore(this.#open(), lockName, given);
  }

  rangeLock(lockName, given) {
    return new RangeLock(this.#open(), lockName, given);
  }

  keyedLock(lockName, given) {
    return new KeyedLock(this.#open(), lockName, given);
  }

  groupLock(lockName, given) {
    return new GroupLock(this.#open(), lockName, given);
  }

  condition(conditionName, given) {
    return new Condition(this.#open(), conditionName, given);
  }

  event(eventName, given) {
    return new Event(this.#open(), eventName, given);
  }

  barrier(barrierName, parties, given) {
    return new Barrier(this.#open(), barrierName, parties, given);
  }

  once(onceName, given) {
    return new Once(this.#open(), onceName, given);
  }

  removeLock(lockName) {
    check(native.file_remove_lock(this.#open().handle, name(lockName)));
  }

  get path() {
    const length = Buffer.alloc(8);
    for (let path = Buffer.alloc(4097); ; path = Buffer.alloc(Number(length.readBigUInt64LE()) + 1)) {
      check(native.file_path(this.#open().handle, path.length, path, length));
      const bytes = Number(length.readBigUInt64LE());
      if (bytes < path.length) return path.toString('utf8', 0, bytes);
    }
  }

  close() {
    if (this.#opened === null) return;
    garbage.unregister(this);
    this.#opened.drop();
    this.#opened = null;
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }

  #open() {
    if (this.#opened === null) throw new TurnlockError(STATUS.CLOSED, 'the lock file is closed: open it again');
    return this.#opened;
  }
}

// In the place of a path: a descriptor.
class Descriptor {
  constructor(number) {
    this.number = number;
  }
}

function fileOptions(given) {
  const known = ['participants', 'locks', 'mode', 'group', 'mustExist', 'fullFences', 'label'];
  const chosen = object('the options of a lock file', given, known);
  const group = optional(chosen, 'group', null, uint32);
  return filled(structs.fileOptions, {
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
