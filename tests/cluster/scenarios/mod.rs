//! What is shown, one file a subject.

mod admission;
mod beds;
mod client_certificates;
mod definitions;
mod fixtures;
mod installation;
mod manifests;
mod walls;
mod walls_at_random;
mod workloads;
