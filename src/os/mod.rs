//! Everything that asks the kernel; the only home of libc, nix and memmap2.
//!
//! The kernel is asked whether a participant is still alive and to let a waiter sleep for a while, and for membarrier; never
//! for exclusion. Safety never depends on a clock, a pid or a wake-up.

pub mod allocation;
mod anchor;
mod byte_lock;
pub mod clock;
#[cfg(feature = "async")]
pub mod eventfd;
pub mod file;
pub mod folder;
pub mod fork;
pub mod futex;
pub mod given;
pub mod identity;
pub mod keepers;
#[cfg(feature = "command")]
pub mod kernel_lock;
pub mod linux;
pub mod liveness_lock;
pub mod map;
pub mod membarrier;
#[cfg(feature = "capi")]
pub mod memory;
#[cfg(feature = "capi")]
mod pool;
pub mod wipe_on_fork;
/// See the real one.
#[cfg(not(feature = "capi"))]
pub mod memory {
    /// Does nothing: what happens when memory runs out is for the program's own allocator.
    pub fn check() -> turnlock_core::error::Result<()> {
        Ok(())
    }

    /// See the real one: here it does nothing.
    pub struct WithoutMalloc;

    impl WithoutMalloc {
        /// See the real one.
        #[inline(always)]
        pub fn new() -> Self {
            Self
        }
    }
}
#[cfg(feature = "command")]
pub mod peers;
pub mod process;
pub mod processors;
pub mod reopen;
pub mod replace;
pub mod signals;
mod system_error;
pub mod thread_end;
pub mod thread_words;
mod truncation;
mod wiped_page;
pub mod zeroed;
