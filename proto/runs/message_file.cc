#include "proto/runs/message_file.h"

#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/runs/crc32c.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runs {
namespace {

struct Frame {
  uint32_t size;
  uint32_t crc;
};

}  // namespace

absl::StatusOr<MessageReader> MessageReader::Open(absl::string_view file,
                                                  MessageKind kind) {
  ASSIGN_OR_RETURN(const MessagesHeader header, DecodeMessagesHeader(file));
  if (header.kind != static_cast<uint32_t>(kind)) {
    return absl::DataLossError(absl::StrCat("messages of kind ", header.kind,
                                            "; expected ",
                                            static_cast<uint32_t>(kind)));
  }
  return MessageReader(file, kMessagesHeaderBytes);
}

std::optional<absl::string_view> MessageReader::Next() {
  const absl::string_view rest = file_.substr(offset_);
  Frame frame;
  if (rest.size() < sizeof(frame)) return std::nullopt;
  std::memcpy(&frame, rest.data(), sizeof(frame));
  if (frame.size == 0 || frame.size > kMaxMessageBytes ||
      frame.size > rest.size() - sizeof(frame)) {
    return std::nullopt;
  }
  const absl::string_view message = rest.substr(sizeof(frame), frame.size);
  if (Crc32c(message.data(), message.size()) != frame.crc) return std::nullopt;
  offset_ += sizeof(frame) + message.size();
  return message;
}

std::string EncodeMessagesHeader(MessageKind kind) {
  MessagesHeader header;
  header.kind = static_cast<uint32_t>(kind);
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header));
}

void AppendMessage(absl::string_view message, std::string* out) {
  const Frame frame = {static_cast<uint32_t>(message.size()),
                       Crc32c(message.data(), message.size())};
  out->append(reinterpret_cast<const char*>(&frame), sizeof(frame));
  out->append(message.data(), message.size());
}

}  // namespace graphdbg::runs
