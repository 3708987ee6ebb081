'use strict';
// Failures of turnlock, and what is refused before the library is asked.

// The failures of turnlock.h.
const STATUS = {
  INVALID_ARGUMENT: -1,
  WOULD_BLOCK: -2,
  TIMED_OUT: -3,
  CANCELLED: -4,
  DEADLOCK: -5,
  NOT_OWNER: -6,
  NOT_RECOVERABLE: -7,
  CLOSED: -8,
  PARTICIPANTS_FULL: -9,
  LOCKS_FULL: -10,
  BAD_NAME: -11,
  NOT_A_LOCK_FILE: -12,
  VERSION: -13,
  DAMAGED: -14,
  REPLACED: -15,
  PERMISSION: -16,
  NOT_FOUND: -17,
  FILESYSTEM: -18,
  NO_SPACE: -19,
  SYSTEM: -20,
  KIND: -21,
  HOLD_BUSY: -22,
  INTERNAL: -23,
  STILL_HELD: -24,
  NOT_INCONSISTENT: -25,
  FILE_TOO_SMALL: -26,
  UNSUPPORTED: -27,
  INTERRUPTED: -28,
  NO_MEMORY: -29,
  IN_USE: -30,
  RECURSION_LIMIT: -31,
  NOT_UPGRADABLE: -32,
  NOT_EXCLUSIVE: -33,
  PERMITS: -34,
  TOO_MANY_RELEASED: -35,
  EMPTY_RANGE: -36,
  BROKEN_BARRIER: -37,
  CIRCULAR_WAIT: -38,
  LEASE_ENDED: -39,
};
const NAMES = new Map(Object.entries(STATUS).map(([name, status]) => [status, name]));

class TurnlockError extends Error {
  constructor(status, story) {
    super(story);
    this.name = 'TurnlockError';
    this.status = status;
    this.code = `ERR_TURNLOCK_${NAMES.get(status) ?? 'UNKNOWN'}`;
  }
}

function wrongType(what, expected, given) {
  const error = new TypeError(`${what} must be ${expected}, and is ${given === null ? 'null' : typeof given}`);
  error.code = 'ERR_INVALID_ARG_TYPE';
  return error;
}

function text(what, given, status = STATUS.INVALID_ARGUMENT) {
  if (typeof given !== 'string') throw wrongType(what, 'a string', given);
  if (given.includes('\0')) throw new TurnlockError(status, `${what} ${JSON.stringify(given)} has a NUL in it: leave it out`);
  return given;
}

function name(given) {
  return text('the name of a lock', given, STATUS.BAD_NAME);
}

// An option that is not given is what `usual` says.
function optional(options, key, usual, check) {
  const given = options[key];
  return given === undefined ? usual : check(`options.${key}`, given);
}

function boolean(what, given) {
  if (typeof given !== 'boolean') throw wrongType(what, 'a boolean', given);
  return given;
}

function uint32(what, given) {
  if (typeof given !== 'number') throw wrongType(what, 'a number', given);
  if (!Number.isInteger(given) || given < 0 || given > 0xffffffff) {
    const error = new RangeError(`${what} must be an integer from 0 to 4294967295, and is ${given}`);
    error.code = 'ERR_OUT_OF_RANGE';
    throw error;
  }
  return given;
}

const GREATEST = 2n ** 64n - 1n;

// A number of 64 bits, as a bigint.
function uint64(what, given) {
  if (typeof given !== 'number' && typeof given !== 'bigint') throw wrongType(what, 'a number or a bigint', given);
  const isOne = typeof given === 'bigint' ? given >= 0n && given <= GREATEST : Number.isSafeInteger(given) && given >= 0;
  if (!isOne) {
    const error = new RangeError(`${what} must be a whole number from 0 to 2^64 - 1 (a bigint beyond 2^53), and is ${given}`);
    error.code = 'ERR_OUT_OF_RANGE';
    throw error;
  }
  return BigInt(given);
}

// Milliseconds: a negative number is 0, and Infinity is without a limit.
function milliseconds(what, given) {
  if (typeof given !== 'number') throw wrongType(what, 'a number of milliseconds', given);
  if (Number.isNaN(given)) {
    const error = new RangeError(`${what} must be a number of milliseconds, and is NaN`);
    error.code = 'ERR_OUT_OF_RANGE';
    throw error;
  }
  return Math.max(given, 0);
}

// Milliseconds as nanoseconds: 584 years are the longest.
function nanoseconds(milliseconds) {
  return milliseconds * 1e6 < 2 ** 64 ? BigInt(Math.floor(milliseconds * 1e6)) : 2n ** 64n - 1n;
}

// What ends a wait: `timeout` in milliseconds, and in `nanoseconds`, which is null if there is no limit; `signal`.
function waitOptions(given, { blocks = false } = {}) {
  const options = object('the options of a wait', given, ['timeout', 'signal']);
  const { signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrongType('options.signal', 'an AbortSignal', signal);
  if (signal && blocks) {
    throw new TurnlockError(STATUS.INVALID_ARGUMENT, 'a signal cannot end a wait that blocks this thread: use the promise form');
  }
  const timeout = optional(options, 'timeout', Infinity, milliseconds);
  return { timeout, signal, nanoseconds: timeout === Infinity ? null : nanoseconds(timeout) };
}

// An object of options, which may be left out. A word that it does not know is refused: no option is ignored.
function object(what, given, known) {
  if (given === undefined) return {};
  if (given === null || typeof given !== 'object') throw wrongType(what, 'an object', given);
  for (const key of Object.keys(given)) {
    if (!known.includes(key)) {
      throw new TurnlockError(STATUS.INVALID_ARGUMENT, `${what} has no ${key}; it knows ${known.join(', ')}`);
    }
  }
  return given;
}

module.exports = {
  STATUS,
  TurnlockError,
  boolean,
  milliseconds,
  name,
  nanoseconds,
  object,
  optional,
  text,
  uint32,
  uint64,
  waitOptions,
  wrongType,
};
