'use strict';
// Conditions.

const { FLAGS, native } = require('./native');
const { waitOptions, wrongType } = require('./errors');
const { TellingHold } = require('./held');
const { Named, atMost, checked, flagsOf, until } = require('./named');
const { RecursiveHeld } = require('./recursive');
const { wait } = require('./waits');

class Condition extends Named {
  constructor(file, name, given) {
    super('condition', file, name, [flagsOf('condition', given, { mustExist: FLAGS.CONDITION_MUST_EXIST })]);
  }

  // A notification that came before the wait was ended counts.
  async wait(held, given) {
    const options = waitOptions(given);
    checkHeld(held);
    const { handle } = this;
    await this.endable({ signal: options.signal }, async (one) => {
      const waits = (hold) => one.by(hold, () => wait('hold_wait', hold, handle, ...until(options)));
      one.check(await held.away(waits));
    });
  }

  waitSync(held, given) {
    const options = waitOptions(given, { blocks: true });
    checkHeld(held);
    const { handle } = this;
    checked(held.awaySync((hold, acquired) => native.hold_wait(hold, handle, ...atMost(options), acquired)));
  }

  notifyOne() {
    return this.ask('condition_notify_one');
  }

  notifyAll() {
    return this.ask('condition_notify_all');
  }
}

function checkHeld(given) {
  const isHeld = given instanceof TellingHold || given instanceof RecursiveHeld;
  if (!isHeld) throw wrongType('what is held', 'a Held, a RwHeld or a RecursiveHeld', given);
}

module.exports = { Condition };
