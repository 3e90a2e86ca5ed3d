#include "proto/runs/message_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace graphdbg::runs {
namespace {

std::string FileOf(const std::vector<std::string>& messages) {
  std::string file = EncodeMessagesHeader(MessageKind::kHit);
  for (const std::string& message : messages) AppendMessage(message, &file);
  return file;
}

std::vector<std::string> MessagesOf(const std::string& file) {
  auto reader = MessageReader::Open(file, MessageKind::kHit);
  EXPECT_TRUE(reader.ok()) << reader.status();
  std::vector<std::string> messages;
  while (const auto message = reader->Next()) {
    messages.emplace_back(*message);
  }
  return messages;
}

using Messages = std::vector<std::string>;

TEST(MessageFile, HasItsMessages) {
  const Messages messages = {"one", std::string(1000, 'x'), std::string(1, 0)};
  EXPECT_EQ(MessagesOf(FileOf(messages)), messages);
  EXPECT_EQ(MessagesOf(FileOf({})), Messages());
}

TEST(MessageFile, HasTheDocumentedBytes) {
  // The checksum is the check value of the CRC catalogue.
  EXPECT_EQ(FileOf({"123456789"}), std::string("GDBGMSG\x01\x02\0\0\0\0\0\0\0"
                                               "\x09\0\0\0\x83\x92\x06\xe3"
                                               "123456789",
                                               33));
}

TEST(MessageFile, EndsBeforeATornMessage) {
  const std::string whole = FileOf({"one", "two"});
  const size_t first_end = FileOf({"one"}).size();
  for (size_t size = kMessagesHeaderBytes; size < whole.size(); ++size) {
    EXPECT_EQ(MessagesOf(whole.substr(0, size)),
              size < first_end ? Messages() : Messages({"one"}));
  }
}

TEST(MessageFile, EndsBeforeADamagedMessage) {
  const size_t first_end = FileOf({"one"}).size();
  for (size_t at = first_end; at < FileOf({"one", "two"}).size(); ++at) {
    std::string file = FileOf({"one", "two", "three"});
    file[at] ^= 0x20;
    EXPECT_EQ(MessagesOf(file), Messages({"one"})) << at;
  }
}

TEST(MessageFile, EndsBeforeZeros) {
  EXPECT_EQ(MessagesOf(FileOf({"one"}) + std::string(100, '\0')),
            Messages({"one"}));
}

TEST(MessageFile, EndsBeforeASizeBeyondTheLimit) {
  std::string file = FileOf({"one"});
  AppendMessage(std::string(kMaxMessageBytes + 1, 'x'), &file);
  EXPECT_EQ(MessagesOf(file), Messages({"one"}));
}

TEST(MessageFile, SaysWhereItsValidPartEnds) {
  const std::string valid = FileOf({"one", "two"});
  const std::string file = valid + "torn";
  auto reader = MessageReader::Open(file, MessageKind::kHit);
  ASSERT_TRUE(reader.ok());
  while (reader->Next().has_value()) {
  }
  EXPECT_EQ(reader->offset(), valid.size());
}

TEST(MessageFile, OfAnotherKindIsRefused) {
  const auto reader =
      MessageReader::Open(FileOf({}), MessageKind::kGraphUpdate);
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace graphdbg::runs
