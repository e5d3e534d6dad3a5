//! From what is seen to the next step of a rotation.

use std::time::SystemTime;

use super::authority::{Authority, Certificate, two_thirds};
use super::secret::Authorities;

/// What the leader sees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight<'a> {
    /// What the Secret holds; nothing where there is none.
    pub(super) authorities: &'a Authorities,
    /// Every CA that a webhook configuration trusts.
    pub(super) trusted: &'a [Certificate],
    /// Whether the next CA has stood in both configurations for the settle time.
    pub(super) settled: bool,
    /// The wall clock.
    pub(super) now: SystemTime,
}

/// What to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing.
    Keep,
    /// A new CA signs at once: nothing that is served is trusted anyway.
    Begin,
    /// A new CA is to be trusted, and signs later; these are trusted further on.
    Announce(Vec<Certificate>),
    /// The next CA signs from now on.
    Promote,
    /// These previous CAs are trusted further on; the others have expired.
    Forget(Vec<Certificate>),
}

impl Sight<'_> {
    /// The next step.
    pub(super) fn step(&self) -> Step {
        let Authorities { current, next, previous } = self.authorities;
        let current = current.as_ref().filter(|authority| self.is_good(&authority.certificate));
        let next = next.as_ref().filter(|authority| self.is_good(&authority.certificate));
        match (current, next) {
            (None, None) => self.anew(),
            (_, Some(_)) => {
                if self.settled {
                    Step::Promote
                } else {
                    Step::Keep
                }
            }
            (Some(current), None) if self.is_due(current) => Step::Announce(self.good(previous)),
            (Some(_), None) if self.good(previous).len() < previous.len() => {
                Step::Forget(self.good(previous))
            }
            (Some(_), None) => Step::Keep,
        }
    }

    /// There is no CA: whatever the configurations trust may be served somewhere.
    fn anew(&self) -> Step {
        let mut trusted: Vec<Certificate> = Vec::new();
        for certificate in self.good(self.trusted).into_iter().chain(self.good(&self.authorities.previous)) {
            if !trusted.contains(&certificate) {
                trusted.push(certificate);
            }
        }
        if trusted.is_empty() { Step::Begin } else { Step::Announce(trusted) }
    }

    fn is_due(&self, current: &Authority) -> bool {
        self.now >= two_thirds(current.certificate.validity)
    }

    fn is_good(&self, certificate: &Certificate) -> bool {
        !certificate.validity.has_expired(self.now)
    }

    fn good(&self, certificates: &[Certificate]) -> Vec<Certificate> {
        certificates.iter().filter(|certificate| self.is_good(certificate)).cloned().collect()
    }
}

impl Step {
    /// What the Secret is to hold then; nothing where it stays as it is. `make` makes a CA.
    pub(super) fn applied(
        self,
        authorities: &Authorities,
        make: impl FnOnce() -> Result<Authority, rcgen::Error>,
    ) -> Result<Option<Authorities>, rcgen::Error> {
        let now = authorities.clone();
        Ok(Some(match self {
            Self::Keep => return Ok(None),
            Self::Begin => Authorities { current: Some(make()?), ..Authorities::default() },
            Self::Announce(previous) => {
                // An expired CA signs no more, and isn't kept.
                let current = now.current.filter(|current| !previous.contains(&current.certificate));
                Authorities { current, next: Some(make()?), previous }
            }
            Self::Promote => {
                let mut previous = now.previous;
                previous.extend(now.current.map(|current| current.certificate));
                Authorities { current: now.next, next: None, previous }
            }
            Self::Forget(previous) => Authorities { previous, ..now },
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::pki::managed::authority::at;

    const LIFE: Duration = Duration::from_mins(15);

    fn made(second: u64) -> Authority {
        Authority::make(at(0) + Duration::from_secs(10_000 + second), LIFE).unwrap()
    }

    fn step(authorities: &Authorities, trusted: &[Certificate], settled: bool, second: u64) -> Step {
        let now = at(0) + Duration::from_secs(10_000 + second);
        Sight { authorities, trusted, settled, now }.step()
    }

    fn only(current: &Authority) -> Authorities {
        Authorities { current: Some(current.clone()), ..Authorities::default() }
    }

    #[test]
    fn without_anything_to_overlap_a_ca_signs_at_once() {
        let old = made(0).certificate;
        assert_eq!(step(&Authorities::default(), &[], false, 0), Step::Begin);
        assert_eq!(step(&Authorities::default(), std::slice::from_ref(&old), false, 901), Step::Begin);
        // Our own, expired.
        assert_eq!(step(&only(&made(0)), &[old], false, 901), Step::Begin);
    }

    #[test]
    fn what_the_configurations_trust_is_kept_where_the_secret_is_gone() {
        let old = made(0).certificate;
        let trusted = [old.clone(), old.clone()];
        assert_eq!(step(&Authorities::default(), &trusted, false, 10), Step::Announce(vec![old]));
    }

    #[test]
    fn a_ca_is_replaced_at_two_thirds_of_its_life_and_not_before() {
        let authorities = only(&made(0));
        for (second, expected) in
            [(0, Step::Keep), (599, Step::Keep), (600, Step::Announce(vec![])), (900, Step::Announce(vec![]))]
        {
            assert_eq!(step(&authorities, &[], false, second), expected, "{second}");
        }
    }

    #[test]
    fn a_clock_before_the_ca_began_changes_nothing() {
        let ca = Authority::make(at(1_000_000), LIFE).unwrap();
        assert_eq!(step(&only(&ca), &[], false, 0), Step::Keep);
    }

    #[test]
    fn the_next_ca_signs_once_it_has_settled() {
        let authorities = Authorities { next: Some(made(600)), ..only(&made(0)) };
        assert_eq!(step(&authorities, &[], false, 610), Step::Keep);
        assert_eq!(step(&authorities, &[], true, 610), Step::Promote);
        // Also where the current one is gone by then.
        assert_eq!(step(&authorities, &[], false, 1000), Step::Keep);
    }

    #[test]
    fn a_next_ca_that_expired_before_it_signed_is_made_anew() {
        let authorities = Authorities { next: Some(made(0)), ..only(&made(900)) };
        assert_eq!(step(&authorities, &[], false, 1000), Step::Keep);
        let authorities = Authorities { next: Some(made(0)), ..only(&made(600)) };
        assert_eq!(step(&authorities, &[], true, 1300), Step::Announce(vec![]));
    }

    #[test]
    fn a_whole_rotation_keeps_what_may_be_served_and_drops_keys() {
        let (first, second) = (made(0), made(600));
        let announced =
            Step::Announce(vec![]).applied(&only(&first), || Ok(second.clone())).unwrap().unwrap();
        assert_eq!((&announced.current, &announced.next), (&Some(first.clone()), &Some(second.clone())));
        let promoted = Step::Promote.applied(&announced, || panic!("makes one")).unwrap().unwrap();
        assert_eq!((&promoted.current, &promoted.next), (&Some(second), &None));
        assert_eq!(promoted.previous, std::slice::from_ref(&first.certificate));
        assert_eq!(step(&promoted, &[], false, 900), Step::Keep);
        let Step::Forget(left) = step(&promoted, &[], false, 901) else { panic!("keeps an expired CA") };
        let forgotten = Step::Forget(left).applied(&promoted, || panic!("makes one")).unwrap().unwrap();
        assert_eq!(forgotten.previous, []);
        assert_eq!(Step::Keep.applied(&forgotten, || panic!("makes one")).unwrap(), None);
    }
}
