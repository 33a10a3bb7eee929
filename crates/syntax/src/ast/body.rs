//! Bodies of functions.
//!
//! Most library functions are not called by a program, and their bodies are never needed. So
//! [`parse_library_tokens`](crate::parse_library_tokens) stores the tokens of a body, from brace to brace, and the block is
//! parsed on first use.

use super::{Block, Version};
use crate::parser;
use crate::token::Token;
use std::sync::{Arc, OnceLock};

/// The body of a function. Clones share it.
#[derive(Clone, Debug)]
pub struct Body {
    block: OnceLock<Arc<Block>>,
    unread: Arc<[Token]>,
    /// The index of the first token in its file.
    first: usize,
    version: Version,
}

impl Body {
    /// A body whose tokens, braces included, nobody has read yet; `first` is the index of the first one in its file.
    pub(crate) fn unread(tokens: &[Token], first: usize, version: Version) -> Body {
        Body { block: OnceLock::new(), unread: tokens.into(), first, version }
    }

    /// Its block.
    pub fn block(&self) -> &Block {
        self.block.get_or_init(|| parser::parse_block(self.unread.to_vec(), self.first, self.version).into())
    }
}

impl From<Block> for Body {
    fn from(block: Block) -> Body {
        Body {
            block: OnceLock::from(Arc::new(block)),
            unread: Arc::default(),
            first: 0,
            version: Version::default(),
        }
    }
}
