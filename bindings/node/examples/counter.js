'use strict';
// counter.js: adds to a number in a plain file, together with other programs, one at a time.
//
//     node counter.js FOLDER TURNS [--die-at N]
//
// A turn reads the number in `counter`, adds a line to `journal` and writes the number plus one. The lock `counter` of
// `demo.lock` keeps other programs out meanwhile: examples/counter.c has the whole story.

const fs = require('node:fs');
const { LockFile } = require('turnlock');

const me = 'counter.js';

async function main([folder, turns, option, dieAt]) {
  if (turns === undefined || (option !== undefined && option !== '--die-at')) {
    throw new Error('usage: node counter.js FOLDER TURNS [--die-at N]');
  }
  process.chdir(folder);
  // The label is what others read when this program dies.
  const mutex = new LockFile('demo.lock', { label: me }).mutex('counter');
  for (let turn = 1; turn <= Number(turns); turn++) {
    // An exception inside abandons the lock, and the next holder is told.
    await mutex.withLock((held) => takeTurn(held, turn, Number(dieAt)));
  }
  console.log(`${me}: done, ${turns} turns`);
}

function takeTurn(held, turn, dieAt) {
  if (held.ownerDied) repair(held);
  const count = Number(fs.readFileSync('counter', 'utf8'));
  fs.appendFileSync('journal', `${me} ${held.fencingToken}\n`);
  if (turn === dieAt) {
    console.log(
      `${me}: stopped half-way through turn ${turn}, with fencing token ${held.fencingToken}; now: kill -9 ${process.pid}`,
    );
    fs.readFileSync(0); // until standard input ends
    process.abort();
  }
  writeCounter(count + 1);
}

// The holder before died inside, perhaps between the journal and the counter. The journal is written first, so it is right;
// the counter is made to agree with it.
function repair(held) {
  const count = fs.readFileSync('journal', 'utf8').split('\n').length - 1;
  writeCounter(count);
  const { label, pid } = held.lock.previousOwner();
  console.log(`${me}: told that ${label} (process ${pid}) died inside; set the counter to ${count}`);
  // Only now: a lock whose death policy is inform would be closed by an unlock without it.
  held.markConsistent();
}

// In place, since the number never gets shorter.
function writeCounter(count) {
  const file = fs.openSync('counter', 'r+');
  fs.writeSync(file, `${count}\n`);
  fs.closeSync(file);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`${me}: ${error.message}`);
  process.exit(1);
});
