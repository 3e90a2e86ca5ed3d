#include "proto/wire/validate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/wire/limits.h"

namespace graphdbg::wire {
namespace {

absl::Status Invalid(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, " ", what));
}

absl::Status AtMost(absl::string_view field, uint64_t value, uint64_t limit) {
  if (value <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(field, " of ", value, " exceeds the limit of ", limit));
}

// Returns the first error, or OK if there is none.
template <class... Rest>
absl::Status First(absl::Status status, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return status;
  } else {
    return status.ok() ? First(std::move(rest)...) : status;
  }
}

absl::Status Name(absl::string_view field, const std::string& name) {
  return AtMost(absl::StrCat("length of ", field), name.size(), kMaxNameBytes);
}

absl::Status Required(absl::string_view field, const std::string& name) {
  return name.empty() ? Invalid(field, "is empty") : Name(field, name);
}

absl::Status Text(absl::string_view field, const std::string& text) {
  return AtMost(absl::StrCat("length of ", field), text.size(), kMaxTextBytes);
}

template <class Repeated, class Check>
absl::Status Each(absl::string_view field, const Repeated& items, size_t limit,
                  const Check& check) {
  absl::Status status = AtMost(absl::StrCat("number of ", field),
                               static_cast<uint64_t>(items.size()), limit);
  for (auto it = items.begin(); status.ok() && it != items.end(); ++it) {
    status = check(*it);
  }
  return status;
}

absl::Status NodeId(absl::string_view field, uint32_t id) {
  if (id == 0) return Invalid(field, "is 0");
  return AtMost(field, id, kMaxNodes);
}

absl::Status Check(const v1::Hello& hello) {
  absl::Status world =
      AtMost("hello.world_size", hello.world_size(), kMaxWorldSize);
  if (world.ok() && hello.rank() >= std::max(hello.world_size(), 1u)) {
    world = Invalid("hello.rank",
                    absl::StrCat("is ", hello.rank(), " but the world size is ",
                                 hello.world_size()));
  }
  return First(
      Required("hello.job", hello.job()), world,
      Name("hello.job_name", hello.job_name()),
      Name("hello.framework", hello.framework()),
      Name("hello.framework_version", hello.framework_version()),
      Name("hello.agent_version", hello.agent_version()),
      Name("hello.host", hello.host()), Name("hello.device", hello.device()),
      Required("hello.incarnation", hello.incarnation()),
      Each("hello.capabilities", hello.capabilities(), kMaxCapabilities,
           [](const auto& s) { return Name("hello.capabilities", s); }));
}

absl::Status Check(absl::string_view field, const v1::TensorType& type) {
  if (!v1::DType_IsValid(type.dtype()))
    return Invalid(field, "has an invalid dtype");
  return First(Name(field, type.framework_dtype()),
               Each(field, type.shape(), kMaxDimensions, [&](int64_t size) {
                 return size < 0 ? Invalid(field, "has a negative size")
                                 : absl::OkStatus();
               }));
}

absl::Status Check(const v1::SourceFrame& frame) {
  return First(Name("frame.file", frame.file()),
               Name("frame.function", frame.function()),
               Text("frame.text", frame.text()));
}

absl::Status Check(const v1::Node& node) {
  if (!v1::NodeKind_IsValid(node.kind()) ||
      node.kind() == v1::NODE_KIND_UNSPECIFIED) {
    return Invalid("node.kind", "is invalid");
  }
  if (!v1::NodeCategory_IsValid(node.category())) {
    return Invalid("node.category", "is invalid");
  }
  return First(
      NodeId("node.id", node.id()), Required("node.name", node.name()),
      Name("node.op_type", node.op_type()),
      AtMost("node.forward_node_id", node.forward_node_id(), kMaxNodes),
      Each("node.inputs", node.inputs(), kMaxNodeEdges,
           [](const v1::Input& input) {
             return First(AtMost("input.node_id", input.node_id(), kMaxNodes),
                          AtMost("input.slot", input.slot(), kMaxNodeEdges));
           }),
      Each("node.outputs", node.outputs(), kMaxNodeEdges,
           [](const v1::Output& output) {
             return First(AtMost("output.slot", output.slot(), kMaxNodeEdges),
                          Check("output.type", output.type()));
           }),
      Each("node.stack", node.stack(), kMaxStackFrames,
           [](const v1::SourceFrame& frame) { return Check(frame); }),
      Each("node.attributes", node.attributes(), kMaxNodeEdges,
           [](const auto& entry) {
             return First(Name("attribute", entry.first),
                          Text("attribute", entry.second));
           }));
}

