#include "agent/core/zip_writer.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace graphdbg::agent {
namespace {

TEST(Sha256Test, HasTheDigestsOfTheStandard) {
  Sha256 empty;
  EXPECT_EQ(empty.Finish(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 two_blocks;
  two_blocks.Add("abcdbcdecdefdefgefghfghighijhijkijkljklm");
  two_blocks.Add("klmnlmnomnopnopq");
  EXPECT_EQ(two_blocks.Finish(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  Sha256 million;
  for (int i = 0; i < 1000; ++i) million.Add(std::string(1000, 'a'));
  EXPECT_EQ(million.Finish(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

class ZipWriterTest : public testing::Test {
 protected:
  ZipWriterTest() : path_(testing::TempDir() + "/zip-XXXXXX") {
    file_ = mkstemp(path_.data());
  }
  ~ZipWriterTest() override {
    close(file_);
    unlink(path_.c_str());
  }

  std::string Content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string path_;
  int file_ = -1;
};

TEST_F(ZipWriterTest, WritesStoredMembersWithTheirChecksums) {
  ZipWriter zip(file_);
  EXPECT_EQ(*zip.Add("a.txt", ""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  ASSERT_TRUE(zip.Begin("b/123", 9).ok());
  ASSERT_TRUE(zip.Write("1234").ok());
  ASSERT_TRUE(zip.Write("56789").ok());
  EXPECT_EQ(*zip.End(),
            "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225");
  ASSERT_TRUE(zip.Finish().ok());
  const std::string content = Content();
  // The check value of this CRC, in the header before the member.
  const std::string checksum = "\x26\x39\xf4\xcb";
  const size_t member = content.find("b/123123456789");
  ASSERT_NE(member, std::string::npos);
  EXPECT_EQ(content.substr(member - 16, 4), checksum);
  EXPECT_EQ(content.substr(0, 4), "PK\x03\x04");
  EXPECT_EQ(content.substr(content.size() - 22, 4), "PK\x05\x06");
}

TEST_F(ZipWriterTest, AMemberHasTheAnnouncedSize) {
  ZipWriter zip(file_);
  ASSERT_TRUE(zip.Begin("a", 3).ok());
  ASSERT_TRUE(zip.Write("12").ok());
  EXPECT_FALSE(zip.End().ok());
}

}  // namespace
}  // namespace graphdbg::agent
