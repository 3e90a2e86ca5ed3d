// Agents' messages as gRPC carries them: what protobuf would write, except that
// the bytes of a tensor are neither copied into a message nor out of one.
#ifndef PROTO_WIRE_FRAME_H_
#define PROTO_WIRE_FRAME_H_

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::wire {

// Takes the bytes of a tensor out of the message; they live as long as the
// buffer, or whatever gRPC makes of it.
grpc::ByteBuffer EncodeFrame(v1::AgentMessage* message);

// What was read last.
class Frame {
 public:
  // INVALID_ARGUMENT if that is no message. Clears `buffer`.
  absl::Status Decode(grpc::ByteBuffer* buffer);

  // Without tensor.data. Both are valid until the next call of Decode.
  v1::AgentMessage& message() { return *message_; }
  // The bytes of tensor.data, in order.
  const std::vector<grpc::Slice>& data() const { return data_; }
  size_t data_bytes() const;

 private:
  // A graph's many small messages are freed at once.
  google::protobuf::Arena arena_;
  v1::AgentMessage* message_ =
      google::protobuf::Arena::CreateMessage<v1::AgentMessage>(&arena_);
  std::vector<grpc::Slice> data_;
};

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_FRAME_H_
