#include "server/jobs/step_measurer.h"

#include <algorithm>

#include "server/jobs/agent_port.h"
#include "server/jobs/rank.h"

namespace graphdbg::jobs {
namespace {

// As runs::kFlagOverwritten in records.
constexpr uint32_t kOverwritten = 2;

// Whether the agent's memory can be asked for many tensors. MindSpore's
// debugger sends whole tensors even if only statistics are asked for.
bool CanMeasure(const Rank& rank) {
  return rank.link != nullptr && rank.run.state == model::JobState::kPaused &&
         rank.hello.framework != kUnverifiedFramework;
}

// The tensor has no value in this step, or none that can be read. Any other
// error means that there may be one.
bool HasNoValue(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsUnimplemented(status) ||
         absl::IsFailedPrecondition(status);
}

}  // namespace

StepMeasurer::StepMeasurer(const graph::GraphStore& graph,
                           const JobStateMachine& machine,
                           KnownStatistics& known, TensorRequests& requests,
                           TaskRunner& tasks)
    : graph_(graph),
      machine_(machine),
      known_(known),
      requests_(requests),
      tasks_(tasks) {}

void StepMeasurer::Request(uint32_t number, Completion complete) {
  if (auto status = machine_.CheckRank(number); !status.ok()) {
    return complete(status);
  }
  const Rank& rank = *machine_.Find(number);
  Shared& running = running_[number];
  if (running != nullptr && running->stop == rank.times_resumed) {
    running->waiting.push_back(std::move(complete));
    return;
  }
  const auto measurement = std::make_shared<Measurement>();
  running = measurement;
  measurement->rank = number;
  measurement->step = rank.run.step;
  measurement->stop = rank.times_resumed;
  measurement->waiting.push_back(std::move(complete));
  Collect(*measurement);
  if (!CanMeasure(rank)) {
    measurement->complete = measurement->unknown.empty();
    return Finish(*measurement);
  }
  if (measurement->unknown.size() > kMaxAsked) {
    measurement->complete = false;
    measurement->unknown.resize(kMaxAsked);
  }
  measurement->deadline =
      tasks_.RunAfter(kDeadline, [this, weak = std::weak_ptr(measurement)] {
        const Shared late = weak.lock();
        if (late == nullptr) return;
        late->complete = false;
        Finish(*late);
      });
  AskMore(measurement);
}

void StepMeasurer::Collect(Measurement& measurement) const {
  for (graph::NodeIndex node = 0; node < graph_.node_count(); ++node) {
    for (const model::Output& output : graph_.node(node).outputs) {
      const Tensor tensor{node, output.slot};
      const auto* newest = known_.Find(measurement.rank, node, output.slot);
      if (newest != nullptr && newest->step == measurement.step) {
        measurement.rows.push_back(RowOf(tensor, newest->statistics));
      } else {
        measurement.unknown.push_back(tensor);
      }
    }
  }
}

void StepMeasurer::AskMore(const Shared& measurement) {
  // Requests that are refused at once call back before they return.
  if (measurement->asking) return;
  measurement->asking = true;
  while (!measurement->finished && measurement->in_flight < kMaxInFlight &&
         measurement->asked < measurement->unknown.size()) {
    const Tensor tensor = measurement->unknown[measurement->asked++];
    ++measurement->in_flight;
    model::TensorQuery query;
    query.node = graph_.node(tensor.first).name;
    query.slot = tensor.second;
    query.rank = measurement->rank;
    // Agents do not take a request for the statistics of one step as a wish to
    // see the tensor at the next stop as well, for which they would keep it.
    query.version = model::TensorQuery::Version::kStep;
    query.step = measurement->step;
    query.want_data = false;
    query.want_statistics = true;
    requests_.Request(std::move(query),
                      [this, measurement, tensor](const auto& value) {
                        OnAnswer(*measurement, tensor, value);
                        AskMore(measurement);
                      });
  }
  measurement->asking = false;
  if (measurement->in_flight == 0 &&
      measurement->asked == measurement->unknown.size()) {
    Finish(*measurement);
  }
}

void StepMeasurer::OnAnswer(Measurement& measurement, Tensor tensor,
                            const absl::StatusOr<model::TensorValue>& value) {
  --measurement.in_flight;
  if (!value.ok()) {
    if (!HasNoValue(value.status())) measurement.complete = false;
    return;
  }
  if (!value->statistics || value->step != measurement.step) return;
  graph::StatisticsRow row = RowOf(tensor, *value->statistics);
  row.dtype = static_cast<uint8_t>(value->type.dtype);
  if (value->grad_scale != 0) row.grad_scale = value->grad_scale;
  if (value->overwritten) {
    row.flags = kOverwritten;
  } else {
    // Not journaled: a stop may have many thousands.
    known_.Add(measurement.rank, tensor.first, tensor.second, value->step,
               *value->statistics, KnownStatistics::Source::kUnrecordedReport);
  }
  measurement.rows.push_back(std::move(row));
}

void StepMeasurer::Finish(Measurement& measurement) {
  if (std::exchange(measurement.finished, true)) return;
  measurement.deadline = nullptr;
  if (machine_.Find(measurement.rank)->times_resumed != measurement.stop) {
    measurement.complete = false;
  }
  const auto waiting = std::exchange(measurement.waiting, {});
  const std::string file =
      graph::StatisticsFile(graph_, measurement.step, measurement.rank,
                            measurement.complete, measurement.rows);
  const auto it = running_.find(measurement.rank);
  if (it != running_.end() && it->second.get() == &measurement) {
    running_.erase(it);
  }
  for (const Completion& complete : waiting) complete(file);
}

graph::StatisticsRow StepMeasurer::RowOf(
    Tensor tensor, const model::Statistics& statistics) const {
  const graph::Node& node = graph_.node(tensor.first);
  graph::StatisticsRow row;
  row.node = tensor.first;
  row.slot = tensor.second;
  row.exec_order = static_cast<uint32_t>(node.order);
  row.statistics = statistics;
  for (const model::Output& output : node.outputs) {
    if (output.slot != tensor.second) continue;
    row.dtype = static_cast<uint8_t>(output.type.dtype);
  }
  return row;
}

}  // namespace graphdbg::jobs
