//! From a body to an answer, and to what is kept of it.

use super::answer::{Answer, distinct, rule_ids};
use super::case::{Case, Change, Target};
use super::manifest::{self, Manifests};
use super::mutate::{Mutation, mutate};
use super::policy::{Audited, Enforcement, Policy};
use super::review::{NoReview, Request};
use super::stored::judge_scale;
use crate::audit::{Decision, Finding, Object, Record, Stage, User};
use crate::rules::{self, NOT_JUDGED, Verdict, View, Violation, Warning};
use crate::text::{escaped, shortened};
use serde_json::Value;
use std::time::Duration;

/// Most violations in one record: a record is for a person, and a file has bounds.
const RECORDED_MAX: usize = 1000;
/// Most warnings in one record.
const RECORDED_WARNINGS_MAX: usize = 100;
/// Longest piece of somebody's text in a log line.
const LOGGED_MAX: usize = 253;

/// What one call of a webhook came to.
#[derive(Debug)]
pub struct Outcome {
    /// The answer's body: an AdmissionReview as JSON.
    pub body: Vec<u8>,
    /// What it was about, in closed sets: for metrics and for the log line.
    pub facts: Facts,
    /// The audit record, without time and duration; only where `audited` asked for it.
    pub record: Option<Box<Record>>,
    /// Every warning, also those that the answer has no room for.
    pub warnings: Vec<Warning>,
}

/// What a review was about. Every string is from a closed set, or is for the log only.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Which webhook.
    pub stage: Stage,
    /// `CREATE`, `UPDATE`, `DELETE`, or `other`.
    pub operation: &'static str,
    /// `etcds`, `etcds/status`, `etcds/scale`, or `other`.
    pub resource: &'static str,
    /// What came of it.
    pub decision: Decision,
    /// The refusal's code: 422, 400, 504; 200 where it was allowed.
    pub code: u16,
    /// Ids of the rules that were broken, sorted, each once.
    pub rules: Vec<&'static str>,
    /// Ids of the warnings given, sorted, each once.
    pub warnings: Vec<&'static str>,
    /// For the log, escaped and shortened: `request.uid`.
    pub uid: String,
    /// For the log, escaped and shortened.
    pub namespace: String,
    /// For the log, escaped and shortened.
    pub name: String,
    /// For the log, escaped and shortened.
    pub user: String,
}

/// Answers one call of a webhook.
pub fn review(stage: Stage, body: &[u8], policy: &Policy<'_>) -> Result<Outcome, NoReview> {
    let request = Request::read(body)?;
    let about = About::of(stage, &request);
    let judged = judge(stage, body, request, policy, &about);
    Ok(judged.outcome(about, body, policy))
}

/// The answer to a review whose time ran out before it was judged: `/validate` refuses with code 504 and
/// reason Timeout, `/mutate` allows without a patch.
pub fn timed_out(
    stage: Stage,
    body: &[u8],
    limit: Duration,
    policy: &Policy<'_>,
) -> Result<Outcome, NoReview> {
    let request = Request::read(body)?;
    let about = About::of(stage, &request);
    let message = format!(
        "the review was not judged within {} ms: the server is overloaded, try again",
        limit.as_millis()
    );
    let judged = match stage {
        Stage::Mutate => Judged::default(),
        Stage::Validate => Judged::refused(Refusal::new(504, "Timeout", message)),
    };
    Ok(judged.outcome(about, body, policy))
}

/// What a review is about and who asks.
struct About {
    stage: Stage,
    target: Target,
    operation: String,
    subresource: Option<String>,
    uid: String,
    namespace: String,
    name: String,
    user: User,
    dry_run: bool,
    object_uid: Option<String>,
    generation: Option<i64>,
}

impl About {
    fn of(stage: Stage, request: &Request<'_>) -> Self {
        let object = if request.object.is_set() { request.object.get() } else { request.old_object.get() };
        let metadata = object.and_then(|object| object.metadata.get());
        let user = request.user_info.get();
        let first = |texts: [Option<&str>; 3]| {
            texts.into_iter().flatten().find(|text| !text.is_empty()).unwrap_or_default().to_owned()
        };
        Self {
            stage,
            target: Target::of(request),
            operation: request.operation.text().unwrap_or_default().to_owned(),
            subresource: request.subresource.text().filter(|text| !text.is_empty()).map(str::to_owned),
            uid: request.uid().to_owned(),
            namespace: first([request.namespace.text(), metadata.and_then(|m| m.namespace.text()), None]),
            name: first([
                request.name.text(),
                metadata.and_then(|m| m.name.text()),
                metadata.and_then(|m| m.generate_name.text()),
            ]),
            user: User {
                name: user.and_then(|user| user.username.text()).unwrap_or_default().to_owned(),
                groups: user
                    .and_then(|user| user.groups.get())
                    .into_iter()
                    .flatten()
                    .filter_map(|group| group.text().map(str::to_owned))
                    .collect(),
            },
            dry_run: request.dry_run.get() == Some(&true),
            object_uid: metadata.and_then(|m| m.uid.text()).map(str::to_owned),
            generation: metadata.and_then(|m| m.generation.number()),
        }
    }
}

