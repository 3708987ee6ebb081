"""The tests of Python's module sqlite3, with the VFS as the default one."""

import os
import sys
import test.test_sqlite3
import unittest

import children

children.registrar().register()
folder = test.test_sqlite3.__path__[0]
suite = unittest.defaultTestLoader.discover(folder, top_level_dir=os.path.dirname(os.path.dirname(folder)))
result = unittest.TextTestRunner(verbosity=0).run(suite)
# One that found none would pass.
sys.exit(not result.wasSuccessful() or result.testsRun < 100)
