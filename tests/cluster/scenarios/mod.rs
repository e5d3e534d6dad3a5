//! What is shown, one file a subject.

mod admission;
mod authorities;
mod beds;
mod beside_druid;
mod bundles;
mod client_certificates;
mod collisions;
mod definitions;
mod faults;
mod fixtures;
mod forming;
mod installed;
mod interrupted;
mod joining;
mod kubectl;
mod leaving;
mod manifests;
mod outage;
mod status;
mod under_load;
mod volumes;
mod walls;
mod walls_at_random;
mod ways_to_write;
mod workloads;
