#include "agent/core/source_text.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

class SourceTextTest : public testing::Test {
 protected:
  ~SourceTextTest() override { std::remove(path_.c_str()); }

  void Write(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  v1::GraphUpdate UpdateAt(uint32_t line, bool user = true) const {
    v1::GraphUpdate update;
    v1::SourceFrame* const frame = update.add_nodes()->add_stack();
    frame->set_file(path_);
    frame->set_line(line);
    frame->set_user(user);
    return update;
  }
  static std::string LineOf(const v1::GraphUpdate& update) {
    return update.nodes(0).stack(0).text();
  }

  const std::string path_ = testing::TempDir() + "/train.py";
};

TEST_F(SourceTextTest, AFileIsSentOnceWithTheFirstNodeThatRefersToIt) {
  Write("import torch\n\n  x = torch.log(y)");
  SourceText text(/*whole_files=*/true);
  v1::GraphUpdate first = UpdateAt(3);
  text.Fill(&first);
  EXPECT_EQ(LineOf(first), "x = torch.log(y)");
  ASSERT_EQ(first.files_size(), 1);
  EXPECT_EQ(first.files(0).file(), path_);
  EXPECT_EQ(first.files(0).text(), "import torch\n\n  x = torch.log(y)");
  // Nothing is read twice: the program runs what the file contained before.
  Write("changed\n");
  v1::GraphUpdate second = UpdateAt(1);
  text.Fill(&second);
  EXPECT_EQ(LineOf(second), "import torch");
  EXPECT_EQ(second.files_size(), 0);

  text.SendFilesAgain();
  v1::GraphUpdate again = UpdateAt(2);
  text.Fill(&again);
  EXPECT_EQ(LineOf(again), "");
  ASSERT_EQ(again.files_size(), 1);
  EXPECT_EQ(again.files(0).text(), first.files(0).text());
}

TEST_F(SourceTextTest, OnlyLinesAreSentIfSoConfigured) {
  Write("a\nb\n");
  SourceText text(/*whole_files=*/false);
  v1::GraphUpdate update = UpdateAt(2);
  text.Fill(&update);
  EXPECT_EQ(LineOf(update), "b");
  EXPECT_EQ(update.files_size(), 0);
}

TEST_F(SourceTextTest, LibrariesAndLargeFilesAreNotSent) {
  Write(std::string(wire::kMaxSourceFileBytes, '\n') + "c\n");
  SourceText text(/*whole_files=*/true);
  v1::GraphUpdate library = UpdateAt(1, /*user=*/false);
  text.Fill(&library);
  EXPECT_EQ(library.files_size(), 0);
  v1::GraphUpdate large = UpdateAt(wire::kMaxSourceFileBytes + 1);
  text.Fill(&large);
  EXPECT_EQ(LineOf(large), "c");
  EXPECT_EQ(large.files_size(), 0);
}

TEST_F(SourceTextTest, ALineThatDoesNotExistHasNoText) {
  Write("a\n");
  SourceText text(/*whole_files=*/true);
  v1::GraphUpdate update = UpdateAt(2);
  text.Fill(&update);
  EXPECT_EQ(LineOf(update), "");
}

}  // namespace
}  // namespace graphdbg::agent
