#include "server/ingest/decode.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/wire/capabilities.h"
#include "proto/wire/error.h"
#include "proto/wire/limits.h"
#include "server/graph/node_record.h"
#include "server/model/enum_names.h"
#include "server/model/messages.h"

namespace graphdbg::ingest {
namespace {

using jobs::AgentReport;

model::TensorType TypeOf(const v1::TensorType& type) {
  model::TensorType info{DTypeFromNumber(type.dtype()),
                         {type.shape().begin(), type.shape().end()}};
  if (info.dtype == DType::kOther) {
    info.framework_dtype = type.framework_dtype();
  }
  return info;
}

// The wire and server/model number these enumerations alike.
static_assert(int{v1::NODE_KIND_INPUT} == int(model::NodeKind::kInput));
static_assert(int{v1::NODE_CATEGORY_OPTIMIZER} ==
              int(model::Category::kOptimizer));
static_assert(int{v1::PAUSE_REASON_ERROR} == int(model::PauseReason::kError));
static_assert(int{v1::HIT_ORIGIN_PROPAGATED} ==
              int(model::Origin::kPropagated));

model::NodeKind KindOf(v1::NodeKind kind) {
  if (kind == v1::NODE_KIND_UNSPECIFIED || kind > v1::NODE_KIND_INPUT) {
    return model::NodeKind::kOp;
  }
  return model::FromNumber(kind, model::NodeKind::kOp);
}

AgentReport Decode(v1::GraphOffer& offer) {
  jobs::GraphOffer report;
  report.nodes = {offer.node_ids().begin(), offer.node_ids().end()};
  const std::string_view digests = offer.digests();
  for (size_t at = 0; at < digests.size(); at += wire::kDigestBytes) {
    report.digests.push_back(
        graph::DigestOf(digests.substr(at, wire::kDigestBytes)));
  }
  for (v1::SourceFile& file : *offer.mutable_files()) {
    report.files.push_back(
        {std::move(*file.mutable_file()), graph::DigestOf(file.digest())});
  }
  return report;
}

graph::NodeRecord NodeOf(v1::Node& node) {
  graph::NodeRecord record;
  record.id = node.id();
  record.name = std::move(*node.mutable_name());
  record.kind = KindOf(node.kind());
  record.op_type = std::move(*node.mutable_op_type());
  record.category = model::FromNumber(node.category(), model::Category::kOther);
  for (const v1::Input& input : node.inputs()) {
    record.inputs.push_back({input.node_id(), input.slot(), input.control()});
  }
  for (const v1::Output& output : node.outputs()) {
    record.outputs.push_back({output.slot(), TypeOf(output.type())});
  }
  for (const v1::SourceFrame& frame : node.stack()) {
    record.stack.push_back(model::FromMessage(frame));
  }
  record.attributes.insert(node.attributes().begin(), node.attributes().end());
  record.order = node.order();
  record.first_step = node.first_step();
  record.last_step = node.last_step();
  record.forward_node_id = node.forward_node_id();
  record.digest = graph::DigestOf(node.digest());
  return record;
}

AgentReport Decode(v1::GraphUpdate& update) {
  graph::GraphPatch patch;
  patch.graph = update.graph();
  patch.nodes.reserve(update.nodes_size());
  for (v1::Node& node : *update.mutable_nodes()) {
    patch.nodes.push_back(NodeOf(node));
  }
  patch.scope_types.insert(update.scope_types().begin(),
                           update.scope_types().end());
  for (v1::SourceFile& file : *update.mutable_files()) {
    patch.files.push_back({std::move(*file.mutable_file()),
                           std::move(*file.mutable_text()),
                           graph::DigestOf(file.digest())});
  }
  for (const v1::SeenNodes& seen : update.seen()) {
    std::vector<uint32_t>& ids = patch.seen[seen.step()];
    ids.insert(ids.end(), seen.node_ids().begin(), seen.node_ids().end());
  }
  return patch;
}

model::Exception Decode(const v1::ExceptionInfo& from) {
  return {from.type(), from.message(), from.traceback(), from.node()};
}

AgentReport Decode(const v1::StateUpdate& state) {
  jobs::RunReport report;
  report.paused = state.state() == v1::RUN_STATE_PAUSED;
  report.reason = model::FromNumber(state.reason(), model::PauseReason::kNone);
  report.step = state.step();
  report.node_id = state.node_id();
  report.pauses_after = state.pauses_after();
  report.watchpoints.assign(state.watchpoints().begin(),
                            state.watchpoints().end());
  if (state.has_exception()) report.exception = Decode(state.exception());
  report.resume_if_unattended = state.resume_if_unattended();
  report.device = state.device();
  report.device_id = state.device_id();
  if (state.has_overhead()) report.overhead = state.overhead();
  return report;
}

AgentReport Decode(const v1::Hit& message) {
  jobs::HitReport report;
  report.number = message.number();
  report.node_id = message.node_id();
  model::Hit& hit = report.hit;
  hit.watchpoint = message.watchpoint();
  hit.revision = message.revision();
  hit.step = message.step();
  hit.slot = message.slot();
  hit.order = message.order();
  hit.actual.insert(message.actual().begin(), message.actual().end());
  hit.statistics = model::FromMessage(message.statistics());
  hit.type = TypeOf(message.type());
  for (const v1::HitInput& input : message.inputs()) {
    hit.inputs.push_back({input.position(), TypeOf(input.type()),
                          model::FromMessage(input.statistics())});
  }
  hit.origin = model::FromNumber(message.origin(), model::Origin::kUnknown);
  if (message.has_source()) {
    hit.source = std::make_shared<const model::SourceLine>(
        model::FromMessage(message.source()));
  }
  hit.absorbed = message.absorbed();
  hit.error = message.error();
  hit.message = message.message();
  hit.time_unix_nano = message.time_unix_nano();
  return report;
}

AgentReport Decode(v1::TensorData& tensor, absl::Cord data) {
  jobs::TensorChunk piece;
  piece.request_id = tensor.request_id();
  if (tensor.has_header()) {
    const v1::TensorData::Header& from = tensor.header();
    jobs::TensorHeader& header = piece.header.emplace();
    header.type = TypeOf(from.type());
    header.slice_shape.assign(from.slice_shape().begin(),
                              from.slice_shape().end());
    header.total_bytes = from.total_bytes();
    header.step = from.step();
    header.overwritten = from.overwritten();
    header.grad_scale = from.grad_scale();
    if (from.has_statistics()) {
      header.statistics = model::FromMessage(from.statistics());
    }
    if (Quantiles quantiles;
        static_cast<size_t>(from.quantiles_size()) == quantiles.values.size()) {
      std::copy(from.quantiles().begin(), from.quantiles().end(),
                quantiles.values.begin());
      header.quantiles = quantiles;
    }
  }
  piece.data = std::move(data);
  piece.last = tensor.last();
  if (tensor.has_error()) piece.error = wire::FromError(tensor.error());
  return piece;
}

AgentReport Decode(const v1::CommandResult& result) {
  jobs::CommandOutcome outcome;
  outcome.command_id = result.command_id();
  if (result.has_error()) outcome.error = wire::FromError(result.error());
  return outcome;
}

model::RecordingState DecodeState(v1::RecordingStatus::State state) {
  switch (state) {
    case v1::RecordingStatus::STATE_STARTING:
      return model::RecordingState::kStarting;
    case v1::RecordingStatus::STATE_ON:
      return model::RecordingState::kOn;
    case v1::RecordingStatus::STATE_STOPPING:
      return model::RecordingState::kStopping;
    default:
      return model::RecordingState::kOff;
  }
}

AgentReport Decode(const v1::WatchpointStatus& status) {
  jobs::WatchpointReport report;
  report.id = status.id();
  report.revision = status.revision();
  if (status.has_error()) report.error = wire::FromError(status.error());
  return report;
}

AgentReport Decode(const v1::StatisticsReport& statistics) {
  jobs::StatisticsReport report;
  report.step = statistics.step();
  report.tensors.reserve(static_cast<size_t>(statistics.tensors_size()));
  for (const v1::StatisticsReport::Tensor& tensor : statistics.tensors()) {
    report.tensors.push_back({tensor.node_id(), tensor.slot(),
                              model::FromMessage(tensor.statistics())});
  }
  return report;
}

AgentReport Decode(const v1::ReplicaDigests& replicas) {
  jobs::ReplicaReport report;
  report.step = replicas.step();
  report.group = replicas.group();
  report.group_size = replicas.group_size();
  report.moment = replicas.moment();
  report.replicas.reserve(static_cast<size_t>(replicas.node_ids_size()));
  for (int i = 0; i < replicas.node_ids_size(); ++i) {
    report.replicas.push_back({replicas.node_ids(i), replicas.digests(i)});
  }
  return report;
}

AgentReport Decode(const v1::NonFiniteOrigin& origin) {
  return jobs::OriginReport{origin.step(), origin.node_id(), origin.slot(),
                            origin.order(), origin.received()};
}

jobs::OverviewRole Decode(v1::OverviewRole role) {
  switch (role) {
    case v1::OVERVIEW_ROLE_GRADIENT:
      return jobs::OverviewRole::kGradient;
    case v1::OVERVIEW_ROLE_WEIGHT:
      return jobs::OverviewRole::kWeight;
    case v1::OVERVIEW_ROLE_LOSS:
      return jobs::OverviewRole::kLoss;
    default:
      return jobs::OverviewRole::kActivation;
  }
}

AgentReport Decode(const v1::OverviewStep& overview) {
  jobs::OverviewReport report;
  report.step = {overview.step(),         overview.mode(),
                 overview.unix_ns(),      overview.duration_ns(),
                 overview.measuring_ns(), std::nullopt};
  report.tensors.reserve(static_cast<size_t>(overview.tensors_size()));
  for (const v1::OverviewTensor& from : overview.tensors()) {
    jobs::OverviewReport::Tensor& to = report.tensors.emplace_back();
    to.node_id = from.node_id();
    to.tensor = {Decode(from.role()),
                 from.count(),
                 from.measured(),
                 from.nan_count(),
                 from.inf_count(),
                 from.zero_count(),
                 from.mean(),
                 from.abs_mean(),
                 from.min(),
                 from.max(),
                 from.deviation(),
                 from.l2(),
                 std::nullopt,
                 {from.quantiles().begin(), from.quantiles().end()}};
    if (from.has_change()) to.tensor.change = from.change();
  }
  const v1::OpTimes& ops = overview.ops();
  report.ops.reserve(static_cast<size_t>(ops.node_ids_size()));
  for (int i = 0; i < ops.node_ids_size(); ++i) {
    report.ops.push_back(
        {ops.node_ids(i), ops.threads(i), ops.start_ns(i), ops.duration_ns(i)});
  }
  report.ops_left_out = ops.left_out();
  return report;
}

AgentReport Decode(const v1::RecordingStatus& status) {
  jobs::RecordingReport report;
  report.order = status.id();
  model::RankRecording& recording = report.recording;
  recording.state = DecodeState(status.state());
  recording.directory = status.directory();
  recording.keeps_all = status.keeps_all();
  recording.steps = status.steps();
  recording.records = status.records();
  recording.dropped = status.records_dropped();
  recording.bytes = status.bytes();
  recording.time_share = status.time_share();
  if (status.has_error()) report.error = wire::FromError(status.error());
  return report;
}

AgentReport Decode(const v1::Log& log) {
  jobs::LogReport report;
  report.level = log.level() == v1::Log::LEVEL_ERROR     ? "error"
                 : log.level() == v1::Log::LEVEL_WARNING ? "warning"
                                                         : "info";
  report.message = log.message();
  report.dropped_hits = log.dropped_hits();
  return report;
}

AgentReport Decode(const v1::Goodbye& goodbye) {
  jobs::ExitReport farewell;
  farewell.exit_code = goodbye.exit_code();
  if (goodbye.has_exception()) {
    farewell.exception = Decode(goodbye.exception());
  }
  farewell.steps = goodbye.steps();
  farewell.terminated = goodbye.terminated();
  for (const v1::Metric& metric : goodbye.metrics()) {
    farewell.metrics[metric.name()] = metric.value();
  }
  return farewell;
}

}  // namespace

jobs::AgentHello DecodeHello(const v1::Hello& hello, std::string peer) {
  jobs::AgentHello out;
  out.job = hello.job();
  out.job_name = hello.job_name();
  out.rank = hello.rank();
  out.world_size = std::max(hello.world_size(), 1u);
  out.framework = hello.framework();
  out.framework_version = hello.framework_version();
  out.host = hello.host();
  out.pid = hello.pid();
  out.peer = std::move(peer);
  out.device = hello.device();
  out.device_id = hello.device_id();
  out.incarnation = hello.incarnation();
  const std::vector<std::string> theirs(hello.capabilities().begin(),
                                        hello.capabilities().end());
  out.can_record = wire::Has(theirs, wire::kRecording1);
  out.can_boost = wire::Has(theirs, wire::kRecording2);
  out.can_capture = wire::Has(theirs, wire::kBundles1);
  out.can_experiment = wire::Has(theirs, wire::kExperiments1);
  out.can_change = wire::Has(theirs, wire::kChanges1);
  out.passes_over = wire::Has(theirs, wire::kPassesOver);
  out.counts_hits = wire::Has(theirs, wire::kCountedHits);
  out.selects = wire::Has(theirs, wire::kSelection);
  out.offers_graph = wire::Has(theirs, wire::kGraphOffer);
  if (hello.has_allowed()) {
    const v1::Allowed& allowed = hello.allowed();
    out.allowed = {allowed.view(), allowed.control(), allowed.terminate(),
                   allowed.change()};
  }
  return out;
}

jobs::AgentReport DecodeReport(v1::AgentMessage& message, absl::Cord data) {
  using Case = v1::AgentMessage::MessageCase;
  switch (message.message_case()) {
    case Case::kGraph:
      return Decode(*message.mutable_graph());
    case Case::kGraphOffer:
      return Decode(*message.mutable_graph_offer());
    case Case::kState:
      return Decode(message.state());
    case Case::kHit:
      return Decode(message.hit());
    case Case::kTensor:
      return Decode(*message.mutable_tensor(), std::move(data));
    case Case::kCommandResult:
      return Decode(message.command_result());
    case Case::kWatchpointStatus:
      return Decode(message.watchpoint_status());
    case Case::kStatistics:
      return Decode(message.statistics());
    case Case::kRecordingStatus:
      return Decode(message.recording_status());
    case Case::kReplicas:
      return Decode(message.replicas());
    case Case::kNonFiniteOrigin:
      return Decode(message.non_finite_origin());
    case Case::kOverview:
      return Decode(message.overview());
    case Case::kLog:
      return Decode(message.log());
    default:
      return Decode(message.goodbye());
  }
}

}  // namespace graphdbg::ingest
