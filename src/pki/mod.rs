//! The CA and the serving certificate of a server that was given none: in a directory, or in a cluster.
//!
//! | file | what is in it |
//! |---|---|
//! | `issue` | makes keys and certificates |
//! | `store` | the four files of a directory: made, written, never overwritten |
//! | `found` | files that are there already: whether they are ours, and to be renewed |
//! | `inspect` | what a certificate says: validity, names |
//! | [`managed`] | a CA in a Secret, leaves in memory, and the webhook configurations that trust them |

mod found;
mod inspect;
mod issue;
pub mod managed;
mod store;

pub use inspect::{Validity, names, validity};
pub use store::{CertsError, Done, Files, ensure};
