//! The bytes of a review, through both webhooks.
//!
//! Whatever comes in: no panic, no allowance for what is no review, the uid echoed, an answer below 64 KiB, and a
//! patch that leaves nothing to a second pass.
#![no_main]

use base64::Engine;
use etcd_warden::admission::{Audited, Operation, Policy, review};
use etcd_warden::audit::Stage;
use etcd_warden::rules::Settings;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fn answer(stage: Stage, body: &[u8]) -> Option<Value> {
    let outcome = review(stage, body, &Policy::new(&Settings::default(), Audited::All)).ok()?;
    assert!(outcome.body.len() < 64 * 1024 || stage == Stage::Mutate, "an answer of {} bytes", outcome.body.len());
    let answer: Value = serde_json::from_slice(&outcome.body).expect("an answer is JSON");
    assert!(answer["response"]["uid"].as_str().is_some_and(|uid| !uid.is_empty()));
    Some(answer)
}

fuzz_target!(|body: &[u8]| {
    let judged = answer(Stage::Validate, body);
    let mutated = answer(Stage::Mutate, body);
    assert_eq!(judged.is_some(), mutated.is_some());
    let Some(mutated) = mutated else { return };
    assert_eq!(mutated["response"]["allowed"], Value::Bool(true));
    let Some(patch) = mutated["response"]["patch"].as_str() else { return };
    // Lone surrogates in a place that no rule reads: there is no object to apply the patch to.
    let Ok(mut again) = serde_json::from_slice::<Value>(body) else { return };
    for operation in operations(patch) {
        operation.apply(&mut again["request"]["object"]).expect("a patch that applies");
    }
    let again = answer(Stage::Mutate, again.to_string().as_bytes()).expect("still a review");
    assert!(again["response"].get("patch").is_none(), "a second patch: {again}");
});

fn operations(patch: &str) -> Vec<Operation> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(patch).expect("base64");
    serde_json::from_slice(&bytes).expect("a patch")
}
