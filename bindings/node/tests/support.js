'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const readline = require('node:readline');
const { LockFile } = require('turnlock');

const KINDS = ['mutex', 'turnRing'];

// A folder that is removed after the test.
function folder(t) {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'turnlock-'));
  t.after(() => fs.rmSync(made, { recursive: true }));
  return made;
}

function newFile(t, options) {
  return new LockFile(path.join(folder(t), 'lock'), options);
}

// Runs a script in another process, with the path of the lock file as its argument.
function inChild(script, ...args) {
  return spawnSync(process.execPath, ['-e', script, ...args], { encoding: 'utf8', timeout: 120_000, cwd: __dirname });
}

// Another process takes the lock and is killed inside.
function dieInside(file, kind) {
  const script = `
    const { LockFile, Owner } = require('turnlock');
    const [path, kind] = process.argv.slice(1);
    const lock = new LockFile(path, { label: 'the child' })[kind]('lock');
    if (kind === 'semaphore') lock.acquireSync();
    else if (kind === 'rwLock') lock.lockSync('exclusive');
    else if (kind === 'rangeLock') lock.lockSync(5, 8, 'exclusive');
    else if (kind === 'keyedLock') lock.lockSync('mine', 'exclusive');
    else if (kind === 'groupLock') lock.lockSync(1);
    else if (kind === 'recursiveMutex') {
      const owner = new Owner();
      lock.lockSync(owner);
      lock.lockSync(owner);
    }
    else lock.lockSync();
    process.kill(process.pid, 'SIGKILL');`;
  const child = inChild(script, file.path, kind);
  assert.equal(child.signal, 'SIGKILL', child.stderr);
}

// Runs a script in another process, beside the test: {pid, says, tell, kill, exit}.
function besides(t, script, ...args) {
  const child = spawn(process.execPath, ['-e', script, ...args], { cwd: __dirname, stdio: ['pipe', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  t.after(() => child.kill('SIGKILL'));
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid,
    // The next line that it says; undefined when it has ended.
    says: async () => (await lines.next()).value,
    tell: (line) => child.stdin.write(`${line}\n`),
    kill: async () => {
      child.kill('SIGKILL');
      assert.equal((await exit)[1], 'SIGKILL');
    },
    exit,
  };
}

const failure = (code) => ({ name: 'TurnlockError', code: `ERR_TURNLOCK_${code}` });

async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

module.exports = { KINDS, besides, dieInside, failure, folder, inChild, newFile, until };
