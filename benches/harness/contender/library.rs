//! Shared libraries, loaded at run time.

use std::{
    ffi::{CStr, CString, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
};

/// Never unloaded: function pointers taken from it stay good.
pub struct Library(*mut c_void);

impl Library {
    /// # Errors
    /// A sentence, if it cannot be loaded.
    pub fn open(path: &Path) -> Result<Self, String> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: the libraries opened here are our own and have no surprising initialisers.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        if library.is_null() { Err(format!("cannot load: {}", path.display())) } else { Ok(Self(library)) }
    }

    /// Ours, with its C ABI. Cargo builds it together with the library that this program is linked to: `libturnlock.so` in
    /// a folder above.
    ///
    /// # Errors
    /// A sentence, if it is not there.
    pub fn turnlock() -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let found = own.ancestors().map(|folder| folder.join("libturnlock.so")).find(|file| file.exists());
        Self::open(
            &found
                .ok_or_else(|| format!("not found: libturnlock.so, in a folder above {}", own.display()))?,
        )
    }

    /// # Safety
    /// `F` is the type of the function `name`.
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> F {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the library is open; a function's address is as large as the pointer to it.
        unsafe {
            let found = libc::dlsym(self.0, name.as_ptr());
            assert!(!found.is_null(), "{name:?} is not in the library");
            std::mem::transmute_copy(&found)
        }
    }
}
