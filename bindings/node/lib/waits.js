'use strict';
// Waits off the main thread: threads of this module's own, not those of libuv, where four waits would keep every file
// operation of the program from being done, that of the lock's holder too.

const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { STATUS, TurnlockError } = require('./errors');
const { native } = require('./native');

const MOST_IDLE = 4;
const LONGEST_TIMER = 2 ** 31 - 1;
const idle = [];
// The holds that wait now.
const waiting = new Set();

// The end of the process waits for its threads, so those that wait for a lock are told not to.
process.on('exit', () => {
  for (const hold of waiting) native.hold_cancel(hold);
});

// Calls a function of the library, which waits, with a hold and what else it takes but for the bytes of what is acquired. Gives
// these, its status, and the story of a failure. Keeps the program alive meanwhile.
async function wait(call, hold, ...others) {
  waiting.add(hold);
  try {
    return await onWorker({ call, hold, others });
  } catch (error) {
    // The thread could not be started.
    return { status: STATUS.SYSTEM, story: error.message };
  } finally {
    waiting.delete(hold);
    // A cancel that came too late for this wait is not for the next one.
    native.hold_clear_cancel(hold);
  }
}

function onWorker(message) {
  return new Promise((resolve, reject) => {
    const worker = idle.pop() ?? new Worker(path.join(__dirname, 'worker.js'), { execArgv: [] });
    const answered = ({ status, story, acquired }) => {
      worker.off('error', reject);
      worker.unref();
      if (idle.length < MOST_IDLE) idle.push(worker);
      else worker.terminate();
      resolve({ status, story, acquired: Buffer.from(acquired) });
    };
    worker.once('message', answered);
    worker.once('error', reject);
    worker.ref();
    worker.postMessage(message);
  });
}

// What ends a wait before the lock comes: a signal or a time limit. Calls `end` with the reason, at most once for each of them.
class Ending {
  #signal;
  #onAbort;
  #timer;
  #holders;

  // holders()  who has the lock, as `oneOf` says it, for the text of a time-out
  constructor({ timeout, signal }, end, holders) {
    this.#signal = signal;
    this.#holders = holders;
    this.#onAbort = () => end(signal.reason);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (timeout < Infinity) this.#limit(performance.now() + timeout, end);
  }

  clear() {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    clearTimeout(this.#timer);
  }

  // Not before its time, and further off than a timer goes.
  #limit(time, end) {
    const left = Math.min(Math.max(time - performance.now(), 0), LONGEST_TIMER);
    this.#timer = setTimeout(() => (performance.now() < time ? this.#limit(time, end) : end(timedOut(this.#holders))), left);
  }
}

// `holders()` gives who has the lock, as a sentence, or ''.
function timedOut(holders = () => '') {
  let by = '';
  try {
    const sentence = holders();
    if (sentence) by = `: ${sentence}`;
  } catch {
    // The text goes without it.
  }
  return new TurnlockError(STATUS.TIMED_OUT, `the time limit passed before the turn came${by}`);
}

// One of these holders, as a sentence; '' if there is none.
function oneOf([holder, ...others]) {
  if (!holder) return '';
  const { pid, label, durationMs } = holder;
  const who = label ? `process ${pid} (${label})` : `process ${pid}`;
  const has = durationMs > 0 ? `has had it for ${(durationMs / 1000).toFixed(1)} s` : 'has it';
  return `${who} ${has}${others.length > 0 ? `, and ${others.length} more have it too` : ''}`;
}

module.exports = { Ending, oneOf, timedOut, wait };
