//! What is shown, one file a subject.

mod admission;
mod beds;
mod client_certificates;
mod fixtures;
mod manifests;
mod walls;
mod workloads;
