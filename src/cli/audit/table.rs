//! Tables on a terminal: columns as wide as what is in them, the last one as wide as there is room.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::text::{escaped, shortened};

/// Rows that are looked at before the columns' widths are settled.
const MEASURED_MAX: usize = 500;

/// Least room for the last column.
const LAST_MIN: usize = 20;

/// A column this wide is not made narrower: less tells nothing.
const NARROWED_MIN: usize = 16;

/// A column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Its heading.
    pub(super) heading: &'static str,
    /// Most characters of a cell.
    pub(super) most: usize,
    /// As wide it stays, however narrow the terminal is.
    pub(super) least: usize,
    /// What a terminal has room for; elsewhere a cell stands as it is.
    short: fn(&str) -> String,
}

impl Column {
    /// A column that may be cut as long as something is told by what is left.
    pub(super) const fn new(heading: &'static str, most: usize) -> Self {
        Self { heading, most, least: NARROWED_MIN, short: str::to_owned }
    }

    /// A column whose cells are written in short on a terminal.
    pub(super) const fn in_short(self, short: fn(&str) -> String) -> Self {
        Self { short, ..self }
    }

    /// A column whose cells are never cut: what is left would tell nothing.
    pub(super) const fn whole(self) -> Self {
        Self { most: usize::MAX, least: usize::MAX, ..self }
    }
}

/// A row: a cell for each column but the last, and the words of the last one, of which as many are shown as fit.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The cells.
    pub(super) cells: Vec<String>,
    /// The words of the last column.
    pub(super) words: Vec<String>,
}

/// A table that is printed as its rows come, once enough are there to settle the widths.
pub(super) struct Table<W> {
    out: W,
    columns: &'static [Column],
    /// Columns of the terminal; nothing where it is none, and where nothing is cut.
    terminal: Option<usize>,
    widths: Vec<usize>,
    /// Most characters of a cell in each column: what is no terminal has room for all.
    most: Vec<usize>,
    /// Rows that wait for the widths; nothing once these are settled.
    waiting: Option<Vec<Row>>,
}

impl<W: Write> Table<W> {
    /// A table of these columns.
    pub(super) fn new(out: W, columns: &'static [Column], terminal: Option<usize>) -> Self {
        let widths = columns.iter().map(|column| column.heading.len()).collect();
        let room = |column: &Column| if terminal.is_some() { column.most } else { usize::MAX };
        let most = columns.iter().map(room).collect();
        Self { out, columns, terminal, widths, most, waiting: Some(Vec::new()) }
    }

    /// One row more.
    pub(super) fn row(&mut self, mut row: Row) -> io::Result<()> {
        for ((cell, column), most) in row.cells.iter_mut().zip(self.columns).zip(&self.most) {
            let short = if self.terminal.is_some() { (column.short)(cell) } else { cell.clone() };
            *cell = shortened(&escaped(&short), *most);
        }
        match &mut self.waiting {
            Some(waiting) => {
                waiting.push(row);
                if waiting.len() >= MEASURED_MAX { self.settle() } else { Ok(()) }
            }
            None => self.print(&row),
        }
    }

    /// Prints what waits, heading first; rows that follow are printed as they come.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        let Some(waiting) = self.waiting.take_if(|waiting| !waiting.is_empty()) else {
            return self.out.flush();
        };
        for row in &waiting {
            for (width, cell) in self.widths.iter_mut().zip(&row.cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        self.narrow();
        let headings: Vec<String> = self.columns.iter().map(|column| column.heading.to_owned()).collect();
        self.print_cells(&headings)?;
        for row in &waiting {
            self.print(row)?;
        }
        self.out.flush()
    }

    /// Takes from the widest columns what the terminal has no room for.
    fn narrow(&mut self) {
        let Some(terminal) = self.terminal else { return };
        while self.before_last() + LAST_MIN > terminal {
            let fixed = self.widths.len().saturating_sub(1);
            let columns = self.widths.iter_mut().zip(&mut self.most).zip(self.columns).take(fixed);
            let may_be_cut = columns.filter(|((width, _), column)| **width > column.least);
            let Some(((width, most), _)) = may_be_cut.max_by_key(|((width, _), _)| **width) else { return };
            *width -= 1;
            *most = *width;
        }
    }

    /// Characters of a line before its last column.
    fn before_last(&self) -> usize {
        self.widths.iter().take(self.widths.len().saturating_sub(1)).map(|width| width + 2).sum()
    }

    /// Text below the table, with an empty line between, if there is a table.
    pub(super) fn below(&mut self, text: &str) -> io::Result<()> {
        let separator = if self.waiting.is_none() { "\n" } else { "" };
        write!(self.out, "{separator}{text}")?;
        self.out.flush()
    }

    fn print(&mut self, row: &Row) -> io::Result<()> {
        let before = self.before_last();
        let room = self.terminal.map_or(usize::MAX, |terminal| terminal.saturating_sub(before).max(LAST_MIN));
        let cells = row.cells.iter().zip(&self.most).map(|(cell, most)| shortened(cell, *most));
        let mut cells: Vec<String> = cells.collect();
        cells.push(fitting(&row.words, room));
        self.print_cells(&cells)
    }

    fn print_cells(&mut self, cells: &[String]) -> io::Result<()> {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&self.widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        writeln!(self.out, "{}", line.trim_end())
    }
}

