//! What a log says, as one page of HTML that needs nothing else: no server, no script, no font from elsewhere.
//!
//! | file | what is in it |
//! |---|---|
//! | `html` | text that becomes HTML: everything from a log is escaped in one place |
//! | `page` | the page |
//! | `chart` | records over time |
//! | `tables` | records by rule, namespace, user and object |
//! | `records` | each record, to be folded open |
//!
//! The page's own style and script are `page.css` and `page.js`; its content security policy allows these two, by
//! their digests, and nothing else.

mod chart;
mod html;
mod page;
mod records;
mod tables;

pub use page::{Report, page};
