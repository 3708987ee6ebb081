/**
 * Locks between processes that are nothing but a memory-mapped file, by {@code libturnlock} and JNA. Programs in other
 * languages that open the same lock take turns with this one.
 *
 * <p>Each lock that is open has a participant (a slot in the file) of its own. Threads that share an object stand in line as
 * one, first come first served; a thread that is to stand in the queue by itself opens the lock again.
 */
package io.github.turnlock;
