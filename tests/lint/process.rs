//! The program: what it reads, and how it ends.

use super::program::{lint, lint_with};
use std::fs;
use std::path::Path;
use std::process::Command;

/// An Etcd in block style.
fn etcd(name: &str, replicas: &str) -> String {
    format!(
        "apiVersion: druid.gardener.cloud/v1alpha1\nkind: Etcd\nmetadata:\n  name: {name}\nspec:\n  replicas: {replicas}\n  labels: {{}}\n  etcd: {{}}\n  backup: {{}}\n"
    )
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn write(folder: &Path, file: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

#[test]
fn the_exit_status_tells_how_bad_it_is() {
    let folder = folder();
    for (file, text) in [
        ("good.yaml", etcd("a", "3")),
        ("warned.yaml", etcd("a", "2")),
        ("wrong.yaml", etcd("a", "-1")),
        ("broken.yaml", "a: [1\n".to_owned()),
        ("imaged.yaml", etcd("a", "3").replace("etcd: {", "etcd: {image: docker.io/etcd:3.6.1, ")),
    ] {
        write(folder.path(), file, text);
    }
    for (arguments, status) in [
        (&["good.yaml"][..], 0),
        (&["warned.yaml"], 0),
        (&["--deny", "warnings", "warned.yaml"], 1),
        (&["--deny", "warnings", "--skip", "even-replicas", "warned.yaml"], 0),
        (&["--deny", "warnings", "--rule", "replicas-range,ports", "warned.yaml"], 0),
        (&["wrong.yaml"], 1),
        (&["--skip", "replicas-range", "wrong.yaml"], 0),
        (&["broken.yaml"], 2),
        (&["--skip", "syntax", "broken.yaml"], 2),
        (&["absent.yaml"], 2),
        (&["good.yaml", "broken.yaml", "wrong.yaml"], 2),
        (&["--rule", "replicas-rang", "good.yaml"], 2),
        (&["--rule", "[ports]", "wrong.yaml"], 0),
        (&["--rule", "[ports], [replicas-range]", "wrong.yaml"], 1),
        (&["--allowed-images", "", "good.yaml"], 2),
        (&["--allowed-images", ",", "good.yaml"], 2),
        (&["--allowed-images", "quay.io/,", "imaged.yaml"], 1),
        (&["--allowed-images", "quay.io/, docker.io/", "imaged.yaml"], 0),
        (&[], 2),
    ] {
        let run = lint(folder.path(), arguments, "");
        assert_eq!(run.status, status, "{arguments:?}: {run:?}");
    }
}

#[test]
fn what_cant_be_read_doesnt_stop_the_others() {
    let folder = folder();
    write(folder.path(), "a.yaml", "kind: Etcd\n  spec: x\n");
    write(folder.path(), "b.yaml", b"kind: \xff\n");
    write(folder.path(), "c.yaml", etcd("c", "-1"));
    let run = lint(folder.path(), &["a.yaml", "absent.yaml", "b.yaml", "c.yaml"], "");
    assert_eq!(run.status, 2);
    let expected = [
        "error[syntax]: ",
        " --> a.yaml:2:7",
        "error[unreadable]: can't be read: No such file or directory",
        "--> absent.yaml",
        "error[unreadable]: is not UTF-8 from byte 6 (line 1) on: write it in UTF-8",
        "error[replicas-range]: ",
        "3 of them not readable",
    ];
    for text in expected {
        assert!(run.out.contains(text), "{text}: {}", run.out);
    }
}

/// What is green where there was nothing to look at says nothing in a CI job.
#[test]
fn nothing_to_lint_is_an_error() {
    let folder = folder();
    write(folder.path(), "empty/.git/a.yaml", etcd("a", "3"));
    write(folder.path(), "empty/README.md", "# nothing\n");
    write(folder.path(), "full/a.yaml", etcd("a", "-1"));
    let nothing = "error[unreadable]: holds no .yaml, .yml or .json file: nothing to lint\n--> empty\n";
    let run = lint(folder.path(), &["empty"], "");
    assert!(run.status == 2 && run.out.starts_with(nothing), "{run:?}");
    let run = lint(folder.path(), &["empty", "full"], "");
    assert!(run.status == 2 && run.out.contains(nothing), "{run:?}");
    assert!(run.out.contains("error[replicas-range]"), "the rest is judged: {run:?}");
    for stdin in ["", " \n\n"] {
        let run = lint(folder.path(), &["-"], stdin);
        assert_eq!(run.status, 2);
        assert!(run.out.starts_with("error[unreadable]: is empty: nothing to lint"), "{run:?}");
    }
    // Nothing but comments is a template's answer to a condition, and not nothing.
    assert_eq!(lint(folder.path(), &["-"], "# disabled\n").status, 0);
}

#[test]
fn links_that_lead_nowhere_or_in_circles_are_named_with_what_to_do() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    write(folder.path(), "in/good.yaml", etcd("a", "3"));
    symlink("gone.yaml", folder.path().join("in/link.yaml")).expect("a link");
    symlink(".", folder.path().join("in/up")).expect("a link");
    let run = lint(folder.path(), &["in"], "");
    assert_eq!(run.status, 2);
    for said in [
        "error[unreadable]: is a link to gone.yaml, which isn't there: mend it, or remove it\n--> in/link.yaml\n",
        "error[unreadable]: leads back to in, which holds it: remove the link, or name what is to be linted\n--> in/up\n",
    ] {
        assert!(run.out.contains(said), "{said}: {}", run.out);
    }
    let run = lint(folder.path(), &["in/link.yaml"], "");
    assert!(run.status == 2 && run.out.contains("is a link to gone.yaml, which isn't there"), "{run:?}");
}

#[test]
fn an_unknown_id_is_told_with_its_flag_and_the_nearest() {
    let folder = folder();
    for (arguments, said) in [
        (["--rule", "prts"], "--rule: no rule or warning is called \"prts\"; did you mean ports?"),
        (
            ["--skip", "ports,[sintax]"],
            "--skip: no rule or warning is called \"sintax\"; did you mean syntax?",
        ),
    ] {
        let run = lint(folder.path(), &[&arguments[..], &["-"]].concat(), "");
        assert!(run.status == 2 && run.err.contains(said), "{run:?}");
    }
}

/// A megabyte in one line, and more violations than anybody keeps.
#[test]
fn thousands_of_findings_in_one_line_are_told_briefly() {
    let labels: Vec<String> = (0..2100).map(|number| format!("\"k{number}\":\"no label\"")).collect();
    let text = format!(
        "{{\"apiVersion\":\"druid.gardener.cloud/v1alpha1\",\"kind\":\"Etcd\",\"metadata\":{{\"name\":\"a\",\"annotations\":\
         {{\"note\":\"{}\"}}}},\"spec\":{{\"replicas\":3,\"etcd\":{{}},\"backup\":{{}},\"labels\":{{{}}}}}}}",
        "ä".repeat(500_000),
        labels.join(",")
    );
    let folder = folder();
    write(folder.path(), "a.json", &text);
    let run = lint(folder.path(), &["a.json"], "");
    assert_eq!((run.status, run.out.matches("error[labels]").count()), (1, 2000));
    assert!(run.out.len() < 2000 * 1500, "{} bytes", run.out.len());
    assert!(run.out.contains("error[left-out]: 100 more violations of this object are not shown\n"));
    let last = "2001 errors: 1 Etcd in 1 file; 100 more violations not shown\n";
    assert!(run.out.ends_with(last), "{}", run.out.lines().last().unwrap_or_default());
    let before = &text[..text.find("\"no label\"").expect("a label")];
    let place = format!("--> a.json:1:{}\n", before.chars().count() + 1);
    assert!(run.out.contains(&place), "{place}");
    for (format, said) in [
        ("json", "\"leftOut\": 100"),
        (
            "sarif",
            "\"100 more violations of this object are not shown. Help: mend those that are, and lint again\"",
        ),
        (
            "github",
            "title=left-out::100 more violations of this object are not shown%0Ahelp: mend those that are",
        ),
    ] {
        let run = lint(folder.path(), &["--format", format, "a.json"], "");
        assert!(run.out.contains(said) && run.out.len() < 2000 * 1500, "{format}: {} bytes", run.out.len());
    }
    let run = lint(folder.path(), &["--rule", "ports", "--skip", "left-out", "a.json"], "");
    assert!(run.status == 1 && run.out.contains("error[left-out]"), "some may be of any rule: {run:?}");
}

#[test]
fn folders_are_read_by_extension() {
    let folder = folder();
    for file in ["a.yaml", "b/c.yml", "b/d.JSON", "b/e.txt", ".git/f.yaml", "b/.hidden.yaml"] {
        write(folder.path(), file, etcd("x", "3"));
    }
    let run = lint(folder.path(), &["."], "");
    assert_eq!((run.status, run.out.as_str()), (0, "nothing wrong: 4 Etcds in 4 files\n"), "{run:?}");
}

#[test]
fn standard_input_is_read() {
    let run = lint(folder().path(), &["-"], &etcd("a", "-1"));
    assert_eq!(run.status, 1);
    assert!(run.out.contains(" --> <stdin>:6:13\n"), "{}", run.out);
}

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

fn git(folder: &Path, arguments: &[&str]) {
    let settings = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main"];
    let output =
        Command::new("git").arg("-C").arg(folder).args(settings).args(arguments).output().expect("git");
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
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
    let ceiling = folder.path().parent().unwrap().to_str().unwrap();
    let run =
        lint_with(folder.path(), &["--against", "HEAD", "."], "", &[("GIT_CEILING_DIRECTORIES", ceiling)]);
    assert!(run.status == 2 && run.err.contains("not a git repository"), "{run:?}");
}

#[test]
fn colours_are_a_choice() {
    let (folder, text) = (folder(), etcd("a", "-1"));
    for (arguments, variables, coloured) in [
        (&["-"][..], &[][..], false),
        (&["--color", "always", "-"], &[], true),
        (&["--color", "always", "-"], &[("NO_COLOR", "1")], true),
        (&["--color", "never", "-"], &[("CLICOLOR_FORCE", "1")], false),
        (&["--color", "auto", "-"], &[("CLICOLOR_FORCE", "1")], true),
        (&["-"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
    ] {
        let run = lint_with(folder.path(), arguments, &text, variables);
        assert_eq!(run.out.contains('\u{1b}'), coloured, "{arguments:?} {variables:?}: {}", run.out);
    }
}
