//! Ids of rules and warnings on the command line, and the nearest one where one isn't there.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};

use crate::lint::{entries, find};
use crate::rules::{self, Entry};

/// Reads the id of a rule or a warning, also with the brackets that messages have around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdParser;

impl TypedValueParser for IdParser {
    type Value = Entry;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Entry, Error> {
        find(&value.to_string_lossy()).map_err(|unknown| {
            let flag = arg.and_then(Arg::get_long).map(|flag| format!("--{flag}: "));
            let message = format!("{}{unknown}\n", flag.unwrap_or_default());
            Error::raw(ErrorKind::InvalidValue, message).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(entries().map(|entry| PossibleValue::new(entry.id).help(entry.summary))))
    }
}

/// Reads any text, which another release may have for an id, and offers those of this one.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedIdParser;

impl TypedValueParser for RecordedIdParser {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(rules::entries().map(|entry| PossibleValue::new(entry.id).help(entry.summary))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(flag: bool, value: &str) -> Result<&'static str, Error> {
        let arg = Arg::new("rule").value_parser(IdParser);
        let (arg, words) =
            if flag { (arg.long("skip"), vec!["test", "--skip", value]) } else { (arg, vec!["test", value]) };
        let found = Command::new("test").arg(arg).try_get_matches_from(words)?;
        Ok(found.get_one::<Entry>("rule").map(|entry| entry.id).unwrap_or_default())
    }

    #[test]
    fn an_id_is_read_and_an_unknown_one_named_with_its_flag() {
        assert_eq!(parse(false, "[ports]").unwrap(), "ports");
        assert_eq!(parse(true, "syntax").unwrap(), "syntax");
        let error = parse(true, "port").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(
            error.to_string().starts_with("error: --skip: no rule or warning is called \"port\";"),
            "{error}"
        );
        let error = parse(false, "port").unwrap_err().to_string();
        assert!(error.starts_with("error: no rule or warning is called \"port\";"), "{error}");
    }
}
