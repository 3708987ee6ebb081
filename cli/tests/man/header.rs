//! The header as a list of what it declares, with the comments.

/// `include/turnlock.h`.
pub struct Header {
    /// The comment at its beginning, without the line on how it is made.
    pub introduction: String,
    pub sections: Vec<Section>,
}

/// What stands below one of its titles.
pub struct Section {
    pub title: String,
    pub items: Vec<Item>,
}

/// A macro, a type or a function.
pub struct Item {
    pub name: String,
    /// The comment's text, without what marks it as one.
    pub comment: String,
    pub declaration: String,
}

impl Header {
    pub fn read(text: &str) -> Header {
        let (introduction, rest) = text.split_once("*/").expect("the header begins with a comment");
        let introduction = comment_text(introduction);
        let introduction = introduction.split("\n\nMade from").next().unwrap().trim().to_owned();
        // After the titles, which are comments of one line: /* Mutexes ---- */
        let sections: Vec<Section> = rest
            .split("\n/* ")
            .skip(1)
            .map(|section| {
                let (title, items) = section.split_once('\n').unwrap();
                let title = title.split(" --").next().unwrap().to_owned();
                Section { title, items: items.split("\n\n").filter_map(Item::read).collect() }
            })
            .collect();
        assert!(sections.len() > 5, "the titles of the header are not found");
        Header { introduction, sections }
    }
}

impl Section {
    pub fn functions(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.is_function())
    }

    /// `turnlock_mutex`: what a section is about that can be opened.
    pub fn noun(&self) -> Option<String> {
        self.functions().find_map(|item| item.name.strip_suffix("_open").map(String::from))
    }
}

impl Item {
    fn read(text: &str) -> Option<Item> {
        let text = text.trim();
        let (comment, declaration) = match text.strip_prefix("/**") {
            Some(rest) => rest.split_once("*/\n")?,
            None => ("", text),
        };
        if !declaration.starts_with("#define ") && !declaration.contains("turnlock_") {
            return None;
        }
        let name = match declaration.strip_prefix("#define ") {
            Some(rest) => rest.split_whitespace().next()?,
            None if declaration.starts_with("typedef") => {
                declaration.trim_end_matches(';').rsplit([' ', '\n']).next()?
            }
            None => declaration.split('(').next()?.rsplit([' ', '*']).next()?,
        };
        Some(Item { name: name.into(), comment: comment_text(comment), declaration: declaration.into() })
    }

    pub fn is_function(&self) -> bool {
        self.declaration.contains(");") && !self.declaration.starts_with("typedef")
    }
}

fn comment_text(comment: &str) -> String {
    let lines = comment.lines().map(|line| {
        let line = line.trim_start().trim_start_matches("/*").trim_start_matches('*');
        line.strip_prefix(' ').unwrap_or(line).trim_end()
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}
