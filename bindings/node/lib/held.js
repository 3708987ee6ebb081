'use strict';
// A lock that is held, and a participant as others see it.

const { CONTENDED, OWNER_DEAD, check, decode, room, structs } = require('./native');
const { STATUS } = require('./errors');

class Held {
  #lock;
  #end;

  constructor(lock, end, status, acquired) {
    this.#lock = lock;
    this.#end = end;
    this.fencingToken = acquired.readBigUInt64LE(8);
    this.ownerDied = status === OWNER_DEAD;
    this.deadOwner = this.ownerDied
      ? { pid: acquired.readUInt32LE(24), fencingToken: acquired.readBigUInt64LE(16) }
      : null;
    Object.freeze(this);
  }

  get lock() {
    return this.#lock;
  }

  unlock() {
    this.#end(this, 'unlock_as');
  }

  abandon() {
    this.#end(this, 'abandon_as');
  }

  markConsistent() {
    this.#end(this, 'mark_consistent_as');
  }

  isContended() {
    return this.#end(this, 'is_contended_as') === CONTENDED;
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    if (this.#lock.held === this) this.unlock();
  }
}

const LIVES = ['unknown', 'alive', 'stopped', 'dead'];
const MODES = [undefined, 'exclusive', 'shared', 'upgradable', 'upgrading'];
const STATES = [undefined, 'holding', 'queued', 'standing by', 'standing'];

function participantInfo(native) {
  return {
    label: native.label,
    program: native.program,
    fencingToken: BigInt(native.fencing_token),
    durationMs: Number(native.duration_ns) / 1e6,
    slot: native.slot,
    pid: native.pid,
    thread: native.thread,
    life: LIVES[native.life] ?? 'unknown',
    state: STATES[native.state] ?? 'unknown',
    mode: MODES[native.mode] ?? 'unknown',
    permits: native.permits,
  };
}

// Who died, as `ask` fills it in; null if nobody did.
function deadOwner(ask) {
  const bytes = room(structs.previousOwner);
  const status = ask(bytes);
  if (status === STATUS.NOT_FOUND) return null;
  check(status);
  const { label, pid, thread, fencing_token } = decode(structs.previousOwner, bytes);
  return { label, pid, thread, fencingToken: BigInt(fencing_token) };
}

// All the participants that `list` lists.
function listed(list) {
  for (let capacity = 8; ; ) {
    const bytes = room(structs.participantInfo, capacity);
    const count = Buffer.alloc(8);
    check(list(capacity, bytes, count));
    const found = Number(count.readBigUInt64LE());
    if (found <= capacity) {
      return Array.from({ length: found }, (_, i) => participantInfo(decode(structs.participantInfo, bytes, i)));
    }
    capacity = found;
  }
}

module.exports = { Held, deadOwner, listed, participantInfo };