/// A question that can't be judged.
struct Refusal {
    code: u16,
    reason: &'static str,
    message: String,
    /// Seconds after which to try again.
    retry_after: Option<u16>,
}

impl Refusal {
    fn new(code: u16, reason: &'static str, message: String) -> Self {
        Self { code, reason, message, retry_after: None }
    }

    /// What the API server hands on as `Retry-After`, and its clients follow by themselves.
    fn not_yet(why: &str) -> Self {
        let message = format!("the Scale can't be judged yet: {why}; try again");
        Self { code: 503, reason: "ServiceUnavailable", message, retry_after: Some(1) }
    }
}

/// What was found.
#[derive(Default)]
struct Judged {
    violations: Vec<Violation>,
    more_violations: usize,
    warnings: Vec<Warning>,
    mutation: Mutation,
    refusal: Option<Refusal>,
}

impl Judged {
    fn refused(refusal: Refusal) -> Self {
        Self { refusal: Some(refusal), ..Self::default() }
    }

    /// `/mutate` allows what it can't judge: one place decides, and it isn't that one.
    fn refused_at(stage: Stage, refusal: Refusal) -> Self {
        if stage == Stage::Validate { Self::refused(refusal) } else { Self::default() }
    }
}

fn judge(stage: Stage, body: &[u8], request: Request<'_>, policy: &Policy<'_>, about: &About) -> Judged {
    let mut case = match Case::of(request) {
        Ok(case) => case,
        Err(message) => return Judged::refused_at(stage, Refusal::new(400, "BadRequest", message)),
    };
    let mutation = if stage == Stage::Mutate { mutation(&mut case) } else { Mutation::default() };
    match verdict(&case, body, policy, about) {
        Ok(Verdict { violations, more_violations, warnings, .. }) => {
            // Warnings are for the webhook that decides: each is given once.
            let warnings = if stage == Stage::Validate { warnings } else { Vec::new() };
            Judged { violations, more_violations, warnings, mutation, refusal: None }
        }
        Err(why) => Judged::refused_at(stage, Refusal::not_yet(&why)),
    }
}

fn mutation(case: &mut Case<'_>) -> Mutation {
    match case {
        Case::Create(new) => mutate(new, None),
        Case::Update(Change { old, new }) => mutate(new, Some(old)),
        Case::UpdateStatus(_) | Case::UpdateScale(_) | Case::Delete(_) => Mutation::default(),
    }
}

/// The verdict, or why there can't be one yet.
fn verdict(case: &Case<'_>, body: &[u8], policy: &Policy<'_>, about: &About) -> Result<Verdict, String> {
    let (settings, user) = (policy.settings, about.user.name.as_str());
    let view = |etcd| View::new(etcd, &about.namespace);
    let judge = |request: &rules::Request<'_>| rules::judge(request, settings, user);
    Ok(match case {
        Case::Create(new) => judge(&rules::Request::Create(&view(new))),
        Case::Update(Change { old, new }) => {
            with_ratcheted(judge(&rules::Request::Update { old: &view(old), new: &view(new) }), body)
        }
        Case::UpdateStatus(Change { old, new }) => {
            judge(&rules::Request::UpdateStatus { old: &view(old), new: &view(new) })
        }
        Case::UpdateScale(change) => {
            let judged = judge_scale(change, &about.namespace, policy.stored, settings, user)?;
            with_ratcheted(judged, body)
        }
        Case::Delete(old) => judge(&rules::Request::Delete(&view(old))),
    })
}

/// What ratcheting let pass is warned of whenever `spec` is another one.
fn with_ratcheted(mut verdict: Verdict, body: &[u8]) -> Verdict {
    let ratcheted = std::mem::take(&mut verdict.ratcheted);
    if !ratcheted.is_empty() && !Manifests::of(body).same_spec() {
        verdict.warnings.extend(ratcheted);
    }
    verdict
}

