'use strict';
// Group locks: any number of members of one group, and none of another.

const { object, optional, text, uint64 } = require('./errors');
const { TellingHold } = require('./held');
const { TellingLock } = require('./lock');
const { settings } = require('./settings');

class MemberHeld extends TellingHold {
  get group() {
    return this.by.request.group;
  }

  giveBack() {
    // The notice of an earlier death is still to be given.
    this.leave({ failed: this.ownerDied });
  }
}

class GroupLock extends TellingLock {
  constructor(file, lockName, given) {
    const chosen = object('the options of a lock', given, ['mustExist', 'onDeath', 'label']);
    const label = optional(chosen, 'label', null, text);
    super('grouplock', file, lockName, settings('grouplock', chosen), { label, Held: MemberHeld, isOfParts: true });
  }

  async lock(group, given) {
    return await this.take(ofGroup(group), given);
  }

  lockSync(group, given) {
    return this.takeBlocking(ofGroup(group), given);
  }

  tryLock(group) {
    return this.takeNow(ofGroup(group));
  }

  async withLock(group, section, given) {
    return await this.takeInside(ofGroup(group), section, given);
  }
}

function ofGroup(group) {
  return { group: uint64('the group', group) };
}

module.exports = { GroupLock, MemberHeld };
