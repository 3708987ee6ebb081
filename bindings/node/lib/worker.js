'use strict';
// A thread that calls the library, told by waits.js.

const { parentPort } = require('node:worker_threads');
const { lastErrorMessage, native } = require('./native');

parentPort.on('message', ({ name, given, filled }) => {
  const places = filled === null ? [] : [Buffer.from(filled)];
  const status = native[name](...given, ...places);
  parentPort.postMessage({ status, story: status < 0 ? lastErrorMessage() : '', filled: places[0] ?? null });
});
