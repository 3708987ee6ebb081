'use strict';
// Waits off the main thread: threads of this module's own, not those of libuv, where four waits would keep every file
// operation of the program from being done, that of the lock's holder too.

const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { STATUS, TurnlockError } = require('./errors');
const { acquiredRoom, native } = require('./native');

const MOST_IDLE = 4;
const LONGEST_TIMER = 2 ** 31 - 1;
const idle = [];
// The holds that wait now.
const waiting = new Set();

// What the threads are told, and what they tell, in memory that all of them see.
const shared = (length) => new Int32Array(new SharedArrayBuffer(4 * length));
const ending = shared(1);
// One word for each thread: whether it is in native code, of koffi or of the library.
const inNative = new Set();
const LONGEST_EXIT = 2000;

// The end of the process stops its threads. Koffi aborts the process if that finds a thread in it, so waits are cancelled, and
// the threads are out of native code before the process ends.
process.on('exit', () => {
  // Before the looks at the threads' words. Partner: worker.js, which sets its word and looks at this one then.
  Atomics.store(ending, 0, 1);
  for (const hold of waiting) native.hold_cancel(hold);
  const deadline = performance.now() + LONGEST_EXIT;
  for (const word of inNative) Atomics.wait(word, 0, 1, Math.max(deadline - performance.now(), 0));
});

// A thread that calls one function of the library at a time, and keeps the program alive meanwhile.
class Thread {
  #worker = null;
  // It could not be started, or has failed: it is of no use any more.
  #isBroken = false;

  get isBroken() {
    return this.#isBroken;
  }

  // Calls a function of the library with these arguments and, behind them, what is to be filled in, if it is not null. Gives its
  // status, the story of a failure, and what it has filled in.
  async call(name, given, filled) {
    try {
      return await this.#answer({ name, given, filled });
    } catch (error) {
      this.#isBroken = true;
      return { status: STATUS.SYSTEM, story: error.message, filled };
    }
  }

  end() {
    this.#worker?.terminate();
  }

  #start() {
    const word = shared(1);
    // It loads koffi first.
    Atomics.store(word, 0, 1);
    const worker = new Worker(path.join(__dirname, 'worker.js'), { execArgv: [], workerData: { ending, inNative: word } });
    inNative.add(word);
    worker.once('exit', () => inNative.delete(word));
    return worker;
  }

  #answer(message) {
    return new Promise((resolve, reject) => {
      const worker = (this.#worker ??= this.#start());
      const answered = ({ status, story, filled }) => {
        worker.off('error', reject);
        worker.unref();
        resolve({ status, story, filled: filled && Buffer.from(filled) });
      };
      worker.once('message', answered);
      worker.once('error', reject);
      worker.ref();
      worker.postMessage(message);
    });
  }
}

// Calls a function of the library, which waits, with a hold and what else it takes but for the bytes of what is acquired. Gives
// these, its status, and the story of a failure.
async function wait(name, hold, ...others) {
  const thread = idle.pop() ?? new Thread();
  const { status, story, filled } = await waitOn(thread, hold, name, [hold, ...others], acquiredRoom());
  if (idle.length < MOST_IDLE && !thread.isBroken) idle.push(thread);
  else thread.end();
  return { status, story, acquired: filled };
}

// The same on this thread, by a call that waits and is ended by a cancel of this hold. Gives what Thread.call does.
async function waitOn(thread, hold, name, given, filled) {
  waiting.add(hold);
  try {
    return await thread.call(name, given, filled);
  } finally {
    waiting.delete(hold);
    // A cancel that came too late for this wait is not for the next one.
    native.hold_clear_cancel(hold);
  }
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

module.exports = { Ending, Thread, oneOf, timedOut, wait, waitOn };
