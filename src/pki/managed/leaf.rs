//! What every replica does: a leaf of its own, renewed in time.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use super::access::{Access, Problem};
use super::authority::{Authority, Certificate, two_thirds};
use super::hooks::{Hooks, KINDS};
use super::status::{Part, Status};
use crate::kubernetes::Backoff;
use crate::pki::Validity;

/// How often the wall clock and the Secret are looked at.
const LOOK: Duration = Duration::from_secs(30);

/// A serving certificate with its key, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Leaf {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: Zeroizing<String>,
    /// When it is good.
    pub validity: Validity,
}

/// Signs this replica's leaves.
pub struct Leaves<F> {
    access: Access,
    status: Arc<Status>,
    serve: F,
    /// What is served, and the CA that signed it.
    served: Option<(Validity, Certificate)>,
    /// Whether the configurations have been seen to trust it.
    trusted: bool,
}

/// What is to be done about the leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Keep,
    Renew,
    /// By another CA than before.
    Replace,
}

impl<F: FnMut(Leaf) + Send> Leaves<F> {
    /// `serve` is called with each new leaf.
    pub fn new(access: Access, status: Arc<Status>, serve: F) -> Self {
        Self { access, status, serve, served: None, trusted: false }
    }

    /// Until told to `stop`.
    pub async fn run(mut self, stop: CancellationToken) -> io::Result<()> {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
        loop {
            let looked = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                looked = self.look() => looked,
            };
            let wait = match &looked {
                Err(_) if !self.trusted => backoff.failed(),
                _ => self.pause(),
            };
            let fault = looked.unwrap_or_else(|problem| Some(problem.to_string()));
            self.status.came_to(Part::Leaf, fault);
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = sleep(wait) => {}
            }
        }
    }

    fn pause(&self) -> Duration {
        LOOK.min(self.access.settings.leaf_life / 20).max(Duration::from_millis(100))
    }

    /// Looks at clock, Secret and configurations, and has a new leaf served where one is due. What is to be looked
    /// after all the same is what it returns.
    async fn look(&mut self) -> Result<Option<String>, Problem> {
        let now = SystemTime::now();
        let authorities = self.access.secret().await?.authorities;
        let Some(current) = authorities.current else {
            return Err(Problem::Not(match authorities.next {
                None => "there is no CA yet: whoever holds the lease makes one".to_owned(),
                Some(_) => {
                    "the new CA is announced in the webhook configurations, and signs in a moment".to_owned()
                }
            }));
        };
        let hooks = self.access.both().await;
        let due = due(self.served.as_ref(), &current.certificate, now);
        if due != Due::Keep {
            self.sign(&current, due, hooks.as_ref().ok(), now)?;
        }
        let hooks = hooks?;
        self.check_trust(&current.certificate, &hooks)?;
        self.trusted = true;
        self.status.is_trusted();
        Ok(current.certificate.validity.has_not_begun(now).then(|| {
            "the CA begins in the future: this machine's clock is behind, or the one of who made it is ahead".to_owned()
        }))
    }

    fn sign(
        &mut self,
        current: &Authority,
        due: Due,
        hooks: Option<&[Option<Hooks>; 2]>,
        now: SystemTime,
    ) -> Result<(), Problem> {
        if current.certificate.validity.has_expired(now) {
            return Err(Problem::Not(
                "the CA has expired: whoever holds the lease makes a new one".to_owned(),
            ));
        }
        let serves_well = self.served.as_ref().is_some_and(|(validity, _)| !validity.has_expired(now));
        let distrusted = hooks.is_none_or(|hooks| distrusting(hooks, &current.certificate).is_some());
        if due == Due::Replace && serves_well && distrusted {
            return Err(Problem::Not(
                "a new CA signs, and not every webhook configuration trusts it: the old leaf is kept"
                    .to_owned(),
            ));
        }
        let settings = &self.access.settings;
        let name = format!("{}.{}.svc", settings.service, settings.namespace);
        let leaf = current.sign(&name, now, settings.leaf_life)?;
        tracing::info!(%name, not_after = leaf.validity.not_after, "leaf signed");
        self.served = Some((leaf.validity, current.certificate.clone()));
        (self.serve)(leaf);
        self.status.metrics.leaves.inc();
        self.status.metrics.ca_not_after.set(current.certificate.validity.not_after);
        Ok(())
    }

    fn check_trust(&self, current: &Certificate, hooks: &[Option<Hooks>; 2]) -> Result<(), Problem> {
        let signer = self.served.as_ref().map_or(current, |(_, signer)| signer);
        match distrusting(hooks, signer) {
            None => Ok(()),
            Some(kind) => Err(Problem::Not(format!(
                "{kind} {:?} does not trust this replica's CA yet: whoever holds the lease puts that right",
                self.access.settings.configuration
            ))),
        }
    }
}

/// The first configuration that is there and does not trust a CA.
fn distrusting(hooks: &[Option<Hooks>; 2], authority: &Certificate) -> Option<&'static str> {
    let found =
        KINDS.iter().zip(hooks).find(|(_, hooks)| hooks.as_ref().is_some_and(|h| !h.trust(authority)));
    found.map(|(kind, _)| kind.name)
}

fn due(served: Option<&(Validity, Certificate)>, current: &Certificate, now: SystemTime) -> Due {
    match served {
        None => Due::Renew,
        Some((_, signer)) if signer != current => Due::Replace,
        // A clock that was set back finds a leaf that hasn't begun.
        Some((validity, _)) if now >= two_thirds(*validity) || validity.has_not_begun(now) => Due::Renew,
        Some(_) => Due::Keep,
    }
}

impl fmt::Debug for Leaf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Leaf").field("validity", &self.validity).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::managed::authority::at;

    #[test]
    fn a_leaf_is_renewed_at_two_thirds_by_the_wall_clock_and_replaced_with_its_ca() {
        let life = Duration::from_mins(150);
        let made = at(1_000_000);
        let ca = Authority::make(made, life * 9).unwrap();
        let other = Authority::make(made, life * 9).unwrap().certificate;
        let leaf = ca.sign("warden.shop.svc", made, life).unwrap();
        let served = (leaf.validity, ca.certificate.clone());
        assert_eq!(due(None, &ca.certificate, made), Due::Renew);
        for (second, expected) in
            [(0, Due::Keep), (5999, Due::Keep), (6000, Due::Renew), (99_999, Due::Renew)]
        {
            let now = made + Duration::from_secs(second);
            assert_eq!(due(Some(&served), &ca.certificate, now), expected, "{second}");
        }
        assert_eq!(due(Some(&served), &ca.certificate, made - Duration::from_secs(3601)), Due::Renew);
        assert_eq!(due(Some(&served), &other, made), Due::Replace);
    }
}
