// What reaches a terminal: UTF-8 as it is, everything else escaped.
#include "tools/io/printable.h"

#include <gtest/gtest.h>

namespace mcc::tools {
namespace {

TEST(Printable, KeepsText) {
  EXPECT_EQ(printable("layer/é漢😀\n\tx"), "layer/é漢😀\n\tx");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, EscapesWhatSteersTerminals) {
  EXPECT_EQ(printable("\x1b[31mred\r"), "\\x1b[31mred\\x0d");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xC2\x9B"), "\\xc2\\x9b");
}

TEST(Printable, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(printable("\xEE\x20"), "\\xee ");
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf");
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("ok\xE2\x82"), "ok\\xe2\\x82");
}

}  // namespace
}  // namespace mcc::tools
