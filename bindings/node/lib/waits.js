'use strict';
// Waits off the main thread: threads of this module's own, not those of libuv, where four waits would keep every file
// operation of the program from being done, that of the lock's holder too.

const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { native } = require('./native');

const MOST_IDLE = 4;
const idle = [];
// The participants that wait now.
const waiting = new Set();

// The end of the process waits for its threads, so those that wait for a lock are told not to.
process.on('exit', () => {
  for (const participant of waiting) native.participant_cancel(participant);
});

// Calls a function of the library, which waits, with a lock, a participant and what else it takes. Gives its status, the story of a failure, and
// the bytes of what was acquired. Keeps the program alive meanwhile.
function wait(call, lock, participant, others) {
  return new Promise((resolve, reject) => {
    const worker = idle.pop() ?? new Worker(path.join(__dirname, 'worker.js'), { execArgv: [] });
    const done = () => {
      worker.off('message', answered);
      worker.off('error', failed);
      waiting.delete(participant);
    };
    const answered = ({ status, story, acquired }) => {
      done();
      worker.unref();
      if (idle.length < MOST_IDLE) idle.push(worker);
      else worker.terminate();
      resolve({ status, story, acquired: Buffer.from(acquired) });
    };
    const failed = (error) => {
      done();
      reject(error);
    };
    worker.on('message', answered);
    worker.on('error', failed);
    worker.ref();
    waiting.add(participant);
    worker.postMessage({ call, lock, participant, others });
  });
}

module.exports = { wait };
