#include "server/mindspore/tensor_fetcher.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/mindspore/types.h"
#include "server/tensor/shape.h"

namespace graphdbg::mindspore {
namespace {

constexpr char kPrevious[] = "prev";
constexpr size_t kMaxTensorsPerCommand = 500;
// Assumed for tensors of unknown size.
constexpr uint64_t kAssumedBytes = uint64_t{1} << 20;

absl::Status NotAvailable(const std::string& what) {
  return Error(absl::StatusCode::kNotFound, "value_gone", what);
}

bool IsBound(const NodeEntry& node) {
  return node.kind == model::NodeKind::kParameter ||
         node.kind == model::NodeKind::kInput;
}

// Absent if the type or the shape is unknown.
std::optional<uint64_t> BytesOf(const NodeEntry& node, uint32_t slot) {
  for (const model::Output& output : node.outputs) {
    if (output.slot != slot) continue;
    return tensor::DenseBytes(output.type.dtype, output.type.shape);
  }
  return std::nullopt;
}

// Clients know constants by the last part of their names.
std::string LastPart(const std::string& name) {
  return name.substr(name.rfind('/') + 1);
}

}  // namespace

void TensorFetcher::Configure(const Profile& profile, bool gpu) {
  profile_ = profile;
  gpu_ = gpu;
}

void TensorFetcher::Submit(const jobs::TensorOrder& order) {
  auto request = Plan(order);
  if (!request.ok()) {
    answers_.push_back(AnswerWith(order, request.status()));
    return;
  }
  uint32_t slot = order.query.slot;
  const NodeEntry& node =
      nodes_.OwnerOf(*nodes_.ByName(order.query.node), slot);
  if (!AnswerLocally(*request, node)) waiting_.push_back(*std::move(request));
}

absl::StatusOr<TensorFetcher::Request> TensorFetcher::Plan(
    const jobs::TensorOrder& order) const {
  const model::TensorQuery& query = order.query;
  const NodeEntry* named = nodes_.ByName(query.node);
  if (named == nullptr) {
    return Error(absl::StatusCode::kNotFound, "unknown_node",
                 absl::StrCat("the job has no node \"", query.node, "\""));
  }
  uint32_t slot = query.slot;
  const NodeEntry& node = nodes_.OwnerOf(*named, slot);
  Request request;
  request.order = order;
  request.key.slot = absl::StrCat(slot);
  request.key.node_name = node.wire_name;
  if (node.kind == model::NodeKind::kConstant) {
    request.key.node_name = LastPart(node.wire_name);
  }
  request.key.truncate = node.kind != model::NodeKind::kOp;
  RETURN_IF_ERROR(PlanVersion(query, node, request));
  const auto bytes = BytesOf(node, slot);
  // If possible, request the size first: the tensor may be too large to fetch.
  request.level = debugger::ViewCMD::base;
  if (!bytes && profile_.view_levels) return request;
  RETURN_IF_ERROR(PlanLevel(bytes.value_or(0), request));
  return request;
}

absl::Status TensorFetcher::PlanVersion(const model::TensorQuery& query,
                                        const NodeEntry& node,
                                        Request& request) const {
  using Version = model::TensorQuery::Version;
  request.step = step_;
  const bool previous =
      query.version == Version::kPrevious ||
      (query.version == Version::kStep && query.step + 1 == step_);
  if (previous) {
    if (!IsBound(node)) {
      return NotAvailable(
          absl::StrCat("MindSpore keeps values of the previous step only for "
                       "parameters, and ",
                       query.node, " is not a parameter"));
    }
    request.key.iter = kPrevious;
    request.step = step_ == 0 ? 0 : step_ - 1;
  } else if (query.version == Version::kStep && query.step != step_) {
    return NotAvailable(
        absl::StrCat("values of step ", query.step,
                     " are no longer available; the current step is ", step_));
  }
  return absl::OkStatus();
}

absl::Status TensorFetcher::PlanLevel(uint64_t bytes, Request& request) const {
  request.bytes = bytes;
  const model::TensorQuery& query = request.order.query;
  request.level = debugger::ViewCMD::value;
  if (profile_.view_levels && !query.want_data) {
    if (!query.want_statistics) request.level = debugger::ViewCMD::base;
    if (bytes > kMaxMeasuredBytes) {
      request.level = debugger::ViewCMD::statistics;
    }
  }
  if (request.level != debugger::ViewCMD::value || bytes <= kMaxTensorBytes) {
    return absl::OkStatus();
  }
  return Error(
      absl::StatusCode::kResourceExhausted, "slice_too_large",
      absl::StrCat("the tensor has ", bytes, " bytes, and MindSpore cannot ",
                   "send parts of it; the limit is ", kMaxTensorBytes));
}

bool TensorFetcher::AnswerLocally(const Request& request,
                                  const NodeEntry& node) {
  if (node.value && request.key.iter.empty()) {
    answers_.push_back(AnswerWith(request.order, *node.value, request.step));
    return true;
  }
  auto cached = cache_.find(request.key);
  if (cached == cache_.end()) return false;
  answers_.push_back(AnswerWith(request.order, *cached->second, request.step));
  return true;
}

void TensorFetcher::Cancel(uint64_t request_id) {
  const auto is_it = [&](const Request& request) {
    return request.order.request_id == request_id;
  };
  std::erase_if(waiting_, is_it);
  std::erase_if(pending_, is_it);
}

std::optional<debugger::ViewCMD> TensorFetcher::Next() {
  if (waiting_.empty()) return std::nullopt;
  const Level level = waiting_.front().level;
  debugger::ViewCMD command;
  command.set_level(level);
  uint64_t bytes = 0;
  std::deque<Request> later;
  for (Request& request : waiting_) {
    const bool known = std::find(requested_.begin(), requested_.end(),
                                 request.key) != requested_.end();
    const uint64_t size = request.bytes == 0 ? kAssumedBytes : request.bytes;
    const bool fits = known || requested_.empty() ||
                      (requested_.size() < kMaxTensorsPerCommand &&
                       (level != debugger::ViewCMD::value ||
                        bytes + size <= kMaxCommandBytes));
    if (request.level != level || !fits) {
      later.push_back(std::move(request));
      continue;
    }
    if (!known) {
      bytes += size;
      requested_.push_back(request.key);
      debugger::TensorProto& tensor = *command.add_tensors();
      tensor.set_node_name(request.key.node_name);
      tensor.set_slot(request.key.slot);
      tensor.set_iter(request.key.iter);
      tensor.set_truncate(request.key.truncate);
    }
    pending_.push_back(std::move(request));
  }
  waiting_ = std::move(later);
  return command;
}

void TensorFetcher::Take(const debugger::TensorProto& piece) {
  const Key key{piece.node_name(), piece.slot(), piece.iter(),
                piece.truncate()};
  if (std::find(requested_.begin(), requested_.end(), key) == requested_.end())
    return;
  Incoming& incoming = incoming_[key];
  if (!incoming.begun) {
    incoming.begun = true;
    if (memory_) incoming.memory = memory_->Count(MemoryAccount::kTensors);
    incoming.value.type = ScalarOf(piece.data_type());
    incoming.value.type.shape.assign(piece.dims().begin(), piece.dims().end());
  }
  if (incoming.refused.ok()) {
    incoming.refused = Append(piece.tensor_content(), incoming);
  }
  if (!incoming.refused.ok()) {
    incoming.value.data = std::string();
    incoming.memory.Set(0);
  }
  if (!piece.finished()) return;
  Finish(key, std::move(incoming));
  incoming_.erase(key);
}

absl::Status TensorFetcher::Append(const std::string& piece,
                                   Incoming& incoming) {
  std::string& data = incoming.value.data;
  const uint64_t bytes = data.size() + piece.size();
  if (bytes > kMaxTensorBytes) {
    return Error(absl::StatusCode::kResourceExhausted, "slice_too_large",
                 absl::StrCat("the tensor has more than ", kMaxTensorBytes,
                              " bytes, which is the limit"));
  }
  RETURN_IF_ERROR(incoming.memory.Resize(bytes));
  data += piece;
  return absl::OkStatus();
}

void TensorFetcher::Finish(const Key& key, Incoming incoming) {
  if (!incoming.refused.ok()) return AnswerAll(key, incoming.refused);
  model::TensorType& type = incoming.value.type;
  if (type.dtype == DType::kUnspecified) {
    return AnswerAll(key, absl::OkStatus());
  }
  // Some clients represent the shape of a scalar as [0].
  if (type.shape == std::vector<int64_t>{0} && !incoming.value.data.empty()) {
    type.shape.clear();
  }
  if (ItemSize(type.dtype) == 0) {
    return AnswerAll(key, Unreadable(type));
  }
  if (tensor::DenseBytes(type.dtype, type.shape) !=
      incoming.value.data.size()) {
    return AnswerAll(
        key, Error(absl::StatusCode::kInternal, "bad_answer",
                   absl::StrCat("the client sent ", incoming.value.data.size(),
                                " bytes, which do not match dtype and shape")));
  }
  // The value counts in the budget for as long as anything refers to it.
  const auto counted = std::make_shared<const Incoming>(std::move(incoming));
  ValuePtr value(counted, &counted->value);
  AnswerAll(key, value);
  Cache(key, std::move(value));
}

template <class Result>
void TensorFetcher::AnswerAll(const Key& key, const Result& result) {
  std::erase_if(pending_, [&](const Request& request) {
    if (!(request.key == key)) return false;
    if constexpr (std::is_same_v<Result, ValuePtr>) {
      answers_.push_back(AnswerWith(request.order, *result, request.step));
    } else if constexpr (std::is_same_v<Result, absl::Status>) {
      // An OK status without a value means that the client does not have it.
      answers_.push_back(
          AnswerWith(request.order, result.ok() ? ValueGone(request) : result));
    } else {
      answers_.push_back(AnswerWith(request.order, result, request.step));
    }
    return true;
  });
}

void TensorFetcher::Take(size_t index, const debugger::TensorBase& base) {
  if (index >= requested_.size()) return;
  const Key& key = requested_[index];
  if (base.data_type() == debugger::DT_UNDEFINED) {
    return AnswerAll(key, absl::OkStatus());
  }
  if (base.data_size() == 0) {
    // A client sends nothing at all if values of an empty tensor are requested.
    Value empty;
    empty.type = ScalarOf(base.data_type());
    empty.type.shape.assign(base.shape().begin(), base.shape().end());
    return AnswerAll(key, std::make_shared<const Value>(std::move(empty)));
  }
  // If only the size was requested so far, request the content.
  std::erase_if(pending_, [&](Request& request) {
    if (!(request.key == key) || !request.needs_content()) return false;
    absl::Status planned =
        PlanLevel(static_cast<uint64_t>(base.data_size()), request);
    if (!planned.ok()) {
      answers_.push_back(AnswerWith(request.order, planned));
    } else {
      waiting_.push_back(std::move(request));
    }
    return true;
  });
  AnswerAll(key, base);
}

void TensorFetcher::Take(size_t index, const debugger::TensorSummary& summary) {
  if (index >= requested_.size()) return;
  if (summary.tensor_base().data_type() == debugger::DT_UNDEFINED) {
    return AnswerAll(requested_[index], absl::OkStatus());
  }
  AnswerAll(requested_[index], summary);
}

void TensorFetcher::OnCommandDone() {
  for (const Request& request : pending_) {
    uint32_t slot = request.order.query.slot;
    const NodeEntry& node =
        nodes_.OwnerOf(*nodes_.ByName(request.order.query.node), slot);
    // Clients send nothing for a tensor without elements.
    Value empty;
    for (const model::Output& output : node.outputs) {
      if (output.slot == slot) empty.type = output.type;
    }
    const auto& shape = empty.type.shape;
    const bool is_empty =
        empty.type.dtype != DType::kUnspecified &&
        std::find(shape.begin(), shape.end(), 0) != shape.end();
    answers_.push_back(is_empty
                           ? AnswerWith(request.order, empty, request.step)
                           : AnswerWith(request.order, ValueGone(request)));
  }
  pending_.clear();
  requested_.clear();
  incoming_.clear();
}

void TensorFetcher::Cache(const Key& key, ValuePtr value) {
  if (cached_bytes_ + value->data.size() > kMaxCachedBytes) {
    cache_.clear();
    cached_bytes_ = 0;
  }
  const uint64_t bytes = value->data.size();
  if (cache_.emplace(key, std::move(value)).second) cached_bytes_ += bytes;
}

void TensorFetcher::SetStep(uint64_t step) {
  step_ = step;
  cache_.clear();
  cached_bytes_ = 0;
}

absl::Status TensorFetcher::ValueGone(const Request& request) const {
  const std::string name =
      absl::StrCat(request.order.query.node, ":", request.order.query.slot);
  if (!request.key.iter.empty()) {
    return NotAvailable(absl::StrCat("the job has no value of ", name,
                                     " from the previous step"));
  }
  return NotAvailable(absl::StrCat(
      "the job has no current value of ", name,
      gpu_ ? "; on a GPU, MindSpore keeps only the values of watched nodes: "
             "catch the tensor, or step, to have it at the next stop"
           : "; the node did not execute in this step, or its memory was "
             "reused (MS_DEBUGGER_PARTIAL_MEM): catch the tensor, or watch it "
             "from the start"));
}

std::vector<jobs::TensorChunk> TensorFetcher::TakeAnswers() {
  return std::exchange(answers_, {});
}

}  // namespace graphdbg::mindspore
