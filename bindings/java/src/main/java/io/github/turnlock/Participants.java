package io.github.turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.lang.ref.Reference;

/** Slots in a file. */
final class Participants {
    private Participants() {}

    /** Takes a slot in the file for a participant that calls itself {@code label}, or as the file does if that is null. */
    static Pointer open(Pointer file, String label) {
        Memory text = Texts.label(label);
        Memory options = Native.struct(24);
        options.setPointer(8, text);
        PointerByReference opened = new PointerByReference();
        Native.check(Native.turnlock_participant_open(file, options, opened));
        Reference.reachabilityFence(text);
        return opened.getValue();
    }
}
