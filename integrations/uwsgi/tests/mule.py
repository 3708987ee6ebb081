"""A mule of uWSGI's, which the tests have killed inside a user lock: each one that is started again says so in the cache."""

import os
import signal

import uwsgi

uwsgi.lock(1)
number = int(uwsgi.cache_get("mules", "store") or 0) + 1
uwsgi.cache_update("mules", str(number).encode(), 0, "store")
if number < 4:
    os.kill(os.getpid(), signal.SIGKILL)
uwsgi.unlock(1)
while True:
    uwsgi.mule_get_msg()
