//! Updates: what is stored, and what files held at a revision.

use super::program::{Run, etcd, folder, git, lint, lint_with, write};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::Path;

#[test]
fn old_makes_it_an_update() {
    let folder = folder();
    write(folder.path(), "old.yaml", etcd("main", "5"));
    write(folder.path(), "new.yaml", etcd("main", "3"));
    write(folder.path(), "other.yaml", etcd("other", "3"));
    let run = lint(folder.path(), &["--old", "old.yaml", "new.yaml", "other.yaml"], "");
    assert_eq!(run.status, 1);
    assert_eq!(run.out.matches("error[").count(), 1, "{}", run.out);
    assert!(
        run.out.contains("error[replicas-no-shrink]") && run.out.contains("new.yaml:6:13"),
        "{}",
        run.out
    );
    let run = lint(folder.path(), &["--old", "-", "new.yaml"], &etcd("main", "5"));
    assert_eq!(run.status, 1, "{run:?}");
    write(folder.path(), "none.yaml", "kind: ConfigMap\n");
    for (arguments, said) in [
        (&["--old", "none.yaml", "new.yaml"][..], "--old none.yaml: holds no Etcd"),
        (&["--old", "absent.yaml", "new.yaml"], "--old absent.yaml: can't be read"),
        (&["--old", "-", "-"], "standard input can be read once"),
    ] {
        let run = lint(folder.path(), arguments, "");
        assert!(run.status == 2 && run.err.contains(said), "{run:?}");
    }
}

#[test]
fn against_a_revision_each_file_is_an_update_of_itself() {
    let folder = folder();
    git(folder.path(), &["init", "-q"]);
    write(folder.path(), "same.yaml", etcd("same", "-1"));
    write(folder.path(), "sub/shrunk.yaml", etcd("shrunk", "5"));
    write(folder.path(), "sub/grown.yaml", etcd("grown", "1"));
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "first"]);
    write(folder.path(), "sub/shrunk.yaml", etcd("shrunk", "3"));
    write(folder.path(), "sub/grown.yaml", etcd("grown", "3"));
    write(folder.path(), "sub/new.yaml", etcd("new", "-1"));
    let run = lint(folder.path(), &["--against", "HEAD", "."], "");
    assert_eq!(run.status, 1, "{run:?}");
    let errors: Vec<&str> =
        run.out.lines().filter(|line| line.starts_with("error[") || line.contains("-->")).collect();
    assert_eq!(errors.len(), 4, "{}", run.out);
    assert!(
        run.out.contains("error[replicas-range]") && run.out.contains("sub/new.yaml:6:13"),
        "{}",
        run.out
    );
    assert!(
        run.out.contains("error[replicas-no-shrink]") && run.out.contains("sub/shrunk.yaml:6:13"),
        "{}",
        run.out
    );
    for (arguments, said) in [
        (&["--against", "nowhere", "."][..], "--against nowhere: Git knows no such commit in "),
        (&["--against", "nowhere", "."], "actions/checkout: fetch-depth: 0"),
        (&["--against", "", "."], "--against names no revision: write one, such as origin/main"),
        (&["--against", "--help", "."], "--against"),
        (&["--against", "HEAD", "-"], "--against compares files, and standard input is none: use --old"),
    ] {
        let run = lint(folder.path(), arguments, "");
        assert!(run.status == 2 && run.err.contains(said), "{run:?}");
    }
}

#[test]
fn a_folder_outside_of_git_is_told() {
    let folder = folder();
    write(folder.path(), "a.yaml", etcd("a", "3"));
    let said = format!(
        "--against HEAD: {} is in no Git repository",
        folder.path().canonicalize().unwrap().display()
    );
    let ceiling = folder.path().parent().unwrap().to_str().unwrap();
    let run =
        lint_with(folder.path(), &["--against", "HEAD", "."], "", &[("GIT_CEILING_DIRECTORIES", ceiling)]);
    assert!(run.status == 2 && run.err.contains(&said), "{run:?}");
}

/// What is dropped of the stored objects would make an update a creation, which nearly everything is good for.
#[test]
fn what_cant_be_read_of_old_is_told() {
    let folder = folder();
    let broken = "a: [1\n---\n";
    write(folder.path(), "some.yaml", format!("{}---\n{broken}", etcd("other", "5")));
    write(folder.path(), "all.yaml", broken);
    write(folder.path(), "foreign.yaml", etcd("main", "5").replace("v1alpha1", "v1beta1"));
    write(folder.path(), "behind.yaml", format!("{}...\n{}", etcd("other", "3"), etcd("main", "5")));
    write(folder.path(), "new.yaml", etcd("main", "3"));
    for (old, line) in [("some.yaml", 11), ("all.yaml", 1)] {
        let run = lint(folder.path(), &["--old", old, "new.yaml"], "");
        let place = format!("--> {old}:{line}:");
        assert!(run.status == 2 && run.out.starts_with("error[syntax]: "), "{run:?}");
        assert!(run.out.contains(&place), "{place}: {}", run.out);
        let last = "1 error: 1 Etcd (no update) in 1 file; what they are compared with can't all be read\n";
        assert!(run.out.ends_with(last), "{}", run.out);
    }
    let run = lint(folder.path(), &["--old", "-", "new.yaml"], broken);
    assert!(run.status == 2 && run.out.contains("--> <stdin>:1:"), "{run:?}");
    let run = lint(folder.path(), &["--old", "foreign.yaml", "new.yaml"], "");
    let said = "--old foreign.yaml: holds no Etcd: an Etcd of \"druid.gardener.cloud/v1beta1\" isn't judged";
    assert!(run.status == 2 && run.err.contains(said), "{run:?}");
    let run = lint(folder.path(), &["--old", "behind.yaml", "new.yaml"], "");
    assert!(
        run.out.starts_with("warning[text-after-end]: ") && run.out.contains("--> behind.yaml:11:1"),
        "{run:?}"
    );
}

