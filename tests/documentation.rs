//! What is written about rules and flags is what the code says.
//!
//! `BLESS=1 cargo test --test documentation` writes the generated parts anew.
#![allow(unreachable_pub, reason = "the crate is a test")]

#[cfg(test)]
#[path = "support/mod.rs"]
mod support;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use etcd_warden::etcd::crd::{BOUNDS, Enforcement, TYPE_RULE, cel::validations};
    use etcd_warden::lint::OWN;
    use etcd_warden::pki::managed;
    use etcd_warden::rules::{Group, RULES, WARNINGS, WarningCheck};

    use etcd_warden::{controller, kubernetes, lease};

    use super::support::{client, start};

    const GROUPS: [Group; 4] = [Group::Joining, Group::Life, Group::Object, Group::Status];

    fn path(file: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
    }

    /// The rules of a chapter, then its warnings, as tables.
    fn tables() -> String {
        let mut text = String::new();
        for group in GROUPS {
            let _ = write!(text, "### {}\n\n| rule | runs on | demands |\n|---|---|---|\n", group.title());
            for rule in RULES.iter().filter(|rule| rule.group == group) {
                let _ = writeln!(text, "| `{}` | {} | {} |", rule.id, rule.runs(), rule.summary);
            }
            let warnings: Vec<_> = WARNINGS.iter().filter(|warning| warning.group == group).collect();
            if !warnings.is_empty() {
                text.push_str("\n| warning | given on | when |\n|---|---|---|\n");
            }
            for warning in warnings {
                let _ = writeln!(
                    text,
                    "| `{}` | {} | {} |",
                    warning.id,
                    given_on(warning.check),
                    warning.summary
                );
            }
            text.push('\n');
        }
        text
    }

    fn given_on(check: WarningCheck) -> &'static str {
        match check {
            WarningCheck::Object(_) => "CREATE, UPDATE",
            WarningCheck::Changed(_) => "UPDATE",
            WarningCheck::Deleted(_) => "DELETE",
            WarningCheck::Elsewhere => "any",
        }
    }

    /// Where each rule is enforced, as a table.
    fn walls() -> String {
        let mut text =
            String::from("| rule | full | structural | not seen by the CRD |\n|---|---|---|---|\n");
        for rule in RULES {
            let by = Enforcement::of(rule.id);
            let full = match (by.schema, by.cel) {
                (true, true) => "schema, CEL",
                (true, false) => "schema",
                (false, true) => "CEL",
                (false, false) => "",
            };
            let structural = match (by.structural, rule.id == TYPE_RULE) {
                (true, _) => "CEL",
                (_, true) => "schema",
                _ => "",
            };
            let _ = writeln!(
                text,
                "| `{}` | {full} | {structural} | {} |",
                rule.id,
                rule.beyond_crd.unwrap_or_default()
            );
        }
        text
    }

    #[test]
    fn the_walls_are_documented() {
        check_part("docs/rules/crd.md", "walls", &walls());
    }

    /// A rule that the CRD doesn't enforce says why.
    #[test]
    fn every_rule_is_enforced_by_the_crd_or_says_why_not() {
        for rule in RULES {
            let by = Enforcement::of(rule.id);
            assert!(by.schema || by.cel || rule.beyond_crd.is_some(), "{} is nowhere in the CRD", rule.id);
        }
        let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
        let named = BOUNDS.iter().filter_map(|bound| bound.rule);
        for id in named.chain(validations().iter().map(|validation| validation.rule)) {
            assert!(ids.contains(id), "the CRD names {id}, which is no rule");
        }
    }

    /// The part of a file between two marks, which is generated.
    fn check_part(file: &str, name: &str, generated: &str) {
        let (begin, end) = (format!("<!-- {name}: generated -->\n"), format!("<!-- {name}: end -->"));
        let text = fs::read_to_string(path(file)).unwrap();
        let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{file} has no {begin}"));
        let (part, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{file} has no {end}"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(path(file), format!("{before}{begin}{generated}{end}{after}")).unwrap();
            return;
        }
        assert_eq!(
            part, generated,
            "{file}: run BLESS=1 cargo test --test documentation, and read the difference"
        );
    }

    /// The definition that the manifests install is the one that the program prints.
    #[test]
    fn the_manifests_hold_the_present_definition() {
        const FILE: &str = "manifests/crd/etcds.yaml";
        let command = ["crd", "--validation", "structural"];
        let output =
            std::process::Command::new(env!("CARGO_BIN_EXE_etcd-warden")).args(command).output().unwrap();
        let head = format!("# Made by: etcd-warden {}\n", command.join(" "));
        let printed = head + &String::from_utf8(output.stdout).unwrap();
        if std::env::var_os("BLESS").is_some() {
            fs::write(path(FILE), &printed).unwrap();
        }
        let installed = fs::read_to_string(path(FILE)).unwrap();
        assert!(installed == printed, "{FILE}: run BLESS=1 cargo test --test documentation");
    }

    /// What `lint` prints of a manifest of the project's own.
    #[test]
    fn lints_output_is_shown_as_it_is() {
        let arguments = ["lint", "--rule", "bootstrap-peer-url-scheme", "fixtures/manifests/bad-join.yaml"];
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_etcd-warden"));
        let output = command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let shown = format!("```text\n{}```\n", String::from_utf8(output.stdout).unwrap());
        check_part("README.md", "lint", &shown);
        check_part("docs/lint.md", "lint", &shown);
    }

    /// What only `lint` says.
    #[test]
    fn what_lint_says_is_documented() {
        let mut table = String::from("| id | level | when |\n|---|---|---|\n");
        for rule in OWN {
            let _ = writeln!(table, "| `{}` | {} | {} |", rule.id, rule.level.name(), rule.summary);
        }
        check_part("docs/lint.md", "own", &table);
    }

    #[test]
    fn the_readme_lists_the_rules_of_the_table() {
        check_part("README.md", "rules", &tables());
    }

    #[test]
    fn ids_are_unique_and_read_alike() {
        let mut ids = BTreeSet::new();
        for id in etcd_warden::rules::ids().chain(OWN.iter().map(|rule| rule.id)) {
            assert!(ids.insert(id), "{id} stands twice");
            let well_formed = id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            assert!(well_formed && id.starts_with(|c: char| c.is_ascii_lowercase()), "{id}");
        }
        for summary in RULES
            .iter()
            .map(|rule| rule.summary)
            .chain(WARNINGS.iter().map(|warning| warning.summary))
            .chain(OWN.iter().map(|rule| rule.summary))
        {
            assert!(summary.ends_with('.') && !summary.contains('|'), "{summary}");
        }
    }

    #[test]
    fn only_immutable_rules_speak_of_immutable() {
        let answers = fs::read_dir(path("fixtures")).unwrap().map(|entry| entry.unwrap().path());
        for folder in answers.filter(|path| path.is_dir()) {
            let is_rule_of_it = folder.to_string_lossy().ends_with("-immutable");
            for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                let is_answer = file.to_string_lossy().ends_with(".answer.json");
                let immutable = is_answer && fs::read_to_string(&file).unwrap().contains("immutable");
                assert!(!immutable || is_rule_of_it, "{} speaks of immutable", file.display());
            }
        }
    }

    /// Every flag that `serve --help` lists stands in the README, and no other.
    #[test]
    fn the_readme_lists_the_flags() {
        let help =
            std::process::Command::new(env!("CARGO_BIN_EXE_etcd-warden")).args(["serve", "--help"]).output();
        let help = String::from_utf8(help.unwrap().stdout).unwrap();
        check_part("README.md", "flags", &format!("```text\n{}```\n", trimmed(&help)));
    }

    /// The answers in the README are what the server says.
    #[tokio::test(flavor = "multi_thread")]
    async fn the_readme_shows_true_answers() {
        let server = start(|_| {});
        for (name, fixture) in
            [("rejected", "rejected-http-with-peer-tls.json"), ("accepted", "accepted-peer-tls-alone.json")]
        {
            let body = fs::read_to_string(path("fixtures/bootstrap-peer-url-scheme").join(fixture)).unwrap();
            let answer = client::post(server.addresses.https, &server.ca, "/validate", &body).await;
            check_part("README.md", name, &format!("```json\n{}\n```\n", answer.body));
        }
    }

    /// Names, types and meanings of the metrics are those of the server.
    #[tokio::test(flavor = "multi_thread")]
    async fn the_metrics_are_documented() {
        let server = start(|config| {
            let attached = &mut config.attached.metrics;
            attached.push(Arc::new(|registry| kubernetes::Metrics::default().register(registry)));
            attached.push(Arc::new(|registry| managed::Metrics::default().register(registry)));
            attached.push(Arc::new(|registry| lease::Metrics::default().register(registry)));
            attached.push(Arc::new(|registry| controller::Metrics::default().register(registry)));
            attached.push(Arc::new(|registry| lease::Metrics::default().register_for_loop(registry)));
        });
        let text = server.probe("/metrics").await.body;
        let mut table = String::from("| metric | type | what it counts |\n|---|---|---|\n");
        for help in text.lines().filter_map(|line| line.strip_prefix("# HELP ")) {
            let (name, meaning) = help.split_once(' ').unwrap();
            let kind = text.lines().find_map(|line| line.strip_prefix(&format!("# TYPE {name} "))).unwrap();
            let suffix = match kind {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            };
            let _ = writeln!(table, "| `{name}{suffix}` | {kind} | {meaning} |");
        }
        check_part("docs/metrics.md", "metrics", &table);
    }

    fn trimmed(help: &str) -> String {
        help.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
    }
}
