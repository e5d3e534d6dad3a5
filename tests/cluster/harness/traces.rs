//! What of a bed is on the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::kubectl::Output;

/// By kind, one line each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Traces {
    pub processes: Vec<String>,
    pub mounts: Vec<String>,
    pub links: Vec<String>,
    pub routes: Vec<String>,
    pub control_groups: Vec<String>,
    pub files: Vec<String>,
}

impl Traces {
    pub fn of(bed: u32) -> Self {
        let control_groups = control_groups(bed);
        Self {
            processes: processes(bed, &control_groups),
            mounts: mounts(bed),
            links: lines(&["-brief", "link"], |line| line.starts_with(&format!("bed{bed}@"))),
            routes: lines(&["route"], |line| networks(bed).iter().any(|network| line.contains(network))),
            control_groups: control_groups.iter().map(|path| path.display().to_string()).collect(),
            files: fs::read_dir(folder(bed))
                .into_iter()
                .flatten()
                .map(|entry| format!("{entry:?}"))
                .collect(),
        }
    }

    pub fn are_gone(&self) -> Result<(), String> {
        if *self == Self::default() { Ok(()) } else { Err(format!("{self:#?}")) }
    }
}

fn folder(bed: u32) -> String {
    format!("{}/{bed}", super::bed::FOLDER)
}

fn networks(bed: u32) -> [String; 4] {
    ["10.199", "10.200", "10.244", "10.96"].map(|network| format!("{network}.{bed}."))
}

fn lines(arguments: &[&str], of_bed: impl Fn(&str) -> bool) -> Vec<String> {
    let said = Output::of(Command::new("ip").args(arguments), "").ok();
    said.lines().filter(|line| of_bed(line)).map(str::to_owned).collect()
}

/// All that are below the bed's own, in every hierarchy.
fn control_groups(bed: u32) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let is_hierarchy = |fields: &[&str]| fields[2] == "cgroup" || fields[2] == "cgroup2";
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let hierarchies = fields.filter(|fields| is_hierarchy(fields)).map(|fields| PathBuf::from(fields[1]));
    hierarchies.flat_map(|path| groups_below(&path.join(format!("etcd-warden-bed-{bed}")))).collect()
}

fn groups_below(group: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(group) else { return Vec::new() };
    let folders = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    std::iter::once(group.to_owned()).chain(folders.flat_map(|path| groups_below(&path))).collect()
}

/// In its control groups, pods included, or at work on its folder from outside.
fn processes(bed: u32, control_groups: &[PathBuf]) -> Vec<String> {
    let inside = control_groups.iter().flat_map(|group| {
        let ids = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        ids.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let outside = all.filter(|id| {
        let arguments = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        arguments.contains(&format!("{}/", folder(bed)))
            || arguments.contains(&format!("/lib/supervise {bed} "))
            || arguments.contains(&format!("/lib/inside {bed} "))
    });
    let mut found: Vec<String> = inside.chain(outside).collect();
    found.sort();
    found.dedup();
    found
}

/// Of the machine's own mount namespace: a bed's mounts are in one of its own, which ends with its processes.
fn mounts(bed: u32) -> Vec<String> {
    let own = fs::read_to_string("/proc/self/mounts").unwrap();
    own.lines().filter(|line| line.contains(&folder(bed))).map(str::to_owned).collect()
}
