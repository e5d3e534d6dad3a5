//! What several test files share.
#![allow(dead_code)] // each test file uses a part of it

pub(crate) mod reviews;
