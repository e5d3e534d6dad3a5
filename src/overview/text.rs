//! An overview as lines for a person.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::{Event, Member, Of, Overview, Votes};
use crate::controller::status::Condition;
use crate::member::{Progress, Role};
use crate::text::{escaped, shortened};

/// Longest text of somebody else's in a line, in characters.
const TEXT_MAX: usize = 600;

/// The condition that says of the members what is said of each anyway.
const OF_MEMBERS: &str = "AllMembersReady";

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What kind of line it is.
    pub mark: Mark,
    /// What it says.
    pub text: String,
}

/// Kinds of lines, for whoever colours them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing special.
    Plain,
    /// A title.
    Title,
    /// What is as it should be.
    Good,
    /// What isn't.
    Bad,
    /// What waits.
    Waiting,
}

/// Whether ages stand beside times. They make every look another text.
#[derive(Clone, Copy, Debug)]
pub enum Ages {
    /// Times alone.
    Without,
    /// Ages too, as of this moment.
    At(Timestamp),
}

/// All of it.
pub fn lines(overview: &Overview, ages: Ages) -> Vec<Line> {
    let parts = [
        head(overview),
        members(overview, ages),
        conditions(overview, ages),
        errors(overview, ages),
        events(overview, ages),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&line(Mark::Plain, ""))
}

fn line(mark: Mark, text: impl Into<String>) -> Line {
    Line { mark, text: text.into() }
}

/// Somebody else's text.
fn said(text: &str) -> String {
    escaped(&shortened(text, TEXT_MAX))
}

fn head(overview: &Overview) -> Vec<Line> {
    let phase = overview.phase.as_deref().map_or_else(|| "not looked at yet".to_owned(), said);
    let join = overview.join.as_deref().map(|join| format!(", {}", said(join))).unwrap_or_default();
    let title = format!("Etcd {}/{}: {phase}{join}", overview.namespace, overview.name);
    let mut lines = vec![line(Mark::Title, title)];
    if overview.phase.is_none() {
        lines.push(line(
            Mark::Bad,
            "no status yet: does the reconcile loop run (etcd-warden serve --controller)?",
        ));
    } else if !overview.up_to_date {
        lines.push(line(Mark::Waiting, "the spec isn't carried out yet as it is now"));
    }
    let mark = if overview.clusters.len() > 1 { Mark::Bad } else { Mark::Plain };
    let clusters = match overview.clusters.as_slice() {
        [] => "no member reports one".to_owned(),
        clusters => clusters.join(", "),
    };
    lines.push(line(mark, format!("cluster  {clusters}")));
    lines.extend(overview.votes.map(votes));
    lines
}

fn votes(votes: Votes) -> Line {
    let Votes { voters, needed, ready, unseen } = votes;
    let (mark, proof) = match ready {
        0 => (Mark::Bad, "nobody here proves that there is quorum"),
        _ => (Mark::Good, "there is quorum"),
    };
    let unseen = if unseen > 0 { format!(", not seen from here: {unseen}") } else { String::new() };
    line(mark, format!("votes    {voters} voters, {needed} needed; ready here: {ready}{unseen}; {proof}"))
}

const HEADINGS: [&str; 6] = ["MEMBER", "OF", "ROLE", "READY", "ETCD", "ID"];

fn members(overview: &Overview, ages: Ages) -> Vec<Line> {
    if overview.members.is_empty() {
        return Vec::new();
    }
    let rows: Vec<[String; 6]> = overview.members.iter().map(row).collect();
    let headings = HEADINGS.map(str::to_owned);
    let mut widths = [0; 6];
    for row in rows.iter().chain([&headings]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let heading = line(Mark::Title, aligned(&headings, &widths));
    let of = |(member, row): (&Member, &[String; 6])| {
        let mark = match member.ready {
            Some(true) => Mark::Good,
            Some(false) => Mark::Bad,
            None => Mark::Plain,
        };
        let first = line(mark, aligned(row, &widths));
        [first].into_iter().chain(details(member, ages)).collect::<Vec<_>>()
    };
    [heading].into_iter().chain(overview.members.iter().zip(&rows).flat_map(of)).collect()
}

fn aligned(cells: &[String; 6], widths: &[usize; 6]) -> String {
    let mut text = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let _ = write!(text, "{cell:width$}  ");
    }
    text.trim_end().to_owned()
}

fn row(member: &Member) -> [String; 6] {
    let dash = || "-".to_owned();
    let of = match member.of {
        Of::Own => "this Etcd",
        Of::Source => "the source",
        Of::Other => "another",
    };
    let role = member.role.map(|role| match role {
        Role::Learner => "learner",
        Role::Voter => "voter",
        Role::Leader => "leader",
    });
    let ready = member.ready.map(|ready| if ready { "yes" } else { "no" });
    let name = if member.name.is_empty() { "(never started)".to_owned() } else { said(&member.name) };
    [
        name,
        of.to_owned(),
        role.map_or_else(dash, str::to_owned),
        ready.map_or_else(dash, str::to_owned),
        member.etcd_version.as_deref().map_or_else(dash, said),
        member.id.as_deref().map_or_else(dash, said),
    ]
}

