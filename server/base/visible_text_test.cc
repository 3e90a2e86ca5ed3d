#include "server/base/visible_text.h"

#include <gtest/gtest.h>

namespace graphdbg {
namespace {

TEST(VisibleTextTest, LeavesWhatReadersSee) {
  for (const char* text :
       {"", "forward/fc1 [3, 4] ~", "naïve Größe 名前 🙂"}) {
    EXPECT_EQ(VisibleText(text), text);
  }
}

TEST(VisibleTextTest, ShowsWhatControlsATerminal) {
  EXPECT_EQ(VisibleText("a\x1b[2Jb"), "a⟨U+001B⟩[2Jb");
  EXPECT_EQ(VisibleText("a\nb\r\t\x7f"), "a⟨U+000A⟩b⟨U+000D⟩⟨U+0009⟩⟨U+007F⟩");
  EXPECT_EQ(VisibleText(std::string_view("a\0b", 3)), "a⟨U+0000⟩b");
  // The control sequence introducer of 8-bit terminals, as UTF-8 and as a byte.
  EXPECT_EQ(VisibleText("a\u009b31m"), "a⟨U+009B⟩31m");
  EXPECT_EQ(VisibleText("a\x9b"
                        "31m"),
            "a⟨9B⟩31m");
}

TEST(VisibleTextTest, ShowsWhatChangesTheDirection) {
  EXPECT_EQ(VisibleText("gpj.\u202egnp"), "gpj.⟨U+202E⟩gnp");
  EXPECT_EQ(VisibleText("\u2066a\u2069\u200f\u061c"),
            "⟨U+2066⟩a⟨U+2069⟩⟨U+200F⟩⟨U+061C⟩");
}

TEST(VisibleTextTest, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(VisibleText("caf\xe9"), "caf⟨E9⟩");
  EXPECT_EQ(VisibleText("\xc0\xaf"), "⟨C0⟩⟨AF⟩");
  EXPECT_EQ(VisibleText("\xe0\x80\x9b"), "⟨E0⟩⟨80⟩⟨9B⟩");
  EXPECT_EQ(VisibleText("\xed\xa0\x80"), "⟨ED⟩⟨A0⟩⟨80⟩");
  EXPECT_EQ(VisibleText("\xf0\x9f\x99"), "⟨F0⟩⟨9F⟩⟨99⟩");
  EXPECT_EQ(VisibleText("\xf4\x90\x80\x80"), "⟨F4⟩⟨90⟩⟨80⟩⟨80⟩");
}

}  // namespace
}  // namespace graphdbg
