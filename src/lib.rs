//! etcd-warden keeps etcd clusters on Kubernetes from being broken by the manifests that describe them.
//!
//! | module | what is in it | may know |
//! |---|---|---|
//! | [`etcd`] | the `Etcd` resource as it is read from JSON, and the names derived from it | nobody |
//! | [`rules`] | the catalogue: pure functions from (old, new, settings) to violations and warnings | `etcd` |
//! | [`audit`] | what was rejected: the record, the file that holds it, and the log read back | `text`, `manifest` |
//! | [`admission`] | AdmissionReview in, AdmissionReview out | `rules`, `etcd`, `audit` |
//! | [`kubernetes`] | the API server's client, and the watch cache of Etcds | `etcd`; of `admission` the lookup |
//! | [`lease`] | leader election, for certificates and for a loop | `kubernetes` |
//! | [`pki`] | the CA and the serving certificate of a server that was given none; those that look after themselves | `kubernetes` |
//! | [`server`] | HTTPS, limits, TLS with reload, probes, metrics, life cycle | `admission`, `audit`, `pki`; of `rules` the settings and the ids |
//! | [`member`] | what a reconcile loop and the agents of members say to each other | nobody |
//! | [`agent`] | the first process of a member's container: how it may start, and etcd as its child | `member`, `kubernetes` |
//! | [`controller`] | the reconcile loop: the objects of an Etcd, and its status | `etcd`, `member`, `kubernetes`, `lease` |
//! | [`overview`] | how an Etcd is, for a person: its members, who waits for what, votes, events | `controller`, `member` |
//! | [`manifest`] | files as kubectl reads them, with the place of every value | nobody |
//! | [`lint`] | the rules without a server: what it would say of a text | `rules`, `admission`, `etcd`, `manifest`, `diagnostics` |
//! | [`diagnostics`] | what was found in a text, for people and for CI systems | `manifest` |
//! | [`telemetry`] | logs | nobody |
//! | [`text`] | somebody else's text in our messages: escaped and shortened | nobody |
//! | [`cli`] | one file a command | all |

pub mod admission;
pub mod agent;
pub mod audit;
pub mod cli;
pub mod controller;
pub mod diagnostics;
pub mod etcd;
pub mod kubernetes;
pub mod lease;
pub mod lint;
pub mod manifest;
pub mod member;
pub mod overview;
pub mod pki;
pub mod rules;
pub mod server;
pub mod telemetry;
pub mod text;