#[test]
fn how_many_are_updates_is_told() {
    let folder = folder();
    write(folder.path(), "old.yaml", etcd("main", "3"));
    write(folder.path(), "new.yaml", format!("{}---\n{}", etcd("main", "3"), etcd("mian", "3")));
    let run = lint(folder.path(), &["--old", "old.yaml", "new.yaml"], "");
    assert_eq!(run.out, "nothing wrong: 2 Etcds (1 update) in 1 file\n");
    let run = lint(folder.path(), &["--format", "json", "--old", "old.yaml", "new.yaml"], "");
    let summary = |run: &Run| serde_json::from_str::<Value>(&run.out).expect("JSON")["summary"].clone();
    let compared = &summary(&run);
    assert_eq!((&compared["updates"], &compared["oldUnreadable"]), (&Value::from(1), &Value::from(0)));
    let alone = summary(&lint(folder.path(), &["--format", "json", "new.yaml"], ""));
    assert!(alone.get("updates").is_none() && alone.get("oldUnreadable").is_none(), "{alone}");
}

#[test]
fn a_name_in_two_namespaces_needs_the_namespace() {
    let folder = folder();
    let in_namespace = |namespace: &str| etcd(&format!("main\n  namespace: {namespace}"), "5");
    let all = format!("{}---\n{}---\n{}", in_namespace("shop"), in_namespace("a"), etcd("other", "5"));
    write(folder.path(), "new.yaml", etcd("main", "3"));
    let run = lint(folder.path(), &["--old", "-", "--rule", "ports", "new.yaml"], &all);
    assert_eq!(run.status, 1, "{run:?}");
    let said = "error[not-judged]: this Etcd names no namespace, and what is stored has its name in the namespaces \"a\" and \"shop\": it \
                isn't judged\n --> new.yaml:4:9\n";
    assert!(run.out.contains(said), "{}", run.out);
    assert!(
        run.out.contains("= help: say with --namespace which it replaces, or write metadata.namespace"),
        "{}",
        run.out
    );
    assert!(
        run.out.ends_with("1 error: no Etcd (no update) in 1 file; 1 object not judged\n"),
        "{}",
        run.out
    );
    for (namespace, status, count) in [("shop", 1, "1 update"), ("b", 0, "no update")] {
        let run = lint(folder.path(), &["--old", "-", "--namespace", namespace, "new.yaml"], &all);
        assert_eq!(run.status, status, "{namespace}: {run:?}");
        assert!(run.out.contains(&format!("1 Etcd ({count}) in 1 file")), "{namespace}: {}", run.out);
    }
}

/// A file that was broken before, and is, is told once.
#[test]
fn what_is_as_it_was_is_told_once() {
    let folder = folder();
    write(folder.path(), "a.yaml", etcd("main", "5") + "---\na: [1\n");
    committed(folder.path());
    let run = lint(folder.path(), &["--against", "HEAD", "a.yaml", "gone/b.yaml"], "");
    assert_eq!((run.status, run.out.matches("[syntax]").count()), (2, 1), "{run:?}");
    assert!(
        run.out.contains("error[unreadable]: can't be read: No such file")
            && run.out.contains("--> gone/b.yaml")
    );
    assert!(
        run.out.ends_with("2 errors: 1 Etcd (1 update) in 2 files, 2 of them not readable\n"),
        "{}",
        run.out
    );
}

/// A repository with one commit of what is in a folder.
fn committed(folder: &Path) {
    git(folder, &["init", "-q"]);
    git(folder, &["add", "."]);
    git(folder, &["commit", "-q", "-m", "first"]);
}

