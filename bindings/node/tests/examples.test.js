'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { test } = require('node:test');
const { folder } = require('./support');

const examples = path.join(__dirname, '../examples');

function run(command, ...args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 120_000 });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
    child.on('close', (status) => resolve({ status, said }));
  });
}

test('a build step and a shell script take turns', async (t) => {
  const here = folder(t);
  const build = () => run(process.execPath, path.join(examples, 'build/build.js'), here);
  const deploy = () => run(path.join(examples, 'build/deploy.sh'), here);
  const all = await Promise.all(Array.from({ length: 6 }, (_, i) => (i % 2 ? deploy() : build())));
  for (const { status, said } of all) assert.equal(status, 0, said);
  const { said } = await deploy();
  assert.match(said, /packed 100 parts/);
});

test('the counter counts', async (t) => {
  const here = folder(t);
  fs.writeFileSync(path.join(here, 'counter'), '0\n');
  fs.writeFileSync(path.join(here, 'journal'), '');
  const counter = path.join(examples, 'counter.js');
  const all = await Promise.all([run(process.execPath, counter, here, '50'), run(process.execPath, counter, here, '50')]);
  for (const { status, said } of all) assert.equal(status, 0, said);
  assert.equal(fs.readFileSync(path.join(here, 'counter'), 'utf8'), '100\n');
});
