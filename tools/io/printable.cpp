// See printable.h. UTF-8 as in RFC 3629, section 4; overlong forms and surrogates aren't UTF-8.
#include "tools/io/printable.h"

#include <cstddef>

namespace mcc::tools {

namespace {

// The length of the UTF-8 sequence at the start of `text`; 0: there is none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) >= 0xA0)) return 0;
  if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) >= 0x90)) return 0;
  return length;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  while (!text.empty()) {
    const size_t length = is_control(text[0]) ? 0 : sequence_length(text);
    // U+0080 to U+009F are control characters too.
    const bool high_control =
        length == 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0;
    if (length > 0 && !high_control) {
      result += text.substr(0, length);
      text.remove_prefix(length);
      continue;
    }
    const auto value = static_cast<unsigned char>(text[0]);
    result += {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
    text.remove_prefix(1);
  }
  return result;
}

}  // namespace mcc::tools
