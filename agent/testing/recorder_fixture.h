// An agent without a server, whose recording is in memory.
#ifndef AGENT_TESTING_RECORDER_FIXTURE_H_
#define AGENT_TESTING_RECORDER_FIXTURE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/agent.h"
#include "agent/core/no_transport.h"
#include "agent/testing/toy_program.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {

// The recorded data, in memory.
struct Recorded {
  struct Value {
    RecordKey key;
    Statistics statistics;
    double grad_scale;
  };
  struct Mark {
    bool begins;
    RecordKey key;
    RecordedMark mark;
  };
  struct Tensor {
    RecordKey key;
    std::string name;
    std::vector<float> values;
    double share;
  };
  std::vector<Value> values;
  std::vector<Tensor> tensors;
  std::vector<Mark> marks;
  std::vector<RecordedChange> changes;
  std::vector<RecordedUnits> units;
  std::vector<v1::Hit> hits;
  std::vector<v1::OverviewStep> op_times;
  std::vector<v1::UserChange> user_changes;
  std::vector<std::string> lines;
  std::vector<std::string> graph;
  struct Begun {
    uint32_t node;
    uint64_t step;
    uint64_t exec_order;
    std::string name;
  };
  std::vector<Begun> begun;
  int ended_ops = 0;
  uint64_t kept_through = 0;
  uint64_t descriptions = 0;
  std::string closed;
  bool full = false;
  uint64_t dropped_by_writer = 0;
};

class FakeRecording final : public Recording {
 public:
  FakeRecording(Recorded* to, RecordingCallbacks callbacks)
      : to_(to), callbacks_(std::move(callbacks)) {}

  bool AppendStatistics(const RecordKey& key, const Statistics& statistics,
                        double grad_scale) override {
    if (to_->full) return Drop();
    to_->values.push_back({key, statistics, grad_scale});
    return true;
  }
  bool AppendChange(const RecordKey&, const RecordedChange& change) override {
    to_->changes.push_back(change);
    return true;
  }
  bool AppendUnits(const RecordKey&, const RecordedUnits& units) override {
    to_->units.push_back(units);
    return true;
  }
  bool AppendBegin(const RecordKey& key, const RecordedMark& mark) override {
    to_->marks.push_back({true, key, mark});
    return true;
  }
  bool AppendEnd(const RecordKey& key, const RecordedMark& mark) override {
    to_->marks.push_back({false, key, mark});
    return true;
  }
  // The values must be float32, and contiguous.
  bool SaveTensor(const RecordKey& key, const TensorToSave& tensor) override {
    if (to_->full) {
      ++tensors_dropped_;
      return false;
    }
    const auto* const first = static_cast<const float*>(tensor.view.data);
    to_->tensors.push_back({key,
                            std::string(tensor.node_name),
                            {first, first + *tensor.view.element_count()},
                            tensor.share});
    tensor_bytes_ += static_cast<uint64_t>(*tensor.view.byte_count());
    return true;
  }
  bool AppendHit(const RecordKey&, const v1::Hit& hit) override {
    to_->hits.push_back(hit);
    return true;
  }
  bool AppendOpTimes(const v1::OverviewStep& times) override {
    to_->op_times.push_back(times);
    return true;
  }
  bool AppendUserChange(const v1::UserChange& change) override {
    to_->user_changes.push_back(change);
    return true;
  }
  void BeginOp(const StartedOp& op) override {
    to_->begun.push_back(
        {op.node, op.step, op.exec_order, std::string(op.name)});
  }
  void EndOp() override { ++to_->ended_ops; }
  bool HasRoom() const override { return !to_->full; }
  bool HasRoomForTensor(uint64_t) override { return !to_->full; }
  uint64_t records_dropped() const override {
    return dropped_ + to_->dropped_by_writer;
  }
  uint64_t tensors_dropped() const override { return tensors_dropped_; }
  uint64_t tensor_bytes() const override { return tensor_bytes_; }
  uint64_t bytes() const override { return 4096; }
  void AddCollectionLine(absl::string_view line) override {
    to_->lines.emplace_back(line);
  }
  void GraphChanged() override {}
  void WriteDescriptions() override { ++to_->descriptions; }
  void KeepThrough(uint64_t step) override { to_->kept_through = step; }
  bool Close(const v1::Goodbye&, absl::string_view reason) override {
    to_->closed = std::string(reason);
    v1::GraphUpdate update;
    while (callbacks_.take_graph_update(&update)) {
      for (const v1::Node& node : update.nodes()) {
        to_->graph.push_back(node.name());
      }
      update.Clear();
    }
    return true;
  }
  void GoInert() override {}
  const std::string& directory() const override { return directory_; }

