// Splits PTX text into tokens (PTX ISA, "Syntax").
#include "runtime/sim/text/lexer.h"

#include <cctype>

#include "runtime/sim/error.h"

namespace mcc::sim {
namespace {

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.';
}
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 4);
  int line = 1;
  bool space = true;
  size_t at = 0;
  auto push = [&](TokenKind kind, size_t length) {
    tokens.push_back({kind, text.substr(at, length), line, !space});
    at += length;
    space = false;
  };
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\n') {
      ++line;
      ++at;
      space = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\0') {
      ++at;
      space = true;
    } else if (c == '/' && text.substr(at, 2) == "//") {
      while (at < text.size() && text[at] != '\n') ++at;
      space = true;
    } else if (c == '/' && text.substr(at, 2) == "/*") {
      const size_t close = text.find("*/", at + 2);
      if (close == std::string_view::npos) fail_at(line, "the comment has no end");
      for (; at < close; ++at) line += text[at] == '\n' ? 1 : 0;
      at = close + 2;
      space = true;
    } else if (c == '"') {
      const size_t close = text.find('"', at + 1);
      if (close == std::string_view::npos) fail_at(line, "the string has no end");
      ++at;
      push(TokenKind::string, close - at);
      ++at;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      size_t end = at + 1;
      while (end < text.size()) {
        const char d = text[end];
        const bool exponent_sign = (d == '+' || d == '-') && (text[end - 1] == 'e' || text[end - 1] == 'E') &&
                                   text.substr(at, 2) != "0x" && text.substr(at, 2) != "0X" &&
                                   text.substr(at, 2) != "0f" && text.substr(at, 2) != "0F" &&
                                   text.substr(at, 2) != "0d" && text.substr(at, 2) != "0D";
        if (std::isalnum(static_cast<unsigned char>(d)) == 0 && d != '.' && !exponent_sign) break;
        ++end;
      }
      push(TokenKind::number, end - at);
    } else if (is_name_start(c)) {
      size_t end = at + 1;
      // "::" joins suffixes such as ".shared::cta".
      while (end < text.size() && (is_name(text[end]) || (text[end] == ':' && end + 2 < text.size() &&
                                                           text[end + 1] == ':' && is_name(text[end + 2])) ||
                                   (text[end] == ':' && text[end - 1] == ':'))) {
        ++end;
      }
      push(TokenKind::identifier, end - at);
    } else {
      static constexpr std::string_view kSymbols = "(){}[]<>,;:@!|+-*/=~&^?";
      if (kSymbols.find(c) == std::string_view::npos) {
        fail_at(line, std::string("the character '") + c + "' has no meaning in PTX");
      }
      push(TokenKind::symbol, 1);
    }
  }
  tokens.push_back({TokenKind::end, {}, line, false});
  return tokens;
}

}  // namespace mcc::sim
