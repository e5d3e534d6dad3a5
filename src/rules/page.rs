//! The pages below `docs/rules/` that explain rules, as they are read: the little of Markdown that they use.
//!
//! A page begins with the rule's id as its title, and has the sections *Why*, *Without it*, *Since*, *Example*,
//! *Mended* and *Related*. Code after *Example* and *Mended* is YAML that is merged into a small Etcd; the second word
//! behind the fence says what is done with it: `create`, `stored`, `update`, `status` or `delete`.

use std::fmt;

/// A page, in sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// The first is the title's.
    pub sections: Vec<Section<'a>>,
}

/// A heading and what stands below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// The heading's text.
    pub title: &'a str,
    /// In the order of the page.
    pub blocks: Vec<Block<'a>>,
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block<'a> {
    /// Text, in one line.
    Paragraph(String),
    /// An entry of a list, in one line.
    Item(String),
    /// Text that stands as it is.
    Code {
        /// What stands behind the opening fence.
        info: &'a str,
        /// The lines, each with its end.
        text: String,
    },
}

/// As Markdown.
impl fmt::Display for Block<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paragraph(text) => formatter.write_str(text),
            Self::Item(text) => write!(formatter, "- {text}"),
            Self::Code { info, text } => write!(formatter, "```{info}\n{text}```"),
        }
    }
}

impl<'a> Page<'a> {
    /// Reads a page. Comments are left out; what stands before the first heading as well.
    pub fn read(text: &'a str) -> Self {
        let mut sections: Vec<Section<'a>> = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(title) = line.strip_prefix('#') {
                let title = title.trim_start_matches('#').trim().trim_matches('`');
                sections.push(Section { title, blocks: Vec::new() });
                continue;
            }
            let Some(section) = sections.last_mut() else { continue };
            if let Some(info) = line.strip_prefix("```") {
                let code = lines.by_ref().take_while(|line| *line != "```");
                let text = code.fold(String::new(), |text, line| text + line + "\n");
                section.blocks.push(Block::Code { info, text });
            } else if !line.starts_with("<!--") {
                section.add_text(line);
            }
        }
        sections.iter_mut().for_each(Section::drop_ends);
        Self { sections }
    }

    /// What stands below a heading; nothing where there is no such heading.
    pub fn section(&self, title: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.title == title)
    }
}

impl<'a> Section<'a> {
    /// A line of text: of a list's entry, of the paragraph that it goes on with, or of a new one. An empty paragraph
    /// at the end stands for an empty line.
    fn add_text(&mut self, line: &str) {
        let text = line.trim();
        match (text.strip_prefix("- "), self.blocks.last_mut()) {
            (Some(item), _) => self.blocks.push(Block::Item(item.to_owned())),
            (None, Some(Block::Paragraph(last) | Block::Item(last)))
                if !last.is_empty() && !text.is_empty() =>
            {
                last.push(' ');
                last.push_str(text);
            }
            (None, Some(Block::Paragraph(last))) if last.is_empty() => last.push_str(text),
            _ => self.blocks.push(Block::Paragraph(text.to_owned())),
        }
    }

    fn drop_ends(&mut self) {
        self.blocks.retain(|block| !matches!(block, Block::Paragraph(text) if text.is_empty()));
    }

    /// The paragraphs and lists, without the code.
    pub fn prose(&self) -> String {
        let texts = self.blocks.iter().filter(|block| !matches!(block, Block::Code { .. }));
        texts.map(ToString::to_string).collect::<Vec<_>>().join("\n\n")
    }

    /// Everything, in Markdown.
    pub fn markdown(&self) -> String {
        self.blocks.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n")
    }

    /// The code of a kind (`create`, `stored`, …), with what else stands behind its fence.
    pub fn code(&self, kind: &str) -> Option<(&'a str, &str)> {
        self.blocks.iter().find_map(|block| match block {
            Block::Code { info, text } => {
                let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
                let (word, options) = rest.split_once(' ').unwrap_or((rest, ""));
                (word == kind || (word.is_empty() && language == kind)).then_some((options, text.as_str()))
            }
            Block::Paragraph(_) | Block::Item(_) => None,
        })
    }

    /// What stands between backticks.
    pub fn named(&self) -> Vec<String> {
        self.prose().split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "before\n# `ports`\n\n<!-- x -->\nOne\nparagraph.\n\n## Why\n\n- an entry\n  of a list\n- another\n\n\
                        Text:\n\n```yaml create allowed=x\na: 1\n\nb: 2\n```\n\n## Related\n\n[`a`](a.md), [`b-c`](b-c.md)\n";

    #[test]
    fn a_page_is_read_in_pieces() {
        let page = Page::read(TEXT);
        let titles: Vec<&str> = page.sections.iter().map(|section| section.title).collect();
        assert_eq!(titles, ["ports", "Why", "Related"]);
        assert_eq!(page.sections[0].blocks, [Block::Paragraph("One paragraph.".to_owned())]);
        let why = page.section("Why").unwrap();
        assert_eq!(why.blocks[0], Block::Item("an entry of a list".to_owned()));
        assert_eq!(why.prose(), "- an entry of a list\n\n- another\n\nText:");
        assert!(why.markdown().ends_with("Text:\n\n```yaml create allowed=x\na: 1\n\nb: 2\n```"));
        assert_eq!(why.code("create"), Some(("allowed=x", "a: 1\n\nb: 2\n")));
        assert_eq!(why.code("update"), None);
        assert_eq!(page.section("Related").unwrap().named(), ["a", "b-c"]);
    }
}