absl::Status Check(const v1::GraphUpdate& graph) {
  const auto seen = [](const v1::SeenNodes& nodes) {
    return AtMost("number of graph.seen.node_ids",
                  static_cast<uint64_t>(nodes.node_ids_size()), kMaxNodes);
  };
  return First(Name("graph.graph", graph.graph()),
               Each("graph.seen", graph.seen(), kMaxNodes, seen),
               Each("graph.nodes", graph.nodes(), kMaxNodes,
                    [](const v1::Node& node) { return Check(node); }),
               Each("graph.files", graph.files(), kMaxSourceFiles,
                    [](const v1::SourceFile& file) {
                      return First(
                          Required("file", file.file()),
                          AtMost("length of file.text", file.text().size(),
                                 kMaxSourceFileBytes));
                    }),
               Each("graph.scope_types", graph.scope_types(), kMaxNodes,
                    [](const auto& entry) {
                      return First(Required("scope", entry.first),
                                   Name("scope type", entry.second));
                    }));
}

absl::Status Check(const v1::StateUpdate& state) {
  if (state.state() != v1::RUN_STATE_RUNNING &&
      state.state() != v1::RUN_STATE_PAUSED) {
    return Invalid("state.state", "is invalid");
  }
  if (!v1::PauseReason_IsValid(state.reason())) {
    return Invalid("state.reason", "is invalid");
  }
  return First(
      AtMost("state.node_id", state.node_id(), kMaxNodes),
      Name("state.device", state.device()),
      AtMost("number of state.watchpoints",
             static_cast<uint64_t>(state.watchpoints_size()), kMaxWatchpoints));
}

absl::Status Check(const v1::HitInput& input) {
  return First(AtMost("hit.inputs.position", input.position(), kMaxNodeEdges),
               Check("hit.inputs.type", input.type()));
}

absl::Status Check(const v1::Hit& hit) {
  if (hit.watchpoint() == 0) return Invalid("hit.watchpoint", "is 0");
  if (!v1::HitOrigin_IsValid(hit.origin())) {
    return Invalid("hit.origin", "is invalid");
  }
  for (const v1::HitInput& input : hit.inputs()) {
    if (absl::Status bad = Check(input); !bad.ok()) return bad;
  }
  return First(
      NodeId("hit.node_id", hit.node_id()),
      AtMost("number of hit.inputs", static_cast<uint64_t>(hit.inputs_size()),
             kMaxHitInputs),
      AtMost("hit.slot", hit.slot(), kMaxNodeEdges),
      AtMost("number of hit.actual", hit.actual().size(), kMaxConditionParams),
      Check(hit.source()), Check("hit.type", hit.type()),
      Text("hit.error", hit.error()));
}

absl::Status Check(const v1::Error& error) {
  return First(Text("error.message", error.message()),
               Name("error.reason", error.reason()));
}

absl::Status Check(const v1::TensorData& tensor, size_t data_bytes) {
  return First(AtMost("length of tensor.data",
                      tensor.data().size() + data_bytes, kMaxChunkBytes),
               Check("tensor.header.type", tensor.header().type()),
               AtMost("number of tensor.header.slice_shape",
                      static_cast<uint64_t>(tensor.header().slice_shape_size()),
                      kMaxDimensions),
               Check(tensor.error()));
}

