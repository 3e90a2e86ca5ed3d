// A whole conversation with a MindSpore process, which shows no credential: its
// calls, the orders of its job, lost connections and restarts of the server, in
// any order. Nothing may crash, each tensor request is answered at most once,
// and a restored conversation equals the one that was saved.
//
// An input is a script.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "proto/mindspore/debugger.pb.h"
#include "server/base/memory_budget.h"
#include "server/mindspore/client_protocol.h"
#include "tests/fuzz/script.h"

namespace graphdbg::mindspore {
namespace {

using fuzz::Script;

constexpr size_t kMaxGraphs = 20;
// Scripts could otherwise request arbitrarily long runs.
constexpr uint64_t kMaxSteps = 1'000;

const char* const kNames[] = {"Default/a-op1", "Default/b-op2", "weight",
                              "Default",       "unknown",       ""};

void Require(bool condition) {
  if (!condition) std::abort();
}

std::string Name(Script& script) {
  const size_t index = script.Byte() % 7;
  return index < 6 ? kNames[index] : script.Text();
}

class Conversation {
 public:
  Conversation() { Begin(); }

  void Step(Script& script) {
    switch (script.Byte() % 16) {
      case 0:
        return protocol_->OnMetadata(Metadata(script));
      case 1:
        return SendGraph(script);
      case 2:
        return SendHit(script);
      case 3:
      case 4:
        return protocol_->OnWait(Metadata(script));
      case 5:
        return SendTensor(script);
      case 6:
        return SendTensorBase(script);
      case 7:
        return protocol_->OnDone(Metadata(script));
      case 8:
        protocol_->OnHeartbeat();
        return;
      case 9:
        protocol_->OnDisconnect();
        protocol_->RequestReport();
        return;
      case 10:
        return Restart();
      case 11:
        protocol_->set_attached(script.Byte() % 2 == 0);
        return;
      case 12:
        return Order(script);
      case 13:
        protocol_->OnHitsStored(script.Byte());
        return;
      case 14:
        if (script.Byte() % 8 == 0) protocol_->Release();
        return;
      default:
        protocol_->Next();
    }
  }

  // Checks what the conversation has produced so far.
  void Check() {
    const bool ended = protocol_->terminated();
    for (const jobs::AgentReport& report : protocol_->TakeReports()) {
      if (const auto* chunk = std::get_if<jobs::TensorChunk>(&report)) {
        Require(requested_.erase(chunk->request_id) == 1);
      }
    }
    // The end is final.
    if (std::exchange(was_terminated_, ended)) Require(ended);
  }

 private:
  void Begin() {
    protocol_ = std::make_unique<ClientProtocol>([] { return int64_t{1}; });
    protocol_->tensors().set_memory(memory_);
    was_terminated_ = false;
    // The job fails the requests of a lost rank by itself.
    requested_.clear();
  }

  static debugger::Metadata Metadata(Script& script) {
    debugger::Metadata metadata;
    const uint8_t kind = script.Byte();
    if (kind % 16 == 15) {
      metadata.ParseFromString(script.Text());
      return metadata;
    }
    static const char* const kVersions[] = {"", "1.1.0", "1.2.0", "1.5.0",
                                            "2.2.0"};
    metadata.set_ms_version(kVersions[kind % 5]);
    metadata.set_backend(kind % 2 == 0 ? "GPU" : "Ascend");
    metadata.set_device_name("0:1");
    metadata.set_cur_step(static_cast<int32_t>(script.Number()));
    metadata.set_cur_node(Name(script));
    return metadata;
  }

  void SendGraph(Script& script) {
    if (graphs_.size() >= kMaxGraphs) return;
    debugger::GraphProto graph;
    if (script.Byte() % 2 == 0) {
      if (!graph.ParseFromString(script.Text())) return;
    } else {
      graph.set_name("kernel_graph_0");
      for (int i = 0; i < 2; ++i) {
        debugger::NodeProto& node = *graph.add_node();
        node.set_name(std::to_string(i + 1));
        node.set_full_name(kNames[i]);
        node.set_op_type("ReLU");
        node.mutable_output_type()->set_data_type(debugger::DT_TENSOR);
      }
      graph.add_parameters()->set_name(kNames[2]);
    }
    graphs_.push_back(graph);
    protocol_->OnGraphs({graph});
  }

  void SendHit(Script& script) {
    debugger::WatchpointHit hit;
    if (script.Byte() % 4 == 0) {
      if (!hit.ParseFromString(script.Text())) return;
    } else {
      hit.set_id(script.Byte());
      hit.mutable_tensor()->set_node_name(Name(script));
      hit.mutable_tensor()->set_slot(std::to_string(script.Byte() % 3));
      hit.set_error_code(script.Byte() % 9);
    }
    protocol_->OnHit(std::move(hit));
  }

