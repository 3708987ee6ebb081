'use strict';
// build.js FOLDER: makes FOLDER/dist anew, while no other process builds or packs it.

const fs = require('node:fs');
const path = require('node:path');
const { LockFile } = require('turnlock');

const FILES = 100;

async function build(folder) {
  const dist = path.join(folder, 'dist');
  await fs.promises.rm(dist, { recursive: true, force: true });
  await fs.promises.mkdir(dist);
  for (let i = 0; i < FILES; i++) await fs.promises.writeFile(path.join(dist, `part-${i}`), `${process.pid}\n`);
  await fs.promises.writeFile(path.join(dist, 'manifest'), `${FILES}\n`);
}

async function main(folder) {
  if (!folder) throw new Error('usage: node build.js FOLDER');
  const lock = new LockFile(path.join(folder, 'build.lock'), { label: 'build.js' }).mutex('dist');
  // Ctrl-C ends the wait, and leaves nothing in the queue.
  const end = new AbortController();
  const stop = () => end.abort();
  process.once('SIGINT', stop);
  await lock.withLock(
    async (held) => {
      process.off('SIGINT', stop);
      if (held.ownerDied) console.log(`build.js: process ${held.deadOwner.pid} died at work; dist is made anew anyway`);
      await build(folder);
    },
    { timeout: 60_000, signal: end.signal },
  );
  console.log('build.js: built');
}

main(process.argv[2]).catch((error) => {
  console.error(`build.js: ${error.message}`);
  process.exit(1);
});