absl::Status Check(const v1::StatisticsReport& report) {
  return Each(
      "statistics.tensors", report.tensors(), kMaxReportedTensors,
      [](const v1::StatisticsReport::Tensor& tensor) {
        return First(
            NodeId("statistics.tensors.node_id", tensor.node_id()),
            AtMost("statistics.tensors.slot", tensor.slot(), kMaxNodeEdges));
      });
}

absl::Status Check(const v1::ReplicaDigests& replicas) {
  if (replicas.node_ids_size() != replicas.digests_size()) {
    return Invalid("replicas.digests", "must be as many as replicas.node_ids");
  }
  return First(
      Required("replicas.group", replicas.group()),
      AtMost("replicas.group_size", replicas.group_size(), kMaxWorldSize),
      Each("replicas.node_ids", replicas.node_ids(), kMaxReplicas,
           [](uint32_t id) { return NodeId("replicas.node_ids", id); }));
}

absl::Status Digest(absl::string_view field, const std::string& digest) {
  return digest.size() == kDigestBytes
             ? absl::OkStatus()
             : Invalid(field,
                       absl::StrCat("is not of ", kDigestBytes, " bytes"));
}

absl::Status Check(const v1::GraphOffer& offer) {
  const auto nodes = static_cast<size_t>(offer.node_ids_size());
  if (offer.digests().size() != nodes * kDigestBytes) {
    return Invalid("graph_offer.digests",
                   absl::StrCat("must have ", kDigestBytes,
                                " bytes for each of graph_offer.node_ids"));
  }
  return First(
      Each("graph_offer.node_ids", offer.node_ids(), kMaxOfferedNodes,
           [](uint32_t id) { return NodeId("graph_offer.node_ids", id); }),
      Each("graph_offer.files", offer.files(), kMaxSourceFiles,
           [](const v1::SourceFile& file) {
             return First(Required("graph_offer.files.file", file.file()),
                          Digest("graph_offer.files.digest", file.digest()));
           }));
}

absl::Status Check(const v1::NeededGraph& needed) {
  const auto any = [](uint32_t) { return absl::OkStatus(); };
  return First(
      Each("needed_graph.nodes", needed.nodes(), kMaxOfferedNodes, any),
      Each("needed_graph.files", needed.files(), kMaxSourceFiles, any));
}

absl::Status Check(const v1::OpTimes& ops) {
  const int count = ops.node_ids_size();
  if (ops.start_ns_size() != count || ops.duration_ns_size() != count ||
      ops.threads_size() != count) {
    return Invalid("overview.ops", "must have lists of equal length");
  }
  return Each("overview.ops.node_ids", ops.node_ids(), kMaxOverviewOps,
              [](uint32_t id) { return NodeId("overview.ops.node_ids", id); });
}

absl::Status Check(const v1::OverviewStep& overview) {
  return First(
      Check(overview.ops()), Text("overview.mode", overview.mode()),
      Each("overview.tensors", overview.tensors(), kMaxOverviewTensors,
           [](const v1::OverviewTensor& tensor) {
             return First(
                 NodeId("overview.tensors.node_id", tensor.node_id()),
                 AtMost("number of overview.tensors.quantiles",
                        static_cast<uint64_t>(tensor.quantiles_size()), 5));
           }));
}

absl::Status Check(const v1::NonFiniteOrigin& origin) {
  return First(NodeId("non_finite_origin.node_id", origin.node_id()),
               AtMost("non_finite_origin.slot", origin.slot(), kMaxNodeEdges));
}

absl::Status Check(const v1::Finding& finding) {
  return First(Required("finding.condition", finding.condition()),
               NodeId("finding.node_id", finding.node_id()),
               Text("finding.message", finding.message()));
}

