package turnlock;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.PointerByReference;
import java.lang.ref.Reference;
import java.util.function.BooleanSupplier;
import java.util.function.ToIntBiFunction;
import java.util.function.ToIntFunction;

/** What conditions, events, barriers and onces have in common: objects of a lock file that are not held. */
abstract class Named implements AutoCloseable {
    /** The function of the library that opens an object of one kind. */
    interface Opens {
        int open(Pointer file, byte[] name, PointerByReference opened);
    }

    private final Handle handle;

    Named(Handle.Shared file, String name, Opens opens, ToIntFunction<Pointer> close) {
        PointerByReference opened = new PointerByReference();
        Native.check(opens.open(file.pointer(), Texts.name(name), opened));
        Pointer pointer = opened.getValue();
        file.keep();
        Handle open = new Handle(pointer, () -> {
            close.applyAsInt(pointer);
            file.drop();
        });
        handle = open;
        LockFile.CLEANER.register(this, open::close);
    }

    /** Does something with the handle, which is open meanwhile. */
    final <Result, Failure extends Exception> Result use(Handle.Use<Result, Failure> use) throws Failure {
        try {
            return handle.use(use);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Calls the library; the status, if it is not a failure. */
    final int call(ToIntFunction<Pointer> function) {
        return use(pointer -> Native.check(function.applyAsInt(pointer)));
    }

    /** The number that a function of the library gives. */
    final int ask(ToIntBiFunction<Pointer, IntByReference> function) {
        IntByReference answer = new IntByReference();
        call(pointer -> function.applyAsInt(pointer, answer));
        return answer.getValue();
    }

    /** What ends a wait: a close, and an interrupt where the wait is interruptible. */
    final BooleanSupplier ends(boolean interruptibly) {
        return () -> handle.isClosing() || interruptibly && Thread.currentThread().isInterrupted();
    }

    /** Waits until the library is done or the thread is interrupted; the status, {@link Status#INTERRUPTED} if it was closed. */
    final int await(Interrupts.Wait wait) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        return checkInterrupted(Interrupts.endedBy(ends(true), wait));
    }

    /** Waits until the library is done; an interrupt does not end that. */
    final int awaitPatiently(Interrupts.Wait wait) {
        return checkOpen(Interrupts.endedBy(ends(false), wait));
    }

    /** The status of a wait that was interruptible, unless an interrupt or a close has ended it. */
    final int checkInterrupted(int status) throws InterruptedException {
        checkOpen(status);
        if (status == Status.INTERRUPTED.number() && Thread.interrupted()) {
            throw new InterruptedException();
        }
        return status;
    }

    /** The status of a wait, unless a close has ended it. */
    final int checkOpen(int status) {
        if (status == Status.INTERRUPTED.number() && handle.isClosing()) {
            throw Handle.closed();
        }
        return status;
    }

    /** How long the library waits, which is given the nanoseconds too: {@link Long#MAX_VALUE} is for ever. */
    static int limit(long nanoseconds) {
        return nanoseconds == Long.MAX_VALUE ? Native.WAIT_FOREVER : Native.WAIT_AT_MOST;
    }

    /** Closes it; threads that wait for it get {@link Status#CLOSED}, within 70 milliseconds. To close it again does nothing. */
    @Override
    public void close() {
        handle.close();
    }
}
