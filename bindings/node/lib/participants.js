'use strict';
// Participants, as others see them.

const { FLAGS, MODES, check, decode, room, structs } = require('./native');
const { STATUS } = require('./errors');

const LIVES = ['unknown', 'alive', 'stopped', 'dead'];
const MODE_NAMES = Object.keys(MODES);
const RANGE_END = 2n ** 64n - 1n;
const STATES = [undefined, 'holding', 'queued', 'backed off', 'ring member'];

// What a participant has of a lock of this kind, or wants.
function partOf(kind, native) {
  const [first, last] = [BigInt(native.first), BigInt(native.last)];
  return {
    group: kind === 'grouplock' ? first : null,
    // The last number belongs to it; the end of one that reaches to the end is that number itself.
    range: kind === 'rangelock' ? { start: first, end: last === RANGE_END ? last : last + 1n } : null,
    key: kind === 'keyedlock' ? keyOf(native, (first << 64n) | last) : null,
  };
}

function keyOf(native, hash) {
  return {
    bytes: Uint8Array.from(native.key).subarray(0, native.key_size),
    isWhole: (native.flags & FLAGS.INFO_WHOLE_KEY) !== 0,
    hash: hash.toString(16).padStart(32, '0'),
  };
}

function participantInfo(kind, native) {
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
    mode: MODE_NAMES[native.mode] ?? 'unknown',
    permits: native.permits,
    ...partOf(kind, native),
  };
}

// The dead participant, as `ask` fills it in; null if no holder did.
function deadOwner(ask) {
  const bytes = room(structs.previousOwner);
  const status = ask(bytes);
  if (status === STATUS.NOT_FOUND) return null;
  check(status);
  const { label, pid, thread, fencing_token } = decode(structs.previousOwner, bytes);
  return { label, pid, thread, fencingToken: BigInt(fencing_token) };
}

// All the participants that `list` lists, of a lock of this kind.
function listed(kind, list) {
  for (let capacity = 8; ; ) {
    const bytes = room(structs.participantInfo, capacity);
    const count = Buffer.alloc(8);
    check(list(capacity, bytes, count));
    const found = Number(count.readBigUInt64LE());
    if (found <= capacity) {
      return Array.from({ length: found }, (_, i) => participantInfo(kind, decode(structs.participantInfo, bytes, i)));
    }
    capacity = found;
  }
}

module.exports = { deadOwner, listed };
