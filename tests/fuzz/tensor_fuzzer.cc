// Clients request tensors and agents answer, in any order and with any content.
// Each request is completed exactly once, with a value that matches its type
// and shape or with an error, and nothing stays reserved afterwards.
//
// An input is a script of requests, messages of agents and disconnections.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/wire/validate.h"
#include "server/base/memory_budget.h"
#include "server/graph/graph_store.h"
#include "server/ingest/decode.h"
#include "server/jobs/job_state_machine.h"
#include "server/jobs/tensor_requests.h"
#include "server/jobs/testing/fakes.h"
#include "server/tensor/shape.h"
#include "tests/fuzz/script.h"

namespace graphdbg::jobs {
namespace {

constexpr uint64_t kMaxBytes = 4'096;

void Require(bool condition) {
  if (!condition) std::abort();
}

class Conversation {
 public:
  Conversation() {
    graph::GraphPatch patch;
    for (uint32_t id = 1; id <= 3; ++id) {
      graph::NodeRecord& node = patch.nodes.emplace_back();
      node.id = id;
      node.name = std::string("node/") + static_cast<char>('a' + id);
      node.outputs = {{0, {DType::kFloat32, {2, 3}}}};
      if (id == 3) node.attributes["not captured"] = "fused";
    }
    for (uint32_t number = 0; number < 2; ++number) {
      Rank& rank = Connect(number);
      Require(graph_.Apply(patch, rank.ids).ok());
    }
  }

  ~Conversation() {
    for (uint32_t number = 0; number < 2; ++number) {
      requests_.FailRank(number, absl::UnavailableError("gone"));
    }
    Require(requests_.pending() == 0);
    Require(asked_ == completed_);
    Require(memory_->used() == 0);
  }

  void Step(fuzz::Script& script) {
    switch (script.Byte() % 6) {
      case 0:
      case 1:
        return Request(script);
      case 2:
        return Chunk(script);
      case 3:
        return Message(script);
      case 4:
        tasks_.FireTimers();
        return;
      default:
        requests_.FailRank(script.Byte() % 2, absl::UnavailableError("gone"));
    }
  }

 private:
  Rank& Connect(uint32_t number) {
    AgentHello hello;
    hello.rank = number;
    hello.world_size = 2;
    hello.incarnation = std::to_string(number);
    Rank& rank = machine_.OpenStream(std::move(hello),
                                     std::make_shared<FakeAgentLink>(), false);
    machine_.OnConnected(rank);
    return rank;
  }

  void Request(fuzz::Script& script) {
    model::TensorQuery query;
    query.node =
        std::string("node/") + static_cast<char>('a' + script.Byte() % 5);
    query.slot = script.Byte() % 2;
    query.rank = script.Byte() % 3;
    const uint8_t wanted = script.Byte();
    query.want_data = wanted % 4 != 0;
    query.want_statistics = wanted % 2 == 0;
    query.max_bytes = script.Number();
    query.slice = script.Text();
    ++asked_;
    auto done = std::make_shared<bool>(false);
    requests_.Request(query,
                      [this, done](absl::StatusOr<model::TensorValue> value) {
                        Require(!std::exchange(*done, true));
                        ++completed_;
                        Check(value);
                      });
  }

  static void Check(const absl::StatusOr<model::TensorValue>& value) {
    if (!value.ok()) return Require(!value.status().message().empty());
    Require(value->data.size() <= kMaxBytes);
    const auto bytes =
        tensor::DenseBytes(value->type.dtype, value->slice_shape);
    if (bytes && !value->data.empty()) Require(*bytes == value->data.size());
  }

  void Chunk(fuzz::Script& script) {
    TensorChunk chunk;
    chunk.request_id = script.Byte() % 16;
    const uint8_t kind = script.Byte();
    if (kind % 2 == 0) {
      TensorHeader& header = chunk.header.emplace();
      header.type.dtype = static_cast<DType>(script.Byte() % 19);
      header.slice_shape = {static_cast<int64_t>(script.Number())};
      header.total_bytes = script.Number();
    }
    if (kind % 7 == 6) chunk.error = absl::NotFoundError("gone");
    chunk.last = kind % 3 == 0;
    chunk.data = script.Text();
    requests_.OnChunk(*machine_.Find(kind % 2), chunk);
  }

  // A message as it comes from the wire.
  void Message(fuzz::Script& script) {
    v1::AgentMessage message;
    v1::TensorData& tensor = *message.mutable_tensor();
    const uint8_t rank = script.Byte() % 2;
    if (!tensor.ParseFromString(script.Text())) return;
    if (!wire::Validate(message).ok()) return;
    const std::string data = tensor.data();
    tensor.clear_data();
    AgentReport report = ingest::DecodeReport(message, absl::Cord(data));
    if (const auto* chunk = std::get_if<TensorChunk>(&report)) {
      requests_.OnChunk(*machine_.Find(rank), *chunk);
    }
  }

  const std::shared_ptr<MemoryBudget> memory_ =
      std::make_shared<MemoryBudget>(4 * kMaxBytes);
  FakeTaskRunner tasks_;
  graph::GraphStore graph_;
  JobStateMachine machine_{[](const JobStateMachine::Change&) {}};
  TensorRequests requests_{
      graph_,
      machine_,
      tasks_,
      {kMaxBytes, 2 * kMaxBytes, std::chrono::milliseconds(1), memory_}};
  size_t asked_ = 0;
  size_t completed_ = 0;
};

}  // namespace
}  // namespace graphdbg::jobs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphdbg::fuzz::Script script(data, size);
  graphdbg::jobs::Conversation conversation;
  while (!script.done()) conversation.Step(script);
  return 0;
}