 private:
  bool Drop() {
    ++dropped_;
    return false;
  }

  Recorded* const to_;
  const RecordingCallbacks callbacks_;
  const std::string directory_ = "/runs/job";
  uint64_t dropped_ = 0;
  uint64_t tensors_dropped_ = 0;
  uint64_t tensor_bytes_ = 0;
};

class RecorderFixture : public testing::Test {
 protected:
  void Open(const std::string& json = "{}") {
    Config config;
    config.enabled = true;
    config.serverless = true;
    config.wait = false;
    const absl::Status read = ReadRecordJson(json, &config.record);
    ASSERT_TRUE(read.ok()) << read;
    config.record.directory = "/runs";
    const graphdbg_host callbacks = host_.host();
    agent_ = std::make_unique<Agent>(
        config, Identity{}, Host(&callbacks), std::make_unique<NoTransport>(),
        nullptr,
        [this](const RecordingOptions&, const v1::Hello&,
               RecordingCallbacks callbacks) {
          return std::make_unique<FakeRecording>(&recorded_,
                                                 std::move(callbacks));
        });
    agent_->Open();
    ASSERT_EQ(agent_->Start(), GRAPHDBG_OK);
  }
  ~RecorderFixture() override {
    if (agent_ != nullptr) agent_->Close(graphdbg_ending{});
  }

  uint32_t Declare(const std::string& name, graphdbg_node_kind kind,
                   graphdbg_category category, uint32_t forward = 0,
                   const char* op_type = nullptr) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = kind;
    info.category = category;
    info.forward_node = forward;
    info.op_type = op_type;
    return *agent_->DeclareNode(info);
  }
  uint32_t Op(const std::string& name,
              graphdbg_category category = GRAPHDBG_ACTIVATION,
              uint32_t forward = 0) {
    return Declare(name, GRAPHDBG_OP, category, forward);
  }

  struct Options {
    std::vector<uint32_t> from;
    uint32_t flags = 0;
    double grad_scale = 1;
    uint32_t micro_step = 1;
    graphdbg_device device = GRAPHDBG_CPU;
  };
  // Reports an execution if the agent is interested. Returns whether it was.
  bool Execute(uint32_t node, const std::vector<float>& values) {
    return Execute(node, values, Options());
  }
  bool Execute(uint32_t node, const std::vector<float>& values,
               const Options& options) {
    if (!agent_->Interest(node)) return false;
    const int64_t shape[] = {static_cast<int64_t>(values.size())};
    graphdbg_tensor output = TensorOf(values, shape);
    output.device = options.device;
    std::vector<graphdbg_input> inputs;
    for (const uint32_t from : options.from) {
      inputs.push_back({from, 0, output});
    }
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node;
    execution.flags = options.flags;
    execution.inputs = inputs.data();
    execution.input_count = inputs.size();
    execution.outputs = &output;
    execution.output_count = 1;
    execution.grad_scale = options.grad_scale;
    execution.micro_step = options.micro_step;
    execution.mode = GRAPHDBG_TRAIN;
    EXPECT_EQ(agent_->Executed(execution), GRAPHDBG_OK);
    return true;
  }
  void EndStep() { EXPECT_EQ(agent_->StepEnd(), GRAPHDBG_OK); }

  // Nodes whose values were recorded in a step, in order of their execution.
  std::vector<uint32_t> NodesOf(uint64_t step) const {
    std::map<uint64_t, uint32_t> nodes;
    for (const auto& value : recorded_.values) {
      if (value.key.step == step) nodes[value.key.exec_order] = value.key.node;
    }
    std::vector<uint32_t> in_order;
    for (const auto& [order, node] : nodes) in_order.push_back(node);
    return in_order;
  }

  ToyHost host_;
  Recorded recorded_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_TESTING_RECORDER_FIXTURE_H_