/// As many of the words as there is room for, and how many more there are; always the first.
fn fitting(words: &[String], room: usize) -> String {
    let mut text = String::new();
    for (at, word) in words.iter().enumerate() {
        let word = escaped(word);
        let separator = if at == 0 { "" } else { ", " };
        let more = words.len() - at;
        // Room for " +N", unless this is the last word.
        let rest = if more > 1 { 2 + more.to_string().len() } else { 0 };
        let length = text.chars().count() + separator.len() + word.chars().count() + rest;
        if at > 0 && length > room {
            return format!("{text} +{more}");
        }
        text = text + separator + &word;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[Column::new("NAME", 8), Column::new("USER", 100), Column::new("RULES", 0)];

    fn row(name: &str, user: &str, words: &[&str]) -> Row {
        Row {
            cells: vec![name.into(), user.into()],
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    fn printed(rows: &[Row], terminal: Option<usize>) -> String {
        let mut out = Vec::new();
        let mut table = Table::new(&mut out, COLUMNS, terminal);
        for row in rows {
            table.row(row.clone()).unwrap();
        }
        table.settle().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let rows = [row("a", "alice", &["ports"]), row("abcdefghijkl", "b\u{1b}", &["ports", "type"])];
        assert_eq!(
            printed(&rows, Some(80)),
            "NAME      USER     RULES\na         alice    ports\nabcd…jkl  b\\u{1b}  ports, type\n"
        );
        assert_eq!(
            printed(&rows, None),
            "NAME          USER     RULES\na             alice    ports\nabcdefghijkl  b\\u{1b}  ports, type\n"
        );
        assert_eq!(printed(&[], None), "");
    }

    #[test]
    fn the_widest_columns_are_cut_to_the_terminal() {
        let rows = [row("a", &"u".repeat(40), &["ports", "replicas-range"])];
        let text = printed(&rows, Some(60));
        let width = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(width <= 60 && text.contains("uuu…uuu") && text.contains("ports +1"), "{text}");
        assert!(printed(&rows, Some(10)).contains(&"u".repeat(8)), "no narrower than that");
    }

    #[test]
    fn a_whole_column_is_never_cut() {
        const COLUMNS: &[Column] =
            &[Column::new("TIME", 0).whole(), Column::new("USER", 100), Column::new("RULES", 0)];
        let mut out = Vec::new();
        let mut table = Table::new(&mut out, COLUMNS, Some(10));
        table.row(row(&"t".repeat(24), &"u".repeat(20), &["ports"])).unwrap();
        table.settle().unwrap();
        drop(table);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(&format!("{}  uuuuuuuu…uuuuuuu  ports", "t".repeat(24))), "{text}");
    }

    #[test]
    fn cells_are_in_short_on_a_terminal_alone() {
        const COLUMNS: &[Column] =
            &[Column::new("USER", 40).in_short(str::to_uppercase), Column::new("RULES", 0)];
        for (terminal, shown) in [(None, "bob   ports"), (Some(80), "BOB   ports")] {
            let mut out = Vec::new();
            let mut table = Table::new(&mut out, COLUMNS, terminal);
            table.row(Row { cells: vec!["bob".into()], words: vec!["ports".into()] }).unwrap();
            table.settle().unwrap();
            drop(table);
            assert!(String::from_utf8(out).unwrap().contains(shown), "{terminal:?}");
        }
    }

    #[test]
    fn text_below_stands_apart_from_a_table() {
        for (rows, expected) in [(vec![row("a", "b", &["c"])], "c\n\nend\n"), (vec![], "end\n")] {
            let mut out = Vec::new();
            let mut table = Table::new(&mut out, COLUMNS, None);
            for row in rows {
                table.row(row).unwrap();
            }
            table.settle().unwrap();
            table.below("end\n").unwrap();
            drop(table);
            assert!(String::from_utf8(out).unwrap().ends_with(expected));
        }
    }

    #[test]
    fn the_last_column_has_as_many_words_as_fit() {
        let words = ["one", "three", "eleven"].map(String::from);
        for (room, expected) in [
            (18, "one, three, eleven"),
            (17, "one, three +1"),
            (13, "one, three +1"),
            (12, "one +2"),
            (1, "one +2"),
        ] {
            assert_eq!(fitting(&words, room), expected, "{room}");
        }
        assert_eq!(fitting(&[], 9), "");
    }

    #[test]
    fn rows_are_printed_as_they_come_once_the_widths_are_settled() {
        let mut out = Vec::new();
        let mut table = Table::new(&mut out, COLUMNS, None);
        table.settle().unwrap();
        table.row(row("a", "b", &["c"])).unwrap();
        table.settle().unwrap();
        table.row(row("longer", "b", &["c"])).unwrap();
        drop(table);
        assert_eq!(String::from_utf8(out).unwrap(), "NAME  USER  RULES\na     b     c\nlonger  b     c\n");
    }
}
