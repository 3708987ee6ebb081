'use strict';
// Events.

const { FLAGS } = require('./native');
const { waitOptions } = require('./errors');
const { Named, atMost, flagsOf, until } = require('./named');

class Event extends Named {
  constructor(file, name, given) {
    super('event', file, name, [flagsOf('event', given, { mustExist: FLAGS.EVENT_MUST_EXIST })], 1);
  }

  set() {
    this.call('event_set');
  }

  clear() {
    this.call('event_clear');
  }

  get isSet() {
    return this.ask('event_is_set') === 1;
  }

  async wait(given) {
    const options = waitOptions(given);
    options.signal?.throwIfAborted();
    if (this.isSet) return;
    const limit = until(options);
    await this.onThread({ signal: options.signal }, ({ wait }) => wait('event_wait', limit));
  }

  waitSync(given) {
    this.call('event_wait', ...atMost(waitOptions(given, { blocks: true })));
  }
}

module.exports = { Event };
