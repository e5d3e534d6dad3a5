//! The CA and the serving certificate of a server that was given none.
//!
//! | file | what is in it |
//! |---|---|
//! | `issue` | makes keys and certificates |
//! | `store` | the four files of a directory: read, checked, written, never overwritten |
//! | `inspect` | what a certificate says: validity, names |

mod inspect;
mod issue;
mod store;

pub use inspect::{Validity, names, validity};
pub use store::{CertsError, Done, Files, ensure};
