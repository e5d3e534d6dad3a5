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
