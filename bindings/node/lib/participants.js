'use strict';
// Participants, as others see them.

const { MODES, check, decode, room, structs } = require('./native');
const { STATUS } = require('./errors');

const LIVES = ['unknown', 'alive', 'stopped', 'dead'];
const MODE_NAMES = Object.keys(MODES);
const STATES = [undefined, 'holding', 'queued', 'backed off', 'ring member'];

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
    mode: MODE_NAMES[native.mode] ?? 'unknown',
    permits: native.permits,
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

module.exports = { deadOwner, listed };
