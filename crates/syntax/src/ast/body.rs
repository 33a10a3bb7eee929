//! Bodies of functions.
//!
//! Of a library most functions are not called by a program, and their bodies are never looked at. So
//! [`parse_library_tokens`](crate::parse_library_tokens) sets their tokens aside, from brace to brace, and the block is read when
//! somebody asks for it.

use super::{Block, Version};
use crate::parser;
use crate::token::Token;
use std::sync::OnceLock;

/// The body of a function.
#[derive(Clone, Debug)]
pub struct Body {
    block: OnceLock<Block>,
    unread: Box<[Token]>,
    version: Version,
}

impl Body {
    /// A body whose tokens, braces included, nobody has read yet.
    pub(crate) fn unread(tokens: &[Token], version: Version) -> Body {
        Body { block: OnceLock::new(), unread: tokens.into(), version }
    }

    /// Its block.
    pub fn block(&self) -> &Block {
        self.block.get_or_init(|| parser::parse_block(self.unread.to_vec(), self.version))
    }
}

impl From<Block> for Body {
    fn from(block: Block) -> Body {
        Body { block: OnceLock::from(block), unread: Box::default(), version: Version::default() }
    }
}
