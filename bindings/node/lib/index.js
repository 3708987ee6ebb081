'use strict';
// turnlock: locks between processes that are nothing but a memory-mapped file. index.d.ts says what each thing does.

const { version } = require('./native');
const { TurnlockError } = require('./errors');
const { LockFile } = require('./file');
const { Held } = require('./held');
const { Mutex, TurnRing } = require('./kinds');

exports.Held = Held;
exports.LockFile = LockFile;
exports.Mutex = Mutex;
exports.TurnRing = TurnRing;
exports.TurnlockError = TurnlockError;
exports.libraryVersion = version();
