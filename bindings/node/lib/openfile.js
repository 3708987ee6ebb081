'use strict';
// The handle of a lock file, open as long as the file or a lock keeps it that opens holds in it. The kinds take nothing
// else, and it is not exported: only a LockFile opens a lock.

const { native } = require('./native');

class OpenFile {
  #handle;
  #keepers = 1;

  constructor(handle) {
    this.#handle = handle;
  }

  // The handle, if it is one of these.
  static handleOf(file) {
    if (typeof file !== 'object' || file === null || !(#handle in file)) throw new TypeError('a lock is opened by a LockFile');
    return file.#handle;
  }

  get handle() {
    return this.#handle;
  }

  keep() {
    this.#keepers++;
  }

  drop() {
    if (--this.#keepers === 0) native.file_close(this.#handle);
  }
}

module.exports = { OpenFile };
