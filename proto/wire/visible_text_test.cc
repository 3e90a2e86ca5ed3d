#include "proto/wire/visible_text.h"

#include <string>

#include "gtest/gtest.h"

namespace graphdbg::wire {
namespace {

TEST(VisibleTextTest, LeavesWhatCanBeSeenAsItIs) {
  for (const char* text : {"", "forward/fc1", "gr\u00F6\u00DFe/\u91CD\u307F",
                           "\U0001F469", "\u27E8U+1B\u27E9"}) {
    EXPECT_EQ(VisibleText(text), text);
  }
}

TEST(VisibleTextTest, ShowsWhatControlsATerminalByItsNumber) {
  EXPECT_EQ(VisibleText("a\x1B[2J"), "a\u27E8U+001B\u27E9[2J");
  EXPECT_EQ(VisibleText("x\r\n"), "x\u27E8U+000D\u27E9\u27E8U+000A\u27E9");
  // The one-byte form of "ESC [" and others.
  EXPECT_EQ(VisibleText("\u009B2J"), "\u27E8U+009B\u27E92J");
  EXPECT_EQ(VisibleText(absl::string_view("\0", 1)), "\u27E8U+0000\u27E9");
}

TEST(VisibleTextTest, ShowsWhatTurnsTextAroundOrHidesIt) {
  EXPECT_EQ(VisibleText("a\u202Egnp.exe"), "a\u27E8U+202E\u27E9gnp.exe");
  EXPECT_EQ(VisibleText("\u2066\u200B\U000E0041"),
            "\u27E8U+2066\u27E9\u27E8U+200B\u27E9\u27E8U+E0041\u27E9");
}

TEST(VisibleTextTest, BytesThatAreNoTextCannotHideControls) {
  EXPECT_EQ(VisibleText("\x9B\xC3"), "\uFFFD\uFFFD");
  // An overlong encoding of ESC.
  EXPECT_EQ(VisibleText("\xC0\x9B"), "\uFFFD\uFFFD");
}

}  // namespace
}  // namespace graphdbg::wire
