// Agents' messages as gRPC carries them: what protobuf would write, except that
// the bytes of a tensor are neither copied into a message nor out of one.
#ifndef PROTO_WIRE_FRAME_H_
#define PROTO_WIRE_FRAME_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::wire {

// Takes the bytes of a tensor out of the message; they live as long as the
// buffer, or whatever gRPC makes of it.
grpc::ByteBuffer EncodeFrame(v1::AgentMessage* message);

struct Frame {
  // Without tensor.data.
  v1::AgentMessage message;
  // Those of tensor.data, in order.
  std::vector<grpc::Slice> data;

  size_t data_bytes() const;
};

// INVALID_ARGUMENT if that is no message. Clears `buffer`.
absl::Status DecodeFrame(grpc::ByteBuffer* buffer, Frame* frame);

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_FRAME_H_
