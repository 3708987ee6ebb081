'use strict';
// turnlock: locks between processes that are nothing but a memory-mapped file. index.d.ts says what each thing does.

const { version } = require('./native');
const { TurnlockError } = require('./errors');
const { Barrier } = require('./barrier');
const { Condition } = require('./condition');
const { Event } = require('./event');
const { LockFile } = require('./file');
const { Held } = require('./held');
const { Mutex, TurnRing } = require('./exclusive');
const { Once } = require('./once');
const { KeyedLock, PartHeld, RangeLock } = require('./parts');
const { Owner, RecursiveHeld, RecursiveMutex } = require('./recursive');
const { RwHeld, RwLock } = require('./rwlock');
const { Permits, Semaphore } = require('./semaphore');

exports.Barrier = Barrier;
exports.Condition = Condition;
exports.Event = Event;
exports.Held = Held;
exports.KeyedLock = KeyedLock;
exports.LockFile = LockFile;
exports.Mutex = Mutex;
exports.Once = Once;
exports.Owner = Owner;
exports.PartHeld = PartHeld;
exports.Permits = Permits;
exports.RangeLock = RangeLock;
exports.RecursiveHeld = RecursiveHeld;
exports.RecursiveMutex = RecursiveMutex;
exports.RwHeld = RwHeld;
exports.RwLock = RwLock;
exports.Semaphore = Semaphore;
exports.TurnRing = TurnRing;
exports.TurnlockError = TurnlockError;
exports.libraryVersion = version();
