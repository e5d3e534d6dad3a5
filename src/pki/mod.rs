//! The CA and the serving certificate of a server that was given none.
//!
//! | file | what is in it |
//! |---|---|
//! | `issue` | makes keys and certificates |
//! | `store` | the four files of a directory: made, written, never overwritten |
//! | `found` | files that are there already: whether they are ours, and to be renewed |
//! | `inspect` | what a certificate says: validity, names |

mod found;
mod inspect;
mod issue;
mod store;

pub use inspect::{Validity, names, validity};
pub use store::{CertsError, Done, Files, ensure};