/// What is said below a member's row; with its name, since a line may be shown alone when it is new.
fn details(member: &Member, ages: Ages) -> Vec<Line> {
    let waiting = member.waiting.as_ref().map(|waiting| {
        format!("{} waits since {}: {}", member.name, since(&waiting.since, ages), said(&waiting.message))
    });
    let progress = member.progress.map(|behind| format!("{} is at {}", member.name, progress(behind)));
    let details = [member.trouble.as_deref().map(said), waiting, progress];
    details.into_iter().flatten().map(|text| line(Mark::Waiting, format!("  {text}"))).collect()
}

fn progress(progress: Progress) -> String {
    let Progress { revision, leader_revision, bytes, leader_bytes } = progress;
    format!(
        "revision {revision} of {leader_revision}, {} behind; database {} of {}, {} behind",
        leader_revision.saturating_sub(revision),
        size(bytes),
        size(leader_bytes),
        size(leader_bytes.saturating_sub(bytes)),
    )
}

const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];

/// Bytes in the largest unit of which there is one, with one decimal.
fn size(bytes: u64) -> String {
    const STEP: u64 = 1024;
    let powers = UNITS.iter().zip([STEP, STEP.pow(2), STEP.pow(3), STEP.pow(4)]);
    let largest = powers.rev().find(|(_, unit)| bytes >= *unit);
    largest.map_or_else(
        || format!("{bytes} B"),
        |(name, unit)| {
            let tenths = u128::from(bytes) * 10 / u128::from(unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        },
    )
}

/// A time and, where it is wanted, how long ago that was.
fn since(time: &str, ages: Ages) -> String {
    let age = match (ages, time.parse::<Timestamp>()) {
        (Ages::At(now), Ok(then)) => Some(now.as_second() - then.as_second()),
        _ => None,
    };
    let age = age.map(|seconds| format!(" ({})", span(seconds.max(0)))).unwrap_or_default();
    format!("{}{age}", said(time))
}

/// Seconds, as kubectl writes them: two units at most.
fn span(seconds: i64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{}s", seconds % 60),
        (0, ..) => format!("{hours}h{minutes}m"),
        _ => format!("{days}d{hours}h"),
    }
}

/// Those that aren't as they should be. What members wait for stands with the members.
fn conditions(overview: &Overview, ages: Ages) -> Vec<Line> {
    let bad =
        overview.conditions.iter().filter(|condition| condition.is_bad() && condition.kind != OF_MEMBERS);
    let bad = bad.map(|condition| {
        let Condition { kind, status, reason, message, last_transition_time, .. } = condition;
        let since = since(last_transition_time, ages);
        line(
            Mark::Bad,
            format!(
                "  {} is {} since {since}, {}: {}",
                said(kind),
                said(status),
                said(reason),
                said(message)
            ),
        )
    });
    titled("conditions that aren't as they should be", bad)
}

fn errors(overview: &Overview, ages: Ages) -> Vec<Line> {
    let errors = overview.errors.iter().map(|error| {
        let since = since(&error.observed_at, ages);
        line(Mark::Bad, format!("  {} since {since}: {}", said(&error.code), said(&error.description)))
    });
    titled("errors", errors)
}

fn events(overview: &Overview, ages: Ages) -> Vec<Line> {
    let Some(events) = &overview.events else {
        return vec![line(Mark::Waiting, "events can't be listed with this user's rights")];
    };
    titled("last events", events.iter().map(|event| told(event, ages)))
}

fn told(event: &Event, ages: Ages) -> Line {
    let mark = if event.kind == "Warning" { Mark::Bad } else { Mark::Plain };
    let often = if event.count > 1 { format!(" ({} times)", event.count) } else { String::new() };
    // That of the Etcd itself needn't be said.
    let of = if event.object.starts_with("etcd/") { "" } else { &format!(" of {}", said(&event.object)) };
    let (reason, message) = (said(&event.reason), said(&event.message));
    line(mark, format!("  {} {reason}{of}{often}: {message}", since(&event.time, ages)))
}

fn titled(title: &str, lines: impl Iterator<Item = Line>) -> Vec<Line> {
    let lines: Vec<Line> = lines.collect();
    if lines.is_empty() { lines } else { [line(Mark::Title, title)].into_iter().chain(lines).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_spans_are_for_people() {
        for (bytes, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_500_000, "1.4 MiB"),
            (6 << 30, "6.0 GiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
        for (seconds, shown) in [(0, "0s"), (59, "59s"), (61, "1m1s"), (3600, "1h0m"), (90_000, "1d1h")] {
            assert_eq!(span(seconds), shown);
        }
    }
}