absl::Status Check(const v1::Goodbye& goodbye) {
  const v1::ExceptionInfo& exception = goodbye.exception();
  return First(Name("exception.type", exception.type()),
               Text("exception.message", exception.message()),
               Text("exception.traceback", exception.traceback()),
               Name("exception.node", exception.node()),
               Each("goodbye.metrics", goodbye.metrics(), kMaxMetrics,
                    [](const v1::Metric& metric) {
                      return Name("goodbye.metrics.name", metric.name());
                    }));
}

absl::Status Check(const v1::Command& command) {
  using Action = v1::Command::ActionCase;
  switch (command.action_case()) {
    case Action::kStep:
      return command.step().steps() == 0 ? Invalid("command.step.steps", "is 0")
                                         : absl::OkStatus();
    case Action::kContinueTo:
      return Required("command.continue_to.node", command.continue_to().node());
    case Action::kNextNode:
      return First(
          Name("command.next_node.within", command.next_node().within()),
          Name("command.next_node.outside", command.next_node().outside()));
    case Action::kRecheck:
      return AtMost("number of command.recheck.watchpoints",
                    static_cast<uint64_t>(command.recheck().watchpoints_size()),
                    kMaxWatchpoints);
    case Action::ACTION_NOT_SET:
      return Invalid("command.action", "is missing");
    default:
      return absl::OkStatus();
  }
}

absl::Status CheckTexts(const v1::Condition& condition) {
  constexpr char kField[] = "watchpoint.condition.text_params";
  absl::Status status =
      AtMost(absl::StrCat("number of ", kField), condition.text_params().size(),
             kMaxConditionParams);
  for (const auto& [name, text] : condition.text_params()) {
    if (status.ok() && text.size() > kMaxConditionTextBytes) {
      status = Invalid(kField, absl::StrCat("contains a value longer than ",
                                            kMaxConditionTextBytes, " bytes"));
    }
  }
  return status;
}

absl::Status CheckLists(const v1::NodeSelection& selection) {
  const auto name = [](const auto& s) {
    return Required("watchpoint.selection", s);
  };
  const auto any = [](auto) { return absl::OkStatus(); };
  return First(
      Each("selection.nodes", selection.nodes(), kMaxSelectionEntries, name),
      Each("selection.scopes", selection.scopes(), kMaxSelectionEntries, name),
      Each("selection.patterns", selection.patterns(), kMaxSelectionEntries,
           name),
      Each("selection.regexes", selection.regexes(), kMaxSelectionEntries,
           name),
      Each("selection.op_types", selection.op_types(), kMaxSelectionEntries,
           name),
      Each("selection.sources", selection.sources(), kMaxSelectionEntries,
           name),
      Each("selection.dtypes", selection.dtypes(), kMaxSelectionEntries, any),
      Each("selection.ranks", selection.ranks(), kMaxSelectionEntries, any),
      Each("selection.categories", selection.categories(), 16,
           [](int category) {
             return v1::NodeCategory_IsValid(category)
                        ? absl::OkStatus()
                        : Invalid("selection.categories",
                                  "contains an invalid category");
           }));
}

absl::Status Check(const v1::SetWatchpoint& watchpoint) {
  if (watchpoint.id() == 0) return Invalid("watchpoint.id", "is 0");
  if (!v1::PauseMode_IsValid(watchpoint.pause())) {
    return Invalid("watchpoint.pause", "is invalid");
  }
  return First(
      Required("watchpoint.condition.id", watchpoint.condition().id()),
      AtMost("number of watchpoint.condition.params",
             watchpoint.condition().params().size(), kMaxConditionParams),
      CheckTexts(watchpoint.condition()), CheckLists(watchpoint.selection()),
      CheckLists(watchpoint.selection().exclude()));
}

