#include "server/relay/progress.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::relay {
namespace {

// A running state has a handful of small numbers and the name of a device.
constexpr size_t kMaxStateBytes = 256;

}  // namespace

Progress ProgressOf(const grpc::ByteBuffer& message) {
  if (message.Length() > kMaxStateBytes) return {};
  // Shares the bytes; parsing clears it.
  grpc::ByteBuffer copy = message;
  v1::AgentMessage parsed;
  if (!grpc::SerializationTraits<v1::AgentMessage>::Deserialize(&copy, &parsed)
           .ok() ||
      !parsed.has_state()) {
    return {};
  }
  v1::StateUpdate& state = *parsed.mutable_state();
  if (state.state() != v1::RUN_STATE_RUNNING) {
    return {Progress::Kind::kChange, {}};
  }
  state.clear_step();
  state.clear_step_ended();
  // Measured again every few steps.
  state.clear_overhead();
  return {Progress::Kind::kRunning, state.SerializeAsString()};
}

}  // namespace graphdbg::relay
