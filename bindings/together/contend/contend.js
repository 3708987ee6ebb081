'use strict';
// contend.js KIND FOLDER TURNS [--die-at N]: contend.c in Node.

const fs = require('node:fs');
const { LockFile } = require('turnlock');

const me = 'contend.js';

const readCounter = () => Number(fs.readFileSync('counter', 'utf8'));
const journalLines = () => fs.readFileSync('journal', 'utf8').split('\n').length - 1;
const append = (token) => fs.appendFileSync('journal', `${me} ${token}\n`);

function writeCounter(count) {
  const file = fs.openSync('counter', 'r+');
  fs.writeSync(file, `${count}\n`);
  fs.closeSync(file);
}

function waitToBeKilled() {
  console.log(`${me}: stopped inside; now: kill -9 ${process.pid}`);
  fs.readFileSync(0); // until standard input ends
  process.abort();
}

async function writeAndRead(lock, dies) {
  await lock.withLock('exclusive', (held) => {
    if (held.ownerDied) {
      writeCounter(journalLines());
      const { label, pid } = lock.previousOwner();
      console.log(`${me}: told that ${label} (process ${pid}) died inside`);
      held.markConsistent();
    }
    const count = readCounter();
    append(held.fencingToken);
    if (dies) waitToBeKilled();
    writeCounter(count + 1);
  });
  await lock.withLock('shared', (held) => {
    if (!held.ownerDied && readCounter() !== journalLines()) throw new Error('a reader saw half a turn');
  });
}

async function withPermit(semaphore, dies) {
  await semaphore.withPermits(1, () => {
    if (dies) waitToBeKilled();
    const count = readCounter();
    append(0);
    writeCounter(count + 1);
  });
}

async function main([kind, folder, turns, , dieAt]) {
  process.chdir(folder);
  const file = new LockFile('demo.lock', { label: me });
  // Readers rely on what a dead writer left being repaired first.
  const lock = kind === 'rwlock' ? file.rwLock(kind, { onDeath: 'inform' }) : file.semaphore(kind);
  const takeTurn = kind === 'rwlock' ? writeAndRead : withPermit;
  for (let turn = 1; turn <= Number(turns); turn++) await takeTurn(lock, turn === Number(dieAt));
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`${me}: ${error.message}`);
  process.exit(1);
});
