package io.github.turnlock;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;

/** The functions of the library for one kind of lock; each gives its status. */
interface Calls {
    int lock(Pointer lock, Pointer participant, Pointer acquired);

    int tryLock(Pointer lock, Pointer participant, Pointer acquired);

    int lockFor(Pointer lock, Pointer participant, long nanoseconds, Pointer acquired);

    int unlock(Pointer lock, Pointer participant);

    int abandon(Pointer lock, Pointer participant);

    int markConsistent(Pointer lock, Pointer participant);

    int isContended(Pointer lock, Pointer participant);

    int resetFor(Pointer lock, long nanoseconds);

    int previousOwner(Pointer lock, Pointer owner);

    int holder(Pointer lock, Pointer holder);

    int waiters(Pointer lock, long capacity, Pointer waiters, LongByReference count);

    int deathPolicy(Pointer lock, IntByReference policy);

    int close(Pointer lock);
}
