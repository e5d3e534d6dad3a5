//! What is written about rules and flags is what the code says.
//!
//! `BLESS=1 cargo test --test documentation` writes the generated parts anew.
#![allow(unreachable_pub, reason = "the crate is a test")]

#[cfg(test)]
#[path = "support/mod.rs"]
mod support;

#[cfg(test)]
#[path = "support/generated.rs"]
mod generated;

#[cfg(test)]
#[path = "support/examples.rs"]
mod examples;

#[cfg(test)]
#[path = "support/pages.rs"]
mod pages;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write;
    use std::fs;
    use std::sync::Arc;

    use etcd_warden::etcd::crd::{BOUNDS, Enforcement, TYPE_RULE, cel::validations};
    use etcd_warden::lint::OWN;
    use etcd_warden::pki::managed;
    use etcd_warden::rules::{Group, RULES, WARNINGS};
    use serde_json::Value;

    use etcd_warden::member::Why;
    use etcd_warden::{controller, kubernetes, lease};

    use super::generated::{blesses, check_part, path};
    use super::support::{client, start};

    /// The rules of a chapter, then its warnings, as tables.
    fn tables() -> String {
        let mut text = String::new();
        for group in Group::ALL.into_iter().filter(|group| *group != Group::Files) {
            let _ = write!(text, "### {}\n\n| rule | runs on | demands |\n|---|---|---|\n", group.title());
            for rule in RULES.iter().filter(|rule| rule.group == group) {
                let _ = writeln!(text, "| {} | {} | {} |", linked(rule.id), rule.runs(), rule.summary);
            }
            let warnings: Vec<_> = WARNINGS.iter().filter(|warning| warning.group == group).collect();
            if !warnings.is_empty() {
                text.push_str("\n| warning | given on | when |\n|---|---|---|\n");
            }
            for warning in warnings {
                let _ =
                    writeln!(text, "| {} | {} | {} |", linked(warning.id), warning.runs(), warning.summary);
            }
            text.push('\n');
        }
        text
    }

    fn linked(id: &str) -> String {
        format!("[`{id}`](docs/rules/{id}.md)")
    }

    /// Where each rule is enforced, as a table.
    fn walls() -> String {
        let mut text =
            String::from("| rule | full | structural | not seen by the CRD |\n|---|---|---|---|\n");
        for rule in RULES {
            let (id, by) = (rule.id, Enforcement::of(rule.id));
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
                "| [`{id}`]({id}.md) | {full} | {structural} | {} |",
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

    /// Each reason why a member waits has its remedy, in a row of its own; no row is about something else.
    #[test]
    fn every_reason_to_wait_is_explained() {
        let text = fs::read_to_string(path("docs/join.md")).unwrap();
        let (_, table) = text.split_once("| reason | what it means | what to do |").unwrap();
        let table = table.split("\n\n").next().unwrap();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
        let explained: BTreeSet<String> = rows
            .map(|row| {
                let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
                assert!(cells.len() == 3 && cells.iter().all(|cell| !cell.trim().is_empty()), "{row}");
                cells[0].trim_end_matches('`').to_owned()
            })
            .collect();
        let known: BTreeSet<String> = Why::ALL.iter().map(|why| format!("{why:?}")).collect();
        assert_eq!(explained, known);
    }

    /// Every condition that the loop writes, and every metric and alert that operating names, is there.
    #[test]
    fn operating_names_what_there_is() {
        let text = fs::read_to_string(path("docs/operate.md")).unwrap();
        for condition in controller::conditions() {
            assert!(text.contains(&format!("\n| `{condition}` |")), "{condition} isn't explained");
        }
        let alerts = fs::read_to_string(path("manifests/components/monitoring/alerts.yaml")).unwrap();
        for word in text.split('`').filter(|word| word.starts_with("EtcdWarden")) {
            assert!(alerts.contains(&format!("alert: {word}\n")), "there is no alert {word}");
        }
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
        if blesses() {
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

    /// The README's configuration of pre-commit names a hook that this repository holds, and where it comes from.
    #[test]
    fn the_hook_of_the_readme_is_there() {
        let readme = fs::read_to_string(path("README.md")).unwrap();
        let (_, rest) = readme.split_once("# .pre-commit-config.yaml\n").unwrap();
        let shown: Value = serde_saphyr::from_str(rest.split("```").next().unwrap()).unwrap();
        let hooks = fs::read_to_string(path(".pre-commit-hooks.yaml")).unwrap();
        let held: Value = serde_saphyr::from_str(&hooks).unwrap();
        let used = &shown["repos"][0];
        assert_eq!(used["hooks"][0]["id"], held[0]["id"]);
        assert!(
            used["repo"].as_str().unwrap().ends_with("/etcd-warden") && used["rev"].is_string(),
            "{used}"
        );
        let mut words = held[0]["entry"].as_str().unwrap().split(' ').skip(1).collect::<Vec<_>>();
        words.extend(used["hooks"][0]["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
        words.push("fixtures/manifests/one-member.yaml");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_etcd-warden"));
        let status = command.args(words).current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
        assert!(status.success());
    }

    /// What only `lint` says.
    #[test]
    fn what_lint_says_is_documented() {
        let mut table = String::from("| id | level | when |\n|---|---|---|\n");
        for rule in OWN {
            let (id, level, summary) = (rule.id, rule.level.name(), rule.summary);
            let _ = writeln!(table, "| [`{id}`](rules/{id}.md) | {level} | {summary} |");
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

    /// Every flag that `serve --help` lists is documented, and no other.
    #[test]
    fn the_flags_are_documented() {
        let help =
            std::process::Command::new(env!("CARGO_BIN_EXE_etcd-warden")).args(["serve", "--help"]).output();
        let help = String::from_utf8(help.unwrap().stdout).unwrap();
        check_part("docs/flags.md", "flags", &format!("```text\n{}```\n", trimmed(&help)));
    }

    /// What bash offers behind these words, the last of which is being typed, with the line of the README; nothing
    /// without bash.
    fn completed(words: &[&str]) -> Option<Vec<String>> {
        let ask = r#"source <("$0" completions bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
            function=$(complete -p etcd-warden | sed 's/.* -F \([^ ]*\) .*/\1/')
            "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\n' "${COMPREPLY[@]}""#;
        let mut bash = std::process::Command::new("bash");
        let Ok(output) = bash.args(["-c", ask, env!("CARGO_BIN_EXE_etcd-warden")]).args(words).output()
        else {
            println!("no bash here: what it completes is not tried");
            return None;
        };
        Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
    }

    #[test]
    fn bash_completes_commands_ids_flags_and_their_values() {
        for (words, expected) in [
            (&["etcd-warden", "expl"][..], "explain"),
            (&["etcd-warden", "explain", "bootstrap-peer-url-s"], "bootstrap-peer-url-scheme"),
            (&["etcd-warden", "serve", "--tls-"], "--tls-cert"),
            (&["etcd-warden", "crd", "--validation", "str"], "structural"),
            (&["etcd-warden", "audit", "list", "--rule", "por"], "ports"),
            (
                &["etcd-warden", "audit", "summary", "--rule", "bootstrap-peer-url-s"],
                "bootstrap-peer-url-scheme",
            ),
            (&["etcd-warden", "audit", "list", "--decision", "war"], "warned"),
        ] {
            if let Some(offered) = completed(words) {
                assert!(offered.iter().any(|word| word == expected), "{words:?}: {offered:?}");
            }
        }
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

    /// What the pages on the audit log show is what the command prints of a server's log.
    #[test]
    fn the_audit_log_is_shown_as_it_is_printed() {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(path("tests/audit/sample.log"), folder.path().join("audit.log")).unwrap();
        for (file, part, arguments) in [
            ("README.md", "audit-list", "list --limit 5 audit.log"),
            ("README.md", "audit-replay", "replay --deletion-protection audit.log"),
            ("docs/audit.md", "list", "list --since 2026-11-28 audit.log"),
            ("docs/audit.md", "show", "show 525e audit.log"),
            ("docs/audit.md", "summary", "summary --top 3 audit.log"),
            ("docs/audit.md", "replay", "replay --deletion-protection audit.log"),
        ] {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_etcd-warden"));
            command.arg("audit").args(arguments.split(' ')).current_dir(folder.path());
            let output = command.output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            let said = format!("$ etcd-warden audit {arguments}\n{}", String::from_utf8(said).unwrap());
            check_part(file, part, &format!("```text\n{said}```\n"));
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
