//! Every fixture, posted to a real server over HTTPS, and its whole answer compared.
//!
//! `BLESS=1 cargo test --test fixtures` writes the answers anew.
#![allow(unreachable_pub, reason = "the crate is a test")]

#[cfg(test)]
#[path = "support/mod.rs"]
mod support;

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use etcd_warden::admission::{Audited, Enforcement};
    use etcd_warden::rules::{RULES, Settings, WARNINGS};
    use etcd_warden::server::Rules;
    use serde_json::Value;

    use super::support::client::{self, Answer};
    use super::support::start;

    /// Folders that are about no rule or warning of their own.
    const FOLDERS_OF_NO_RULE: [&str; 8] = [
        "deletion-protected-by-flag",
        "enforcement-warn",
        "malformed",
        "malformed-at-mutate",
        "manifests",
        "mutate",
        "odd",
        "wrong-registration",
    ];

    /// A folder of fixtures.
    struct Folder {
        name: String,
        hook: String,
        flags: String,
        fixtures: Vec<PathBuf>,
    }

    impl Folder {
        fn read(path: &Path) -> Self {
            let line = |file: &str| fs::read_to_string(path.join(file)).unwrap_or_default().trim().to_owned();
            let is_fixture = |path: &PathBuf| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                name.starts_with("accepted-") || name.starts_with("rejected-")
            };
            let is_answer = |path: &PathBuf| path.to_string_lossy().contains(".answer.");
            let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
            let mut fixtures: Vec<PathBuf> =
                files.filter(|path| is_fixture(path) && !is_answer(path)).collect();
            fixtures.sort();
            let hook = line("HOOK");
            Self {
                name: path.file_name().unwrap().to_string_lossy().into_owned(),
                hook: if hook.is_empty() { "/validate".to_owned() } else { hook },
                flags: line("FLAGS"),
                fixtures,
            }
        }

        fn count(&self, kind: &str) -> usize {
            let is_kind = |path: &&PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(kind);
            self.fixtures.iter().filter(is_kind).count()
        }
    }

    fn folders() -> Vec<Folder> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
        let mut folders: Vec<Folder> =
            entries.filter(|path| path.is_dir()).map(|path| Folder::read(&path)).collect();
        folders.sort_by(|one, other| one.name.cmp(&other.name));
        folders
    }

    fn rules(flags: &str) -> Rules {
        let mut rules = Rules::new(Settings::default(), Audited::Rejections);
        let settings = &mut rules.settings;
        let mut words = flags.split_whitespace();
        while let Some(flag) = words.next() {
            match flag {
                "--allowed-images" => {
                    settings.allowed_images = words.next().unwrap().split(',').map(Into::into).collect();
                }
                "--loop-user" => settings.loop_user = words.next().map(Into::into),
                "--deletion-protection" => settings.deletion_protection = true,
                "--enforcement" => {
                    assert_eq!(words.next(), Some("warn"));
                    rules.enforcement = Enforcement::Warn;
                }
                other => panic!("{other} in a FLAGS file"),
            }
        }
        rules
    }

    /// An answer as it stands in a file: a review in full, or the text of what is none.
    fn written(answer: &Answer) -> (&'static str, String) {
        match answer.status {
            200 => {
                let review: Value = serde_json::from_str(&answer.body).expect("a review");
                ("answer.json", format!("{}\n", serde_json::to_string_pretty(&review).unwrap()))
            }
            400 => ("answer.txt", answer.body.clone()),
            status => panic!("HTTP {status}: {}", answer.body),
        }
    }

    /// What the name of a fixture promises of its answer.
    fn check_promise(folder: &Folder, fixture: &Path, answer: &Answer) {
        let shown = fixture.display();
        let accepted = fixture.file_name().unwrap().to_string_lossy().starts_with("accepted-");
        if answer.status == 400 {
            assert!(!accepted && folder.name.starts_with("malformed"), "{shown}: {}", answer.body);
            return;
        }
        assert_eq!(answer.allowed(), accepted, "{shown}: {}", answer.body);
        let review: Value = serde_json::from_str(&answer.body).unwrap();
        // Numbers beyond 64 bits of floating point are legal where no rule reads them.
        if let Ok(sent) = serde_json::from_slice::<Value>(&fs::read(fixture).unwrap()) {
            assert_eq!(review["response"]["uid"], sent["request"]["uid"], "{shown}");
        }
        if RULES.iter().any(|rule| rule.id == folder.name) && !accepted {
            let rules = review["response"]["auditAnnotations"]["rules"].as_str().unwrap_or_default();
            assert!(rules.split(',').any(|rule| rule == folder.name), "{shown} is refused by {rules:?}");
        }
        if WARNINGS.iter().any(|warning| warning.id == folder.name) && accepted {
            let warnings = review["response"]["warnings"].as_array().cloned().unwrap_or_default();
            let end = format!(" [{}]", folder.name);
            assert!(
                warnings.iter().any(|warning| warning.as_str().unwrap().ends_with(&end)),
                "{shown}: {warnings:?}"
            );
        }
    }

    fn compare(fixture: &Path, answer: &Answer) -> Result<(), String> {
        let (extension, text) = written(answer);
        let path = fixture.with_extension(extension);
        if std::env::var_os("BLESS").is_some() {
            return fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()));
        }
        match fs::read_to_string(&path) {
            Ok(expected) if expected == text => Ok(()),
            Ok(expected) => Err(format!("{}: expected\n{expected}\ngot\n{text}", fixture.display())),
            Err(error) => Err(format!("{}: {error}; got\n{text}", path.display())),
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_fixture_gets_its_whole_answer() {
        let mut by_flags: BTreeMap<String, Vec<Folder>> = BTreeMap::new();
        for folder in folders() {
            by_flags.entry(folder.flags.clone()).or_default().push(folder);
        }
        let (mut posted, mut wrong) = (0, Vec::new());
        for (flags, folders) in by_flags {
            let judge = rules(&flags);
            let server = start(|config| config.judge = Arc::new(judge));
            let mut connection = client::connect(server.addresses.https, &server.ca).await;
            for folder in &folders {
                for fixture in &folder.fixtures {
                    let body = fs::read(fixture).unwrap();
                    let answer = connection.post_bytes(&folder.hook, &body).await.unwrap();
                    check_promise(folder, fixture, &answer);
                    wrong.extend(compare(fixture, &answer).err());
                    posted += 1;
                }
            }
        }
        assert!(wrong.is_empty(), "{} of {posted} answers differ:\n{}", wrong.len(), wrong.join("\n"));
        println!("{posted} fixtures posted, {} rules, {} warnings", RULES.len(), WARNINGS.len());
    }

    #[test]
    fn every_rule_and_every_warning_has_its_fixtures() {
        let folders = folders();
        let folder = |id: &str| folders.iter().find(|folder| folder.name == id);
        for rule in RULES {
            let folder = folder(rule.id).unwrap_or_else(|| panic!("no fixtures of {}", rule.id));
            assert!(folder.count("accepted-") >= 1, "no accepted fixture of {}", rule.id);
            assert!(folder.count("rejected-") >= 2, "fewer than two rejected fixtures of {}", rule.id);
        }
        for warning in WARNINGS {
            let folder = folder(warning.id).unwrap_or_else(|| panic!("no fixtures of {}", warning.id));
            assert!(folder.count("accepted-") >= 1, "no accepted fixture of {}", warning.id);
        }
        let known: BTreeSet<&str> = etcd_warden::rules::ids().chain(FOLDERS_OF_NO_RULE).collect();
        let unknown: Vec<&str> =
            folders.iter().map(|folder| folder.name.as_str()).filter(|name| !known.contains(name)).collect();
        assert!(unknown.is_empty(), "folders that belong to no rule: {unknown:?}");
    }

    #[test]
    fn every_operation_and_subresource_occurs() {
        let mut seen = BTreeSet::new();
        for fixture in folders().iter().flat_map(|folder| &folder.fixtures) {
            let Ok(review) = serde_json::from_slice::<Value>(&fs::read(fixture).unwrap()) else { continue };
            let request = &review["request"];
            let text = |field: &str| request[field].as_str().unwrap_or_default().to_owned();
            seen.insert((text("operation"), text("subResource")));
        }
        for (operation, subresource) in [
            ("CREATE", ""),
            ("UPDATE", ""),
            ("DELETE", ""),
            ("UPDATE", "status"),
            ("UPDATE", "scale"),
            ("CONNECT", ""),
        ] {
            assert!(
                seen.contains(&(operation.to_owned(), subresource.to_owned())),
                "{operation} {subresource}"
            );
        }
    }
}
