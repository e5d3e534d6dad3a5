//! HTTPS, limits, TLS with reload, probes, metrics, life cycle.
//!
//! | file | what is in it |
//! |---|---|
//! | `config`, `limits` | what a server runs with; its bounds, each with its reason |
//! | `bind` | from a configuration to a server that listens |
//! | `lifecycle` | runs it, and ends it without losing a request |
//! | `tasks` | tasks with names |
//! | `listener`, `descriptors` | accepts connections, and how many there may be |
//! | `held` | a certificate that is handed over in memory |
//! | `tls`, `client_auth`, `reload` | certificates, who may connect, and files that change |
//! | `router`, `handler`, `body`, `decide`, `deadline`, `answer` | a request on its way to its answer |
//! | `trail`, `log`, `metrics`, `labels` | what is written down of it |
//! | `probes`, `readiness` | the plain port |
//! | `attached` | further conditions, metrics and tasks, of whoever starts the server |

mod answer;
mod attached;
mod bind;
mod body;
mod client_auth;
mod config;
mod deadline;
mod decide;
mod descriptors;
mod handler;
mod held;
mod labels;
mod lifecycle;
mod limits;
mod listener;
mod log;
mod metrics;
mod probes;
mod readiness;
mod reload;
mod router;
mod stopper;
mod tasks;
mod tls;
mod trail;

pub use attached::{Attached, Condition, Measured, State};
pub use bind::{Addresses, Server, StartError};
pub use config::{Audit, Clients, Config, Source, Tls, TlsVersion};
pub use deadline::go_duration;
pub use decide::{Judge, Rules};
pub use held::Held;
pub use lifecycle::RunError;
pub use limits::Limits;
pub use stopper::Stopper;
pub use tls::TlsError;
pub use trail::TrailError;
