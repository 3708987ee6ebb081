//! The stacks of loom's threads, used again. Loom begins each of its threads anew in every execution; its generators map a stack for it,
//! protect the lowest page, and unmap it when it ends. Two fifths of a search went there. So these three functions, which are linked in the
//! place of the C library's, keep a stack that is unmapped for the next thread. All other calls go on to the kernel. What the C library
//! maps itself, for the heap and for the threads of tests, does not come here.

use libc::{MAP_ANON, MAP_PRIVATE, MAP_STACK, PROT_NONE, PROT_READ, PROT_WRITE};
use std::{
    ffi::{c_int, c_long, c_void},
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

struct Stack {
    at: usize,
    length: usize,
    is_free: bool,
    /// Its lowest page is protected.
    is_guarded: bool,
}

fn stacks() -> MutexGuard<'static, Vec<Stack>> {
    static STACKS: Mutex<Vec<Stack>> = Mutex::new(Vec::new());
    STACKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As mmap(2).
///
/// # Safety
/// As for mmap(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    at: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let is_stack =
        at.is_null() && protection == PROT_READ | PROT_WRITE && flags == MAP_PRIVATE | MAP_ANON | MAP_STACK;
    let mut stacks = stacks();
    if is_stack && let Some(stack) = stacks.iter_mut().find(|stack| stack.is_free && stack.length == length) {
        stack.is_free = false;
        return ptr::with_exposed_provenance_mut(stack.at);
    }
    let (protection, flags) = (c_long::from(protection), c_long::from(flags));
    // SAFETY: the caller's.
    let mapped =
        unsafe { libc::syscall(libc::SYS_mmap, at, length, protection, flags, c_long::from(file), offset) };
    let mapped = ptr::with_exposed_provenance_mut(mapped as usize);
    if is_stack && mapped != libc::MAP_FAILED {
        stacks.push(Stack { at: mapped.addr(), length, is_free: false, is_guarded: false });
    }
    mapped
}

/// As mprotect(2).
///
/// # Safety
/// As for mprotect(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(at: *mut c_void, length: usize, protection: c_int) -> c_int {
    if protection == PROT_NONE
        && let Some(stack) = stacks().iter_mut().find(|stack| stack.at == at.addr())
        && std::mem::replace(&mut stack.is_guarded, true)
    {
        return 0;
    }
    // SAFETY: the caller's.
    unsafe { libc::syscall(libc::SYS_mprotect, at, length, c_long::from(protection)) as c_int }
}

/// As munmap(2).
///
/// # Safety
/// As for munmap(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(at: *mut c_void, length: usize) -> c_int {
    if let Some(stack) = stacks().iter_mut().find(|stack| stack.at == at.addr() && stack.length == length) {
        stack.is_free = true;
        return 0;
    }
    // SAFETY: the caller's.
    unsafe { libc::syscall(libc::SYS_munmap, at, length) as c_int }
}
