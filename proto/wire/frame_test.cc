#include "proto/wire/frame.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphdbg::wire {
namespace {

v1::AgentMessage TensorMessage(const std::string& data) {
  v1::AgentMessage message;
  v1::TensorData* const tensor = message.mutable_tensor();
  tensor->set_request_id(7);
  tensor->mutable_header()->set_total_bytes(data.size());
  tensor->mutable_header()->add_slice_shape(3);
  tensor->set_data(data);
  tensor->set_last(true);
  return message;
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// A buffer of slices of `slice_bytes` each.
grpc::ByteBuffer BufferOf(const std::string& bytes, size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += slice_bytes) {
    slices.emplace_back(bytes.substr(at, slice_bytes));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string DataOf(const Frame& frame) {
  std::string data;
  for (const grpc::Slice& slice : frame.data()) {
    data.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  EXPECT_EQ(data.size(), frame.data_bytes());
  return data;
}

TEST(FrameTest, EncodesWhatProtobufDecodes) {
  for (size_t size : {size_t{1}, size_t{200}, size_t{1} << 20}) {
    const v1::AgentMessage whole = TensorMessage(std::string(size, 'x'));
    v1::AgentMessage message = whole;
    const std::string bytes = BytesOf(EncodeFrame(&message));
    v1::AgentMessage read;
    ASSERT_TRUE(read.ParseFromString(bytes));
    EXPECT_EQ(read.SerializeAsString(), whole.SerializeAsString());
  }
}

TEST(FrameTest, DecodesProtobufRegardlessOfSliceBoundaries) {
  const std::string data(1000, 'y');
  const std::string bytes = TensorMessage(data).SerializeAsString();
  for (size_t slice_bytes : {1, 2, 3, 7, 100, 999, 100000}) {
    grpc::ByteBuffer buffer = BufferOf(bytes, slice_bytes);
    Frame frame;
    ASSERT_TRUE(frame.Decode(&buffer).ok());
    EXPECT_EQ(DataOf(frame), data);
    EXPECT_TRUE(frame.message().tensor().data().empty());
    v1::AgentMessage rest = TensorMessage(data);
    rest.mutable_tensor()->clear_data();
    EXPECT_EQ(frame.message().SerializeAsString(), rest.SerializeAsString());
  }
}

TEST(FrameTest, OtherMessagesAreUnaffected) {
  v1::AgentMessage message;
  message.mutable_hit()->set_number(5);
  grpc::ByteBuffer buffer = EncodeFrame(&message);
  Frame frame;
  ASSERT_TRUE(frame.Decode(&buffer).ok());
  EXPECT_EQ(frame.message().hit().number(), 5u);
  EXPECT_TRUE(frame.data().empty());
  v1::AgentMessage without_data;
  without_data.mutable_tensor()->set_request_id(9);
  buffer = EncodeFrame(&without_data);
  ASSERT_TRUE(frame.Decode(&buffer).ok());
  EXPECT_EQ(frame.message().tensor().request_id(), 9u);
  EXPECT_TRUE(frame.data().empty());
}

TEST(FrameTest, RepeatedFieldsAreMergedAsInProtobuf) {
  const std::string bytes = TensorMessage("first").SerializeAsString() +
                            TensorMessage("second").SerializeAsString();
  grpc::ByteBuffer buffer = BufferOf(bytes, 4);
  Frame frame;
  ASSERT_TRUE(frame.Decode(&buffer).ok());
  EXPECT_EQ(DataOf(frame), "second");
  // A later member of the oneof replaces the tensor.
  v1::AgentMessage hit;
  hit.mutable_hit()->set_number(1);
  buffer = BufferOf(
      TensorMessage("gone").SerializeAsString() + hit.SerializeAsString(), 4);
  ASSERT_TRUE(frame.Decode(&buffer).ok());
  EXPECT_TRUE(frame.message().has_hit());
  EXPECT_TRUE(frame.data().empty());
}

TEST(FrameTest, TruncatedMessagesAreRejected) {
  const std::string bytes =
      TensorMessage(std::string(300, 'z')).SerializeAsString();
  for (size_t size = 1; size < bytes.size(); ++size) {
    grpc::ByteBuffer buffer = BufferOf(bytes.substr(0, size), 50);
    Frame frame;
    EXPECT_FALSE(frame.Decode(&buffer).ok()) << size;
  }
}

}  // namespace
}  // namespace graphdbg::wire
