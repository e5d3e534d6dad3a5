//! What an administrator decides about the rules.

/// What an administrator decides about the rules, by flags.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Prefixes of which an etcd image must bear one; empty: any image (`image-allowed`).
    pub allowed_images: Vec<String>,
    /// Whether an `Etcd` without the annotation is protected from deletion too (`deletion-protected`).
    pub deletion_protection: bool,
    /// The user that the reconcile loop acts as; set where the loop runs (`leave-finalizer-held`,
    /// `joined-delete`).
    pub loop_user: Option<String>,
}
