// Agent messages as gRPC buffers. The encoding is that of protobuf, but the
// bytes of a tensor are copied neither into nor out of a message.
#ifndef PROTO_WIRE_FRAME_H_
#define PROTO_WIRE_FRAME_H_

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::wire {

// Encodes the message. Moves tensor.data out of it: the returned buffer owns
// the bytes.
grpc::ByteBuffer EncodeFrame(v1::AgentMessage* message);

// Decodes messages one at a time and holds the latest.
class Frame {
 public:
  // Returns INVALID_ARGUMENT if the buffer is not a valid message. Clears
  // `buffer`.
  absl::Status Decode(grpc::ByteBuffer* buffer);

  // The message without tensor.data. Like data(), valid until the next call of
  // Decode().
  v1::AgentMessage& message() { return *message_; }
  // The bytes of tensor.data, in order.
  const std::vector<grpc::Slice>& data() const { return data_; }
  size_t data_bytes() const;

 private:
  // Frees the many small messages of a graph at once.
  google::protobuf::Arena arena_;
  v1::AgentMessage* message_ =
      google::protobuf::Arena::CreateMessage<v1::AgentMessage>(&arena_);
  std::vector<grpc::Slice> data_;
};

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_FRAME_H_
