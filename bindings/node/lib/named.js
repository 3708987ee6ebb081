'use strict';
// What conditions, events, barriers and onces have in common: objects of a lock file that are not held. What waits for one of the
// last three waits as a thread, which is a participant of its own in the library; a condition is waited for by what is held.

const { STATUS, TurnlockError, boolean, name, object, optional } = require('./errors');
const { WAITS, check, native, opened } = require('./native');
const { OpenFile } = require('./openfile');
const { Ending, Thread, waitOn } = require('./waits');

const HOLD_SIZE = 8;

// Closes the handles of an object that is garbage.
const garbage = new FinalizationRegistry((handles) => handles.close());

// The handles: what is left of an object that is garbage.
class Handles {
  #isClosed = false;
  // The threads that wait for nothing, each with its hold.
  #idle = [];
  #mostIdle;

  constructor(kind, handle, file, mostIdle) {
    Object.assign(this, { kind, handle, file });
    this.#mostIdle = mostIdle;
    file.keep();
  }

  // A thread, and the hold by which its waits are cancelled.
  async takeThread() {
    const idle = this.#idle.pop();
    if (idle) return idle;
    const thread = new Thread();
    const { status, story, filled } = await thread.call('hold_of_thread', [this.file.handle], Buffer.alloc(HOLD_SIZE));
    if (status < 0) {
      thread.end();
      throw new TurnlockError(status, story);
    }
    return { thread, hold: filled.readBigUInt64LE() };
  }

  giveThread(one) {
    if (!this.#isClosed && !one.thread.isBroken && this.#idle.length < this.#mostIdle) this.#idle.push(one);
    else end(one);
  }

  close() {
    this.#isClosed = true;
    this.#idle.forEach(end);
    native[`${this.kind}_close`](this.handle);
    this.file.drop();
  }
}

function end({ thread, hold }) {
  native.hold_close(hold);
  thread.end();
}

// A wait, which a signal, a time limit or close() ends.
class Wait {
  #ended = null;
  #hold = null;

  end(reason) {
    this.#ended ??= { reason };
    if (this.#hold !== null) native.hold_cancel(this.#hold);
  }

  // Throws the reason, if it was ended.
  checkNotEnded() {
    if (this.#ended) throw this.#ended.reason;
  }

  // Waits by a hold, in `wait`, and gives what that gives.
  async by(hold, wait) {
    this.#hold = hold;
    const answer = await wait();
    this.#hold = null;
    // A cancel that came meanwhile is not for the hold's next wait.
    native.hold_clear_cancel(hold);
    return answer;
  }

  // What the library has answered, if it is not a failure.
  check(answer) {
    if (answer.status === STATUS.CANCELLED) this.checkNotEnded();
    return checked(answer);
  }
}

// What the library has answered, if it is not a failure.
function checked(answer) {
  if (answer.status < 0) throw new TurnlockError(answer.status, answer.story);
  return answer;
}

class Named {
  #handles;
  #isClosed = false;
  #waits = new Set();

  // Opens the object of this kind and name; `others` are what its function of the library takes behind the name. So many threads that
  // have waited for it stay.
  constructor(kind, file, objectName, others, mostIdle = 0) {
    const handle = opened(native[`${kind}_open`], OpenFile.handleOf(file), name(objectName), ...others);
    this.#handles = new Handles(kind, handle, file, mostIdle);
    garbage.register(this, this.#handles, this);
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const wait of this.#waits) wait.end(this.#closed());
    this.#closeIfLeft();
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }

  // The rest is for the kinds.
  get handle() {
    this.checkOpen();
    return this.#handles.handle;
  }

  checkOpen() {
    if (this.#isClosed) throw this.#closed();
  }

  // The status of a function of the library that is called with it, if it is not a failure.
  call(name, ...others) {
    return check(native[name](this.handle, ...others));
  }

  // The number that a function of the library gives.
  ask(name) {
    const bytes = Buffer.alloc(4);
    this.call(name, bytes);
    return bytes.readUInt32LE();
  }

  // Calls `wait` with a Wait, which ends as the options say, or when the object is closed.
  async endable({ signal, timeout = Infinity }, wait) {
    this.checkOpen();
    signal?.throwIfAborted();
    const one = new Wait();
    const ending = new Ending({ signal, timeout }, (reason) => one.end(reason));
    this.#waits.add(one);
    try {
      return await wait(one);
    } finally {
      ending.clear();
      this.#waits.delete(one);
      this.#closeIfLeft();
    }
  }

  // Calls `use` with a thread of its own: {wait, call, checkNotEnded}. `wait` and `call` call a function of the library on that thread
  // with the handle, what else they are given, and the place of an answer; a `wait` ends as the options say. Both give what
  // Thread.call does, if it is not a failure.
  async onThread(ending, use) {
    return await this.endable(ending, async (one) => {
      const taken = await this.#handles.takeThread();
      const { thread, hold } = taken;
      const given = (others) => [this.#handles.handle, ...others];
      try {
        one.checkNotEnded();
        return await use({
          wait: async (name, others = [], filled = null) =>
            one.check(await one.by(hold, () => waitOn(thread, hold, name, given(others), filled))),
          call: async (name) => checked(await thread.call(name, given([]), null)),
          checkNotEnded: () => one.checkNotEnded(),
        });
      } finally {
        this.#handles.giveThread(taken);
      }
    });
  }

  #closed() {
    return new TurnlockError(STATUS.CLOSED, `the ${this.#handles.kind} is closed: open it again`);
  }

  #closeIfLeft() {
    if (!this.#isClosed || this.#waits.size > 0) return;
    garbage.unregister(this);
    this.#handles.close();
  }
}

// The flags that the options of a kind ask for, of which each has a flag.
function flagsOf(kind, given, known) {
  const chosen = object(`the options of a ${kind}`, given, Object.keys(known));
  return Object.entries(known).reduce((flags, [key, flag]) => flags | (optional(chosen, key, false, boolean) ? flag : 0), 0);
}

// How long a wait may take that begins later, on another thread: until then.
function until({ nanoseconds }) {
  if (nanoseconds === null) return [WAITS.FOREVER, 0n];
  const time = process.hrtime.bigint() + nanoseconds;
  return [WAITS.UNTIL, time < 2n ** 64n ? time : 2n ** 64n - 1n];
}

// How long a wait may take that begins now.
function atMost({ nanoseconds }) {
  return nanoseconds === null ? [WAITS.FOREVER, 0n] : [WAITS.AT_MOST, nanoseconds];
}

module.exports = { Named, atMost, checked, flagsOf, until };
