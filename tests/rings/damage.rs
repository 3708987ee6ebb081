//! What becomes of a ring whose file was overwritten.