impl Judged {
    fn outcome(self, about: About, body: &[u8], policy: &Policy<'_>) -> Outcome {
        let decision = self.decision(about.stage, policy.enforcement);
        let answer = self.answer(&about, decision);
        let warnings = self.all_warnings(decision);
        let answered = answer.body(&about.uid, &warnings);
        let facts = about.facts(decision, answer.code(), rule_ids(&self.violations), &warnings);
        let wanted = policy.audited == Audited::All || decision != Decision::Allowed;
        let record = wanted.then(|| Box::new(self.record(about, body, decision, &warnings)));
        Outcome { body: answered, facts, record, warnings }
    }

    fn decision(&self, stage: Stage, enforcement: Enforcement) -> Decision {
        match (stage, enforcement) {
            _ if self.refusal.is_none() && self.violations.is_empty() => Decision::Allowed,
            (Stage::Mutate, _) => Decision::Found,
            (Stage::Validate, Enforcement::Deny) => Decision::Rejected,
            (Stage::Validate, Enforcement::Warn) => Decision::Warned,
        }
    }

    fn answer<'j>(&'j self, about: &'j About, decision: Decision) -> Answer<'j> {
        match (decision, &self.refusal) {
            (Decision::Rejected, Some(Refusal { code, reason, message, retry_after })) => {
                Answer::Refused { code: *code, reason, message, name: &about.name, retry_after: *retry_after }
            }
            (Decision::Rejected, None) => Answer::Invalid {
                name: &about.name,
                violations: &self.violations,
                more: self.more_violations,
            },
            _ => Answer::Allowed { patch: &self.mutation.patch },
        }
    }

    /// What would have been refused comes first: it is what is cut last.
    fn all_warnings(&self, decision: Decision) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if decision == Decision::Warned {
            let unjudged = self.refusal.iter().map(|refusal| Warning::new(NOT_JUDGED, &refusal.message));
            warnings.extend(unjudged);
            warnings.extend(self.violations.iter().map(Violation::as_warning));
        }
        warnings.extend_from_slice(&self.mutation.warnings);
        warnings.extend_from_slice(&self.warnings);
        warnings
    }

    fn record(self, about: About, body: &[u8], decision: Decision, warnings: &[Warning]) -> Record {
        let found = Manifests::of(body);
        let mut manifest = found.new.or(found.old).and_then(manifest::kept);
        if let Some(manifest) = &mut manifest {
            self.apply_patch(manifest);
        }
        let (code, message) = match (decision, self.refusal) {
            (Decision::Rejected | Decision::Warned, Some(refusal)) => {
                (Some(refusal.code), Some(refusal.message))
            }
            (Decision::Rejected | Decision::Warned, None) => (Some(422), None),
            _ => (None, None),
        };
        let hash = manifest.as_ref().map(manifest::hash).unwrap_or_default();
        Record {
            time: String::new(),
            stage: about.stage,
            decision,
            uid: about.uid,
            operation: about.operation,
            subresource: about.subresource,
            object: Object {
                namespace: about.namespace,
                name: about.name,
                uid: about.object_uid,
                generation: about.generation,
                hash,
            },
            user: about.user,
            dry_run: about.dry_run,
            enforcement: (decision == Decision::Warned).then_some("warn"),
            code,
            message,
            violations_left_out: self.violations.len().saturating_sub(RECORDED_MAX) + self.more_violations,
            violations: self.violations.into_iter().take(RECORDED_MAX).map(finding).collect(),
            warnings: warnings
                .iter()
                .take(RECORDED_WARNINGS_MAX)
                .map(|warning| warning.text.clone())
                .collect(),
            manifest,
            duration_micros: 0,
        }
    }

    /// What `/mutate` judged is the object as it patches it.
    fn apply_patch(&self, manifest: &mut Value) {
        for operation in &self.mutation.patch {
            // Made from this very manifest, so that every place is there.
            let _ = operation.apply(manifest);
        }
    }
}

fn finding(violation: Violation) -> Finding {
    Finding {
        rule: violation.rule,
        field: violation.field,
        cause: violation.cause.name(),
        message: violation.message,
    }
}

impl About {
    fn facts(&self, decision: Decision, code: u16, rules: Vec<&'static str>, warnings: &[Warning]) -> Facts {
        let logged = |text: &str| shortened(&escaped(text), LOGGED_MAX);
        Facts {
            stage: self.stage,
            operation: self.target.operation,
            resource: self.target.resource,
            decision,
            code,
            rules,
            warnings: distinct(warnings.iter().map(|warning| warning.id)),
            uid: logged(&self.uid),
            namespace: logged(&self.namespace),
            name: logged(&self.name),
            user: logged(&self.user.name),
        }
    }
}