#[test]
fn what_cant_be_read_at_the_revision_is_told() {
    let folder = folder();
    let broken = "---\na: [1\n";
    write(folder.path(), "sub/hidden.yaml", etcd("main", "5").replace("spec:", "spec: ["));
    write(folder.path(), "sub/mended.yaml", etcd("main", "5") + broken);
    committed(folder.path());
    write(folder.path(), "sub/hidden.yaml", etcd("main", "3"));
    write(folder.path(), "sub/mended.yaml", etcd("main", "5"));
    let run = lint(folder.path(), &["--against", "HEAD", "sub/hidden.yaml"], "");
    assert!(run.status == 2 && run.out.starts_with("error[syntax]: "), "{run:?}");
    for said in [
        " --> HEAD:sub/hidden.yaml:",
        "= help: what is new in the file may be an update: compare with another revision, or with --old",
    ] {
        assert!(run.out.contains(said), "{said}: {}", run.out);
    }
    // Everything in it was found there, so that nothing is hidden.
    let run = lint(folder.path(), &["--against", "HEAD", "sub/mended.yaml"], "");
    assert!(run.status == 0 && run.out.starts_with("warning[syntax]: "), "{run:?}");
    assert!(run.out.contains(" --> HEAD:sub/mended.yaml:11:"), "{}", run.out);
    let run = lint(folder.path(), &["--against", "HEAD", "--deny", "warnings", "sub/mended.yaml"], "");
    assert!(run.status == 1 && run.out.starts_with("error[syntax]: "), "{run:?}");
    write(folder.path(), "sub/mended.yaml", etcd("main", "3"));
    let run = lint(folder.path(), &["--against", "HEAD", "sub/mended.yaml"], "");
    assert!(run.status == 1 && run.out.contains("error[replicas-no-shrink]"), "still an update: {run:?}");
}

#[test]
fn links_are_followed_within_the_revision() {
    let folder = folder();
    write(folder.path(), "base/main.yaml", etcd("main", "5"));
    write(folder.path(), "deploy/other.yaml", etcd("other", "5"));
    for (target, link) in [
        ("../base/main.yaml", "deploy/link.yaml"),
        ("link.yaml", "deploy/chain.yaml"),
        ("../base", "deploy/folder"),
        ("folder/main.yaml", "deploy/through.yaml"),
    ] {
        symlink(target, folder.path().join(link)).expect("a link");
    }
    committed(folder.path());
    write(folder.path(), "base/main.yaml", etcd("main", "3"));
    for link in ["link.yaml", "chain.yaml", "folder/main.yaml", "through.yaml"] {
        let run = lint(folder.path(), &["--against", "HEAD", &format!("deploy/{link}")], "");
        assert!(run.status == 1 && run.out.contains("error[replicas-no-shrink]"), "{link}: {run:?}");
        assert!(run.out.ends_with("1 error: 1 Etcd (1 update) in 1 file\n"), "{link}: {}", run.out);
    }
    // A link then, a file now.
    std::fs::remove_file(folder.path().join("deploy/link.yaml")).expect("a link");
    write(folder.path(), "deploy/link.yaml", etcd("main", "3"));
    let run = lint(folder.path(), &["--against", "HEAD", "deploy/link.yaml"], "");
    assert!(run.status == 1 && run.out.contains("error[replicas-no-shrink]"), "{run:?}");
}

#[test]
fn links_that_cant_be_followed_within_the_revision_are_told() {
    let (folder, outside) = (folder(), folder());
    write(outside.path(), "main.yaml", etcd("main", "5"));
    let target = outside.path().join("main.yaml");
    symlink(&target, folder.path().join("out.yaml")).expect("a link");
    symlink("gone.yaml", folder.path().join("gone.yaml.yaml")).expect("a link");
    committed(folder.path());
    write(folder.path(), "gone.yaml", etcd("main", "3"));
    let unknown = "what it held isn't known; compare with --old";
    let run = lint(folder.path(), &["--against", "HEAD", "out.yaml"], "");
    let said = format!(
        "error[unreadable]: was a link to {} at HEAD, out of the repository: {unknown}\n",
        target.display()
    );
    assert!(run.status == 2 && run.out.starts_with(&said), "{said}: {run:?}");
    let run = lint(folder.path(), &["--against", "HEAD", "gone.yaml.yaml"], "");
    let said = format!("error[unreadable]: was a link at HEAD that leads to no file there: {unknown}\n");
    assert!(run.status == 2 && run.out.starts_with(&said), "{said}: {run:?}");
}

#[test]
fn what_is_no_revision_is_told_with_what_is_one() {
    let folder = folder();
    write(folder.path(), "a.yaml", etcd("a", "3"));
    committed(folder.path());
    for revision in ["HEAD..HEAD", "HEAD...HEAD", "HEAD:", "HEAD:a.yaml", "^HEAD", "HEAD HEAD", ":/first"] {
        let run = lint(folder.path(), &["--against", revision, "a.yaml"], "");
        let said = format!(
            "--against {revision}: this is no single revision: write one commit, such as origin/main"
        );
        assert!(run.status == 2 && run.err.contains(&said) && !run.err.contains("fetch"), "{run:?}");
    }
    for revision in ["HEAD", "HEAD^{/first}", "@", "HEAD^{}"] {
        let run = lint(folder.path(), &["--against", revision, "a.yaml"], "");
        assert_eq!(
            (run.status, run.out.as_str()),
            (0, "nothing wrong: 1 Etcd (1 update) in 1 file\n"),
            "{run:?}"
        );
    }
}
