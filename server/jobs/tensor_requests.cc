#include "server/jobs/tensor_requests.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/graph/graph_view.h"
#include "server/jobs/permissions.h"
#include "server/jobs/tensor_catalog.h"
#include "server/model/enum_names.h"

namespace graphdbg::jobs {
namespace {

constexpr size_t kMaxSliceBytes = 1'024;

// Adapters set this attribute on nodes whose values they cannot capture.
constexpr char kNotCaptured[] = "not captured";

absl::Status CheckCaptured(const graph::Node& node) {
  const auto reason = node.attributes.find(kNotCaptured);
  if (reason == node.attributes.end()) return absl::OkStatus();
  return Error(absl::StatusCode::kFailedPrecondition, "not_captured",
               absl::StrCat("values of \"", node.name,
                            "\" are not captured: ", reason->second));
}

absl::Status CheckBundles(const Rank& rank) {
  if (rank.hello.can_capture) return absl::OkStatus();
  return Error(absl::StatusCode::kUnimplemented, "unsupported",
               absl::StrCat("the agent of rank ", rank.hello.rank, " (",
                            rank.hello.framework, ") makes no bundles"));
}

// Whether the rank repeats ops, or can be changed, as the query asks.
absl::Status CheckOrder(const model::TensorQuery& query,
                        const AgentHello& hello) {
  RETURN_IF_ERROR(query.change ? CheckMayChange(hello.allowed)
                               : CheckMayExperiment(hello.allowed));
  if (query.change ? hello.can_change : hello.can_experiment) {
    return absl::OkStatus();
  }
  return Error(
      absl::StatusCode::kUnimplemented, "unsupported",
      absl::StrCat("the agent of rank ", hello.rank, " is too old for that"));
}

}  // namespace

TensorRequests::TensorRequests(const graph::GraphStore& graph,
                               const JobStateMachine& machine,
                               TaskRunner& tasks, Limits limits)
    : graph_(graph), machine_(machine), tasks_(tasks), limits_(limits) {}

void TensorRequests::Request(model::TensorQuery query, Completion complete) {
  const auto rank = Check(query);
  if (!rank.ok()) return complete(rank.status());
  if (query.max_bytes == 0 || query.max_bytes > limits_.max_bytes) {
    query.max_bytes = limits_.max_bytes;
  }
  const uint64_t id = ++last_id_;
  pending_.emplace(
      id, Pending{TensorAnswer(query, query.max_bytes, limits_.memory), 0,
                  std::move(complete), (*rank)->link,
                  tasks_.RunAfter(limits_.deadline,
                                  [this, id] { OnDeadline(id); })});
  (*rank)->link->Send(TensorOrder{id, std::move(query)});
}

absl::StatusOr<const Rank*> TensorRequests::Check(
    const model::TensorQuery& query) const {
  if (!query.change ||
      std::holds_alternative<model::SetValues>(*query.change)) {
    ASSIGN_OR_RETURN(const graph::NodeIndex node,
                     FindTensor(graph_, query.node, query.slot));
    RETURN_IF_ERROR(CheckCaptured(graph_.node(node)));
  }
  if (query.slice.size() > kMaxSliceBytes) {
    return WithField(Error(absl::StatusCode::kInvalidArgument, "bad_slice",
                           absl::StrCat("the slice is longer than ",
                                        kMaxSliceBytes, " bytes")),
                     "slice");
  }
  ASSIGN_OR_RETURN(const Rank* rank, ConnectedRank(query.rank));
  if (query.experiment || query.change) {
    RETURN_IF_ERROR(CheckOrder(query, rank->hello));
  } else if (query.want_data || query.bundle) {
    RETURN_IF_ERROR(CheckMayView(rank->hello.allowed));
  }
  if (query.bundle) RETURN_IF_ERROR(CheckBundles(*rank));
  if (pending_.size() >= kMaxPending) {
    return Error(
        absl::StatusCode::kResourceExhausted, "too_many_requests",
        absl::StrCat(kMaxPending, " tensor requests of this job are pending"));
  }
  return rank;
}

absl::StatusOr<const Rank*> TensorRequests::ConnectedRank(
    uint32_t number) const {
  RETURN_IF_ERROR(machine_.CheckRank(number));
  const Rank* rank = machine_.Find(number);
  if (rank->link) return rank;
  return Error(absl::StatusCode::kUnavailable, "job_gone",
               absl::StrCat("rank ", number, " is ",
                            std::string(model::ToString(rank->run.state)),
                            "; its tensors are no longer available"));
}

absl::Status TensorRequests::Catch(const std::string& node, uint32_t number,
                                   const std::string& capture) {
  const graph::NodeIndex index = graph_.FindNode(node);
  if (index == graph::kNoNode) {
    return WithField(graph::UnknownNode(node), "node");
  }
  RETURN_IF_ERROR(CheckCaptured(graph_.node(index)));
  ASSIGN_OR_RETURN(const Rank* rank, ConnectedRank(number));
  RETURN_IF_ERROR(CheckMayView(rank->hello.allowed));
  if (!capture.empty()) RETURN_IF_ERROR(CheckBundles(*rank));
  rank->link->Send(CatchTensorOrder{node, capture});
  return absl::OkStatus();
}

void TensorRequests::OnChunk(const Rank& rank, const TensorChunk& chunk) {
  const auto it = pending_.find(chunk.request_id);
  if (it == pending_.end() || it->second.answer.rank() != rank.hello.rank) {
    return;
  }
  if (!chunk.error.ok()) return Finish(it, chunk.error);
  if (auto accepted = Accept(it->second, chunk); !accepted.ok()) {
    if (!chunk.last) rank.link->Send(CancelTensorOrder{chunk.request_id});
    return Finish(it, accepted);
  }
  if (!chunk.last) return;
  Finish(it, it->second.answer.Finish());
}

absl::Status TensorRequests::Accept(Pending& pending,
                                    const TensorChunk& chunk) {
  RETURN_IF_ERROR(pending.answer.Check(chunk));
  if (held_bytes_ + chunk.data.size() > limits_.max_total_bytes) {
    return Error(absl::StatusCode::kResourceExhausted, "too_many_requests",
                 absl::StrCat("pending answers hold more than ",
                              limits_.max_total_bytes, " bytes"));
  }
  held_bytes_ += chunk.data.size();
  pending.held_bytes += chunk.data.size();
  return pending.answer.Append(chunk);
}

void TensorRequests::OnDeadline(uint64_t request_id) {
  const auto it = pending_.find(request_id);
  if (it == pending_.end()) return;
  it->second.link->Send(CancelTensorOrder{request_id});
  Finish(it, Error(absl::StatusCode::kDeadlineExceeded, "deadline_exceeded",
                   absl::StrCat("the agent did not send the tensor within ",
                                limits_.deadline.count(), " ms")));
}

void TensorRequests::FailRank(uint32_t rank, const absl::Status& status) {
  for (auto it = pending_.begin(); it != pending_.end();) {
    const auto at = it++;
    if (at->second.answer.rank() == rank) Finish(at, status);
  }
}

void TensorRequests::Finish(std::map<uint64_t, Pending>::iterator it,
                            absl::StatusOr<model::TensorValue> result) {
  held_bytes_ -= it->second.held_bytes;
  const Completion complete = std::move(it->second.complete);
  pending_.erase(it);
  complete(std::move(result));
}

}  // namespace graphdbg::jobs
