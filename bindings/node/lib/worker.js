'use strict';
// A thread that waits for one lock at a time, told by waits.js.

const { parentPort } = require('node:worker_threads');
const { acquiredRoom, lastErrorMessage, native } = require('./native');

parentPort.on('message', ({ call, hold, others }) => {
  const acquired = acquiredRoom();
  const status = native[call](hold, ...others, acquired);
  parentPort.postMessage({ status, story: status < 0 ? lastErrorMessage() : '', acquired });
});
