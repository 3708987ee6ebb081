'use strict';
// A thread that calls the library, told by waits.js.

const { parentPort, workerData } = require('node:worker_threads');
const { lastErrorMessage, native } = require('./native');

const { ending, inNative } = workerData;

function outOfNative() {
  Atomics.store(inNative, 0, 0);
  Atomics.notify(inNative, 0);
}

outOfNative();

parentPort.on('message', ({ name, given, filled }) => {
  const places = filled === null ? [] : [Buffer.from(filled)];
  // Before the look at `ending`. Partner: the handler of 'exit' in waits.js, which sets that and looks at this word then.
  Atomics.store(inNative, 0, 1);
  try {
    if (Atomics.load(ending, 0) === 1) return;
    const status = native[name](...given, ...places);
    parentPort.postMessage({ status, story: status < 0 ? lastErrorMessage() : '', filled: places[0] ?? null });
  } finally {
    outOfNative();
  }
});
