#include "proto/wire/frame.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "proto/wire/error.h"

namespace graphdbg::wire {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

constexpr uint32_t Tag(int field) {
  return static_cast<uint32_t>(field) << 3 |
         WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
}

constexpr uint32_t kTensorTag = Tag(v1::AgentMessage::kTensorFieldNumber);
constexpr uint32_t kDataTag = Tag(v1::TensorData::kDataFieldNumber);

grpc::ByteBuffer Serialize(const v1::AgentMessage& message) {
  grpc::ByteBuffer buffer;
  bool own_buffer = false;
  grpc::SerializationTraits<v1::AgentMessage>::Serialize(message, &buffer,
                                                         &own_buffer);
  return buffer;
}

// An AgentMessage up to the bytes of its tensor, which are encoded last.
std::string HeadOf(const v1::TensorData& without_data, size_t data_bytes) {
  const auto size = static_cast<uint32_t>(data_bytes);
  const std::string rest = without_data.SerializeAsString();
  std::string head;
  {
    StringOutputStream bytes(&head);
    CodedOutputStream out(&bytes);
    const size_t tensor_bytes = rest.size() +
                                CodedOutputStream::VarintSize32(kDataTag) +
                                CodedOutputStream::VarintSize32(size) + size;
    out.WriteTag(kTensorTag);
    out.WriteVarint32(static_cast<uint32_t>(tensor_bytes));
    out.WriteString(rest);
    out.WriteTag(kDataTag);
    out.WriteVarint32(size);
  }
  return head;
}

// The position of a tensor's bytes in a buffer.
struct Range {
  size_t begin = 0;
  size_t end = 0;
};

// Reads a TensorData and locates its data. Returns false if the message is
// invalid or not in the form that EncodeFrame() writes, so that protobuf's own
// parser has to decide.
bool ReadTensor(CodedInputStream* in, v1::TensorData* tensor, Range* data) {
  std::string others;
  {
    StringOutputStream bytes(&others);
    CodedOutputStream out(&bytes);
    while (const uint32_t tag = in->ReadTag()) {
      if (tag != kDataTag) {
        if (!WireFormatLite::SkipField(in, tag, &out)) return false;
        continue;
      }
      uint32_t size = 0;
      if (data->end != 0 || !in->ReadVarint32(&size)) return false;
      data->begin = static_cast<size_t>(in->CurrentPosition());
      data->end = data->begin + size;
      if (!in->Skip(static_cast<int>(size))) return false;
    }
  }
  return in->ConsumedEntireMessage() && tensor->ParseFromString(others);
}

// Reads an AgentMessage that contains a tensor, in the same way.
bool ReadTensorMessage(grpc::ByteBuffer* buffer, v1::AgentMessage* message,
                       Range* data) {
  grpc::ProtoBufferReader reader(buffer);
  CodedInputStream in(&reader);
  uint32_t size = 0;
  if (in.ReadTag() != kTensorTag || !in.ReadVarint32(&size)) return false;
  if (in.CurrentPosition() + size != buffer->Length()) return false;
  const auto limit = in.PushLimit(static_cast<int>(size));
  if (!ReadTensor(&in, message->mutable_tensor(), data)) return false;
  in.PopLimit(limit);
  return reader.status().ok();
}

std::vector<grpc::Slice> SliceRange(const grpc::ByteBuffer& buffer,
                                    Range range) {
  std::vector<grpc::Slice> all;
  std::vector<grpc::Slice> cut;
  if (!buffer.Dump(&all).ok()) return cut;
  size_t position = 0;
  for (const grpc::Slice& slice : all) {
    const size_t begin = std::max(position, range.begin);
    const size_t end = std::min(position + slice.size(), range.end);
    if (begin < end) cut.push_back(slice.sub(begin - position, end - position));
    position += slice.size();
  }
  return cut;
}

grpc::Slice SliceOf(std::string bytes) {
  auto* const owned = new std::string(std::move(bytes));
  return grpc::Slice(
      owned->data(), owned->size(),
      [](void* string) { delete static_cast<std::string*>(string); }, owned);
}

}  // namespace

size_t Frame::data_bytes() const {
  size_t bytes = 0;
  for (const grpc::Slice& slice : data_) bytes += slice.size();
  return bytes;
}

grpc::ByteBuffer EncodeFrame(v1::AgentMessage* message) {
  if (message->tensor().data().empty()) return Serialize(*message);
  const std::unique_ptr<std::string> data(
      message->mutable_tensor()->release_data());
  const grpc::Slice slices[] = {
      grpc::Slice(HeadOf(message->tensor(), data->size())),
      SliceOf(std::move(*data))};
  return grpc::ByteBuffer(slices, 2);
}

absl::Status Frame::Decode(grpc::ByteBuffer* buffer) {
  data_.clear();
  arena_.Reset();
  message_ = google::protobuf::Arena::CreateMessage<v1::AgentMessage>(&arena_);
  Range range;
  if (ReadTensorMessage(buffer, message_, &range)) {
    data_ = SliceRange(*buffer, range);
    buffer->Clear();
    return absl::OkStatus();
  }
  message_->Clear();
  const grpc::Status parsed =
      grpc::SerializationTraits<v1::AgentMessage>::Deserialize(buffer,
                                                               message_);
  if (!parsed.ok()) {
    return MakeError(absl::StatusCode::kInvalidArgument, "bad_message",
                     "cannot decode a message");
  }
  if (!message_->tensor().data().empty()) {
    data_.push_back(
        SliceOf(std::move(*message_->mutable_tensor()->mutable_data())));
    message_->mutable_tensor()->clear_data();
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::wire
