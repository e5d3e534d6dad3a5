//! The program: what it reads, and how it ends.

use super::program::{etcd, folder, lint, lint_with, project, write};

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

#[test]
fn a_file_is_judged_once_by_whatever_names() {
    let folder = folder();
    write(folder.path(), "in/a.yaml", etcd("a", "3"));
    write(folder.path(), "in/b.yaml", etcd("b", "3"));
    std::os::unix::fs::symlink("a.yaml", folder.path().join("in/link.yaml")).expect("a link");
    let absolute = folder.path().join("in/b.yaml");
    for arguments in [
        &["in"][..],
        &["in", "in/a.yaml"],
        &["in/a.yaml", "./in/../in/a.yaml", "in/b.yaml", absolute.to_str().unwrap()],
        &["in/link.yaml", "in"],
        &["in", "in/"],
    ] {
        let run = lint(folder.path(), arguments, "");
        assert_eq!(run.out, "nothing wrong: 2 Etcds in 2 files\n", "{arguments:?}");
    }
    let run = lint(folder.path(), &["-", "in/a.yaml", "-"], &etcd("c", "3"));
    assert_eq!(run.out, "nothing wrong: 2 Etcds in 2 files\n");
    let run = lint(folder.path(), &["gone.yaml", "./gone.yaml", "gone.yaml"], "");
    assert!(run.out.ends_with("2 errors: no Etcd in 2 files, 2 of them not readable\n"), "{}", run.out);
}

#[test]
fn a_namespace_has_a_namespaces_name() {
    let folder = folder();
    write(folder.path(), "a.yaml", etcd("a", "3"));
    let long = "n".repeat(64);
    for (name, said) in [
        ("", "names no namespace: write one, or leave the flag out (is a variable empty?)"),
        ("Bad_NS", "write 1 to 63 characters of a-z, 0-9 and -"),
        ("a.b", "write 1 to 63 characters of a-z, 0-9 and -"),
        (long.as_str(), "write 1 to 63 characters of a-z, 0-9 and -"),
    ] {
        let run = lint(folder.path(), &["-n", name, "a.yaml"], "");
        assert!(run.status == 2 && run.err.contains("--namespace") && run.err.contains(said), "{run:?}");
    }
    assert_eq!(lint(folder.path(), &["-n", "kube-system", "a.yaml"], "").status, 0);
}

/// A review that the server answers without having judged it is not one more without a fault.
#[test]
fn a_review_that_isnt_judged_is_told_whatever_is_asked() {
    let review = "fixtures/wrong-registration/rejected-pods.json";
    for arguments in [&[][..], &["--rule", "ports"], &["--skip", "not-judged"]] {
        let run = lint(&project(), &[arguments, &[review]].concat(), "");
        assert!(run.status == 1 && run.out.contains("error[not-judged]"), "{arguments:?}: {run:?}");
        let last = "1 error: no Etcd in 1 file; 1 object not judged\n";
        assert!(run.out.ends_with(last), "{arguments:?}: {}", run.out);
    }
}

#[test]
fn what_is_passed_over_is_counted_in_words() {
    let folder = folder();
    let kinds = ["List", "Ingress", "NetworkPolicy", "Gateway", "Endpoints", "AdmissionReview\nresponse: {}"];
    let documents: String = kinds.iter().map(|kind| format!("kind: {kind}\n---\n").repeat(2)).collect();
    write(folder.path(), "a.yaml", documents + "a: 1\n---\nb: 1\n---\nkind: Pod\n");
    let run = lint(folder.path(), &["a.yaml"], "");
    let said = "nothing wrong: no Etcd in 1 file; passed over: 2 Endpoints, 2 Gateways, 2 Ingresses, 2 Lists, \
                2 NetworkPolicies, 1 Pod, 2 answered AdmissionReviews, 2 documents without a kind\n";
    assert_eq!(run.out, said);
}