absl::Status Check(const v1::TensorRequest& request) {
  if (!v1::TensorRequest::Version_IsValid(request.version())) {
    return Invalid("tensor_request.version", "is invalid");
  }
  const bool of_tensor =
      !request.has_change() || request.change().has_set_values();
  return First(
      of_tensor ? Required("tensor_request.node", request.node())
                : absl::OkStatus(),
      AtMost("tensor_request.slot", request.slot(), kMaxNodeEdges),
      AtMost("number of tensor_request.slice",
             static_cast<uint64_t>(request.slice_size()), kMaxDimensions),
      Name("tensor_request.slice_text", request.slice_text()),
      Name("tensor_request.bundle.id", request.bundle().id()),
      Text("tensor_request.bundle.hit", request.bundle().hit()),
      Text("tensor_request.experiment.hit", request.experiment().hit()),
      Each("tensor_request.experiment.experiments",
           request.experiment().experiments(), kMaxExperiments,
           [](const auto& id) {
             return Name("tensor_request.experiment.experiments", id);
           }),
      AtMost("number of tensor_request.change.set_values.values",
             static_cast<uint64_t>(request.change().set_values().values_size()),
             kMaxChangedValues),
      Name("tensor_request.change.by", request.change().by()));
}

absl::Status Check(const v1::RecordingStatus& status) {
  return First(Name("recording_status.directory", status.directory()),
               status.time_share() >= 0
                   ? absl::OkStatus()
                   : Invalid("recording_status.time_share", "is not a share"),
               Check(status.error()));
}

absl::Status Check(const v1::SetRecording& order) {
  return First(Name("set_recording.directory", order.directory()),
               Text("set_recording.settings", order.settings()),
               Text("set_recording.boost.settings", order.boost().settings()));
}

}  // namespace

absl::Status Validate(const v1::AgentMessage& message, size_t data_bytes) {
  using Case = v1::AgentMessage::MessageCase;
  switch (message.message_case()) {
    case Case::kHello:
      return Check(message.hello());
    case Case::kGraph:
      return Check(message.graph());
    case Case::kState:
      return Check(message.state());
    case Case::kHit:
      return Check(message.hit());
    case Case::kTensor:
      return Check(message.tensor(), data_bytes);
    case Case::kCommandResult:
      return Check(message.command_result().error());
    case Case::kWatchpointStatus:
      return Check(message.watchpoint_status().error());
    case Case::kLog:
      return Text("log.message", message.log().message());
    case Case::kGoodbye:
      return Check(message.goodbye());
    case Case::kStatistics:
      return Check(message.statistics());
    case Case::kRecordingStatus:
      return Check(message.recording_status());
    case Case::kReplicas:
      return Check(message.replicas());
    case Case::kNonFiniteOrigin:
      return Check(message.non_finite_origin());
    case Case::kOverview:
      return Check(message.overview());
    case Case::kGraphOffer:
      return Check(message.graph_offer());
    case Case::MESSAGE_NOT_SET:
      return Invalid("message", "is missing");
  }
  return Invalid("message", "is unknown");
}

absl::Status Validate(const v1::ServerMessage& message) {
  using Case = v1::ServerMessage::MessageCase;
  switch (message.message_case()) {
    case Case::kWelcome:
      return Each("welcome.capabilities", message.welcome().capabilities(),
                  kMaxCapabilities, [](const auto& s) {
                    return Name("welcome.capabilities", s);
                  });
    case Case::kCommand:
      return Check(message.command());
    case Case::kSetWatchpoint:
      return Check(message.set_watchpoint());
    case Case::kRemoveWatchpoint:
    case Case::kTensorCancel:
    case Case::kHitsRecorded:
      return absl::OkStatus();
    case Case::kTensorRequest:
      return Check(message.tensor_request());
    case Case::kCatchTensor:
      return Required("catch_tensor.node", message.catch_tensor().node());
    case Case::kSetRecording:
      return Check(message.set_recording());
    case Case::kFinding:
      return Check(message.finding());
    case Case::kNeededGraph:
      return Check(message.needed_graph());
    case Case::MESSAGE_NOT_SET:
      return Invalid("message", "is missing");
  }
  return Invalid("message", "is unknown");
}

}  // namespace graphdbg::wire
