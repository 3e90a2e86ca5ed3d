#include "server/mindspore/client_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace graphdbg::mindspore {
namespace {

namespace fs = std::filesystem;

class ClientFilesTest : public testing::Test {
 protected:
  ClientFilesTest()
      : directory_(
            fs::path(testing::TempDir()) /
            testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(directory_);
  }

  ClientFiles Open(uint64_t client_bytes = 1 << 20,
                   uint64_t total_bytes = 4 << 20) {
    return ClientFiles(
        directory_, [this](std::string_view line) { log_.emplace_back(line); },
        {client_bytes, total_bytes});
  }

  static debugger::GraphProto Graph(size_t bytes) {
    debugger::GraphProto graph;
    graph.set_name(std::string(bytes, 'g'));
    return graph;
  }

  static std::string Client(const std::string& incarnation) {
    SavedClient client;
    client.set_incarnation(incarnation);
    return client.SerializeAsString();
  }

  mode_t ModeOf(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(stat((directory_ / name).c_str(), &info), 0) << name;
    return info.st_mode & 0777;
  }

  const fs::path directory_;
  std::vector<std::string> log_;
};

TEST_F(ClientFilesTest, KeepsStateAndGraphs) {
  {
    ClientFiles files = Open();
    files.AddGraph("a", Graph(10));
    files.AddGraph("a", Graph(20));
    EXPECT_TRUE(files.Save("a", Client("a")));
    EXPECT_TRUE(files.Save("a", Client("a")));
  }
  ClientFiles files = Open();
  ASSERT_EQ(files.Load().size(), 1u);
  EXPECT_EQ(files.Load()[0].incarnation(), "a");
  ASSERT_EQ(files.Graphs("a").size(), 2u);
  EXPECT_EQ(files.Graphs("a")[1].name().size(), 20u);
  EXPECT_GT(files.bytes(), 30u);
  files.Remove("a");
  EXPECT_EQ(files.bytes(), 0u);
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(ClientFilesTest, OnlyTheOwnerCanReadTheFiles) {
  const mode_t before = umask(0);
  ClientFiles files = Open();
  files.AddGraph("a", Graph(10));
  EXPECT_TRUE(files.Save("a", Client("a")));
  umask(before);
  EXPECT_EQ(ModeOf("."), 0700u);
  EXPECT_EQ(ModeOf("a.graphs"), 0600u);
  EXPECT_EQ(ModeOf("a.client"), 0600u);
}

TEST_F(ClientFilesTest, LimitsTheFilesOfOneClient) {
  ClientFiles files = Open(/*client_bytes=*/1'000);
  for (int i = 0; i < 60; ++i) files.AddGraph("a", Graph(100));
  EXPECT_LE(files.bytes(), 1'000u);
  EXPECT_LE(fs::file_size(directory_ / "a.graphs"), 1'000u);
  ASSERT_FALSE(log_.empty());
  EXPECT_NE(log_[0].find("the limit is 1000"), std::string::npos) << log_[0];
  // Graphs that fit remain readable, and others may be stored.
  EXPECT_GE(files.Graphs("a").size(), 8u);
  files.AddGraph("b", Graph(100));
  EXPECT_EQ(files.Graphs("b").size(), 1u);
}

TEST_F(ClientFilesTest, LimitsTheFilesOfAllClients) {
  ClientFiles files = Open(/*client_bytes=*/1'000, /*total_bytes=*/2'000);
  for (int i = 0; i < 60; ++i) {
    files.AddGraph("client " + std::to_string(i), Graph(500));
  }
  EXPECT_LE(files.bytes(), 2'000u);
  EXPECT_TRUE(files.Save("client 0", Client("client 0")));
  // Files that an earlier server stored count, too.
  ClientFiles next = Open(1'000, 2'000);
  EXPECT_GT(next.bytes(), 500u);
  const uint64_t before = next.bytes();
  next.Remove("client 0");
  EXPECT_LT(next.bytes(), before);
}

TEST_F(ClientFilesTest, RemovesGraphsThatNoClientRefersTo) {
  Open().AddGraph("a", Graph(10));
  EXPECT_TRUE(fs::exists(directory_ / "a.graphs"));
  EXPECT_EQ(Open().bytes(), 0u);
  EXPECT_FALSE(fs::exists(directory_ / "a.graphs"));
}

TEST_F(ClientFilesTest, AFailureLeavesTheEarlierFilesReadable) {
  ClientFiles files = Open();
  files.AddGraph("a", Graph(10));
  ASSERT_TRUE(files.Save("a", Client("a")));
  // The directory of a file that cannot be created.
  files.AddGraph("missing/b", Graph(10));
  EXPECT_FALSE(files.Save("missing/b", Client("b")));
  EXPECT_EQ(log_.size(), 2u);
  EXPECT_EQ(files.Graphs("a").size(), 1u);
  EXPECT_EQ(files.Load().size(), 1u);
}

}  // namespace
}  // namespace graphdbg::mindspore
