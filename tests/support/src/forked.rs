//! Memory that a test shares with the processes it forks.

/// A zeroed `T` that forked children share; never unmapped.
///
/// # Safety
/// All zeros is a `T`, and any process may write to it at any time: it has only atomics.
pub unsafe fn shared_with_children<T>() -> &'static T {
    // SAFETY: a fresh, zeroed, shared mapping of the right size, leaked; the rest is the caller's promise.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            size_of::<T>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        assert_ne!(memory, libc::MAP_FAILED);
        &*memory.cast::<T>()
    }
}
