//! What is shown, one file a subject.

mod admission;
mod beds;
mod fixtures;
mod workloads;
