// Tokens of PTX text.
// Invariant: tokens are views into the text, which outlives them; the last token is always `end`.
#pragma once

#include <string_view>
#include <vector>

namespace mcc::sim {

enum class TokenKind : unsigned char {
  identifier,  // names, registers (%r1), directives and suffixes (.b32), opcodes up to a dot
  number,      // integer and floating literals as written
  string,      // without its quotes
  symbol,      // one punctuation character
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  int line = 0;
  bool glued = false;  // no white space before it: tells ".b32" as a suffix from a directive
};

// SimError on a character that PTX does not know or an unfinished string or comment.
std::vector<Token> tokenize(std::string_view text);

}  // namespace mcc::sim