  void SendTensor(Script& script) {
    debugger::TensorProto tensor;
    if (script.Byte() % 4 == 0) {
      if (!tensor.ParseFromString(script.Text())) return;
    } else {
      tensor.set_node_name(Name(script));
      tensor.set_slot(std::to_string(script.Byte() % 3));
      tensor.set_data_type(static_cast<debugger::DataType>(
          script.Byte() % debugger::DataType_ARRAYSIZE));
      tensor.add_dims(script.Byte() % 5);
      tensor.set_truncate(script.Byte() % 2 == 0);
      tensor.set_tensor_content(script.Text());
      tensor.set_finished(script.Byte() % 2 == 0);
    }
    protocol_->tensors().Take(tensor);
  }

  void SendTensorBase(Script& script) {
    debugger::TensorSummary summary;
    const size_t index = script.Byte() % 4;
    const bool base_only = script.Byte() % 2 == 0;
    if (!summary.ParseFromString(script.Text())) return;
    if (base_only) {
      protocol_->tensors().Take(index, summary.tensor_base());
    } else {
      protocol_->tensors().Take(index, summary);
    }
  }

  void Restart() {
    const SavedProtocol saved = protocol_->Save();
    Begin();
    protocol_->Restore(saved, graphs_);
    const SavedProtocol restored = protocol_->Save();
    const bool same = restored.SerializeAsString() == saved.SerializeAsString();
    if (!same) {
      std::cerr << "saved:\n" << saved.DebugString();
      std::cerr << "restored:\n" << restored.DebugString();
    }
    Require(same);
    if (graphs_.size() % 2 == 0) protocol_->ReportGraphs(graphs_);
  }

  void Order(Script& script) {
    switch (script.Byte() % 7) {
      case 0:
        return protocol_->HandleOrder(
            jobs::WelcomeOrder{"job", static_cast<uint32_t>(script.Byte() % 4),
                               script.Byte() % 2 == 0});
      case 1:
      case 2: {
        jobs::CommandOrder order;
        order.id = ++last_id_;
        order.verb = static_cast<model::ControlVerb>(script.Byte() % 7);
        order.steps = script.Number() % kMaxSteps + 1;
        order.node = Name(script);
        order.pending = script.Byte() % 2 == 0;
        return protocol_->HandleOrder(order);
      }
      case 3: {
        static const char* const kConditions[] = {
            "nan", "inf", "overflow", "tensor_too_large", "weight_not_changed"};
        jobs::SetWatchpointOrder order;
        order.id = script.Byte() % 4 + 1;
        order.revision = ++last_revision_;
        order.spec.condition.id = kConditions[script.Byte() % 5];
        order.spec.condition.params["abs_mean_gt"] = script.Byte();
        order.spec.pause = static_cast<model::PauseMode>(script.Byte() % 3);
        if (script.Byte() % 2 == 0) {
          order.spec.selection.nodes = {Name(script)};
        } else {
          order.spec.selection.patterns = {script.Text()};
        }
        order.spec.enabled = script.Byte() % 4 != 0;
        return protocol_->HandleOrder(order);
      }
      case 4:
        return protocol_->HandleOrder(jobs::RemoveWatchpointOrder{
            static_cast<uint32_t>(script.Byte() % 4 + 1)});
      case 5: {
        jobs::TensorOrder order;
        order.request_id = ++last_id_;
        order.query.node = Name(script);
        order.query.slot = script.Byte() % 3;
        order.query.slice = script.Text();
        const uint8_t wanted = script.Byte();
        order.query.want_data = wanted % 4 != 0;
        order.query.want_statistics = wanted % 2 == 0;
        order.query.version =
            static_cast<model::TensorQuery::Version>(wanted % 3);
        requested_.insert(order.request_id);
        return protocol_->HandleOrder(order);
      }
      default: {
        const uint64_t id = script.Byte();
        protocol_->HandleOrder(jobs::CancelTensorOrder{id});
        protocol_->HandleOrder(jobs::CatchTensorOrder{Name(script)});
      }
    }
  }

  const std::shared_ptr<MemoryBudget> memory_ =
      std::make_shared<MemoryBudget>(1 << 20);
  std::unique_ptr<ClientProtocol> protocol_;
  std::vector<debugger::GraphProto> graphs_;
  // Tensor requests without an answer.
  std::set<uint64_t> requested_;
  uint64_t last_id_ = 0;
  uint32_t last_revision_ = 0;
  bool was_terminated_ = false;
};

}  // namespace
}  // namespace graphdbg::mindspore

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphdbg::fuzz::Script script(data, size);
  graphdbg::mindspore::Conversation conversation;
  while (!script.done()) {
    conversation.Step(script);
    conversation.Check();
  }
  return 0;
}
