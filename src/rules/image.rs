//! The image of etcd.

use super::change::Change;
use super::report::Report;
use super::settings::Settings;
use super::view::View;
use crate::text::quoted;

const FIELD: &str = "spec.etcd.image";

/// An etcd release, as far as its data format depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Minor(u64, u64);

impl Minor {
    /// The only major version with a known order of minors.
    const MAJOR: u64 = 3;

    /// The first that can't read requests of the v2 API in a log.
    pub(crate) const WITHOUT_V2: Self = Self(Self::MAJOR, 7);

    /// The version that an image's tag names: `registry/etcd:v3.5.21`, `etcd:3.6.1-0`. Nothing where there is no
    /// tag or it is no etcd version (etcd-wrapper's `v0.6.2` is none).
    pub(crate) fn of_image(image: &str) -> Option<Self> {
        let name = image.split_once('@').map_or(image, |(name, _)| name);
        let (_, tag) = name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'))?;
        Self::of_version(tag)
    }

    /// The version that etcd says it is, or that a tag says.
    pub(crate) fn of_version(tag: &str) -> Option<Self> {
        let tag = tag.strip_prefix('v').unwrap_or(tag);
        let end = tag.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(tag.len());
        let (version, rest) = tag.split_at(end);
        let mut numbers = version.split('.').map(crate::etcd::ordinal);
        let minor = Self(numbers.next()??, numbers.next()??);
        let patch = numbers.all(|number| number.is_some());
        let suffix = rest.is_empty() || rest.starts_with(['-', '+', '_']);
        (patch && suffix && minor.0 == Self::MAJOR).then_some(minor)
    }

    /// Whether members of this minor may be replaced by members of the next.
    pub(crate) fn may_become(self, next: Self) -> bool {
        next == self || (next.0 == self.0 && Some(next.1) == self.1.checked_add(1))
    }
}

impl std::fmt::Display for Minor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", self.0, self.1)
    }
}

/// The image as it is written, where it can be read or is absent.
pub(super) fn image<'a>(view: &View<'a>) -> Option<&'a str> {
    view.config().and_then(|config| config.image.text())
}

/// One minor up at most, and none down.
pub(super) fn image_minor_jump(change: &Change<'_>, report: &mut Report) {
    let minor = |view: &View<'_>| image(view).and_then(Minor::of_image);
    let (Some(old), Some(new)) = (minor(change.old), minor(change.new)) else { return };
    if old.may_become(new) {
        return;
    }
    let why = if new < old {
        format!("etcd can't read the data of a later minor. Write an image of etcd {old}")
    } else {
        format!(
            "a jump over a minor destroys the cluster. Write an image of etcd {}.{} first",
            old.0,
            old.1.saturating_add(1)
        )
    };
    let detail = format!("{} can't follow etcd {old}: {why}", quoted(image(change.new).unwrap_or_default()));
    report.forbidden(FIELD, detail);
}

/// One of the prefixes that the administrator allows.
pub(super) fn image_allowed(view: &View<'_>, settings: &Settings, report: &mut Report) {
    let Some(image) = image(view) else { return };
    let allowed = &settings.allowed_images;
    if allowed.is_empty() || allowed.iter().any(|prefix| image.starts_with(prefix.as_str())) {
        return;
    }
    let listed: Vec<String> = allowed.iter().map(|prefix| quoted(prefix)).collect();
    let detail =
        format!("the image must begin with one of {} (the server's --allowed-images)", listed.join(", "));
    report.not_supported(FIELD, image, detail);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_minor_up_at_most_and_none_down() {
        for (old, new, may) in
            [(5, 5, true), (5, 6, true), (5, 7, false), (6, 5, false), (u64::MAX, 5, false)]
        {
            assert_eq!(Minor(3, old).may_become(Minor(3, new)), may, "{old} to {new}");
        }
        assert!(!Minor(3, u64::MAX).may_become(Minor(3, 0)));
    }

    #[test]
    fn tags_that_are_etcd_versions() {
        for (image, minor) in [
            ("etcd:v3.5.21", Some((3, 5))),
            ("registry.example:5000/etcd:3.6.1-0", Some((3, 6))),
            ("etcd:3.4.13-arm64@sha256:abc", Some((3, 4))),
            ("etcd:3.5", Some((3, 5))),
            ("etcd:v3.6.0-rc.1", Some((3, 6))),
            ("etcd", None),
            ("etcd:latest", None),
            ("registry.example:5000/etcd", None),
            ("etcd-wrapper:v0.6.2", None),
            ("etcd@sha256:abc", None),
            ("etcd:3", None),
            ("etcd:3.x.1", None),
            ("etcd:3.5.21b", None),
            ("etcd:4.0.0", None),
            ("etcd:3.99999999999999999999", Some((3, u64::MAX))),
            ("etcd:", None),
        ] {
            assert_eq!(Minor::of_image(image), minor.map(|(major, minor)| Minor(major, minor)), "{image}");
        }
    }
}
