#include "server/mindspore/view_desk.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/mindspore/types.h"
#include "server/tensor/shape.h"

namespace graphdbg::mindspore {
namespace {

constexpr char kPrevious[] = "prev";
constexpr size_t kMaxTensorsPerCommand = 500;
// What a tensor of unknown size counts.
constexpr uint64_t kAssumedBytes = uint64_t{1} << 20;

absl::Status NotKept(const std::string& what) {
  return Error(absl::StatusCode::kNotFound, "value_gone", what);
}

bool IsBound(const BookNode& node) {
  return node.kind == model::NodeKind::kParameter ||
         node.kind == model::NodeKind::kInput;
}

// Absent if type or shape are not known.
std::optional<uint64_t> BytesOf(const BookNode& node, uint32_t slot) {
  for (const model::Output& output : node.outputs) {
    if (output.slot != slot) continue;
    return tensor::DenseBytes(output.type.dtype, output.type.shape);
  }
  return std::nullopt;
}

// The name as it is under the client's own key.
std::string LastPart(const std::string& name) {
  return name.substr(name.rfind('/') + 1);
}

}  // namespace

void ViewDesk::Configure(const Profile& profile, bool gpu) {
  profile_ = profile;
  gpu_ = gpu;
}

void ViewDesk::Ask(const jobs::TensorOrder& order) {
  auto request = Plan(order);
  if (!request.ok()) {
    answers_.push_back(AnswerWith(order, request.status()));
    return;
  }
  uint32_t slot = order.query.slot;
  const BookNode& node = book_.OwnerOf(*book_.ByName(order.query.node), slot);
  if (!AnswerAtOnce(*request, node)) waiting_.push_back(*std::move(request));
}

absl::StatusOr<ViewDesk::Request> ViewDesk::Plan(
    const jobs::TensorOrder& order) const {
  const model::TensorQuery& query = order.query;
  const BookNode* named = book_.ByName(query.node);
  if (named == nullptr) {
    return Error(absl::StatusCode::kNotFound, "unknown_node",
                 absl::StrCat("the job has no node \"", query.node, "\""));
  }
  uint32_t slot = query.slot;
  const BookNode& node = book_.OwnerOf(*named, slot);
  Request request;
  request.order = order;
  request.key.slot = absl::StrCat(slot);
  request.key.node_name = node.wire_name;
  if (node.kind == model::NodeKind::kConstant) {
    request.key.node_name = LastPart(node.wire_name);
  }
  request.key.truncate = node.kind != model::NodeKind::kOp;
  if (auto known = PlanVersion(query, node, request); !known.ok()) return known;
  const auto bytes = BytesOf(node, slot);
  // A client that can is asked for the size first: it may be too large for it.
  request.level = debugger::ViewCMD::base;
  if (!bytes && profile_.view_levels) return request;
  absl::Status planned = PlanLevel(bytes.value_or(0), request);
  if (!planned.ok()) return planned;
  return request;
}

absl::Status ViewDesk::PlanVersion(const model::TensorQuery& query,
                                   const BookNode& node,
                                   Request& request) const {
  using Version = model::TensorQuery::Version;
  request.step = step_;
  const bool previous =
      query.version == Version::kPrevious ||
      (query.version == Version::kStep && query.step + 1 == step_);
  if (previous) {
    if (!IsBound(node)) {
      return NotKept(
          absl::StrCat("MindSpore keeps the previous step's values "
                       "of parameters alone, and ",
                       query.node, " is none"));
    }
    request.key.iter = kPrevious;
    request.step = step_ == 0 ? 0 : step_ - 1;
  } else if (query.version == Version::kStep && query.step != step_) {
    return NotKept(absl::StrCat("of step ", query.step,
                                " nothing is kept; the value there is of step ",
                                step_));
  }
  return absl::OkStatus();
}

absl::Status ViewDesk::PlanLevel(uint64_t bytes, Request& request) const {
  request.bytes = bytes;
  const model::TensorQuery& query = request.order.query;
  request.level = debugger::ViewCMD::value;
  if (profile_.view_levels && !query.want_data) {
    if (!query.want_statistics) request.level = debugger::ViewCMD::base;
    if (bytes > kMaxMeasuredBytes)
      request.level = debugger::ViewCMD::statistics;
  }
  if (request.level != debugger::ViewCMD::value || bytes <= kMaxTensorBytes) {
    return absl::OkStatus();
  }
  return Error(
      absl::StatusCode::kResourceExhausted, "slice_too_large",
      absl::StrCat("MindSpore sends tensors whole, and this one holds ", bytes,
                   " bytes; the limit is ", kMaxTensorBytes));
}

bool ViewDesk::AnswerAtOnce(const Request& request, const BookNode& node) {
  if (node.value && request.key.iter.empty()) {
    answers_.push_back(AnswerWith(request.order, *node.value, request.step));
    return true;
  }
  auto kept = kept_.find(request.key);
  if (kept == kept_.end()) return false;
  answers_.push_back(AnswerWith(request.order, *kept->second, request.step));
  return true;
}

void ViewDesk::Cancel(uint64_t request_id) {
  const auto is_it = [&](const Request& request) {
    return request.order.request_id == request_id;
  };
  std::erase_if(waiting_, is_it);
  std::erase_if(under_way_, is_it);
}

std::optional<debugger::ViewCMD> ViewDesk::Next() {
  if (waiting_.empty()) return std::nullopt;
  const Level level = waiting_.front().level;
  debugger::ViewCMD command;
  command.set_level(level);
  uint64_t bytes = 0;
  std::deque<Request> later;
  for (Request& request : waiting_) {
    const bool known =
        std::find(asked_.begin(), asked_.end(), request.key) != asked_.end();
    const uint64_t size = request.bytes == 0 ? kAssumedBytes : request.bytes;
    const bool fits = known || asked_.empty() ||
                      (asked_.size() < kMaxTensorsPerCommand &&
                       (level != debugger::ViewCMD::value ||
                        bytes + size <= kMaxCommandBytes));
    if (request.level != level || !fits) {
      later.push_back(std::move(request));
      continue;
    }
    if (!known) {
      bytes += size;
      asked_.push_back(request.key);
      debugger::TensorProto& tensor = *command.add_tensors();
      tensor.set_node_name(request.key.node_name);
      tensor.set_slot(request.key.slot);
      tensor.set_iter(request.key.iter);
      tensor.set_truncate(request.key.truncate);
    }
    under_way_.push_back(std::move(request));
  }
  waiting_ = std::move(later);
  return command;
}

void ViewDesk::Take(const debugger::TensorProto& piece) {
  const Key key{piece.node_name(), piece.slot(), piece.iter(),
                piece.truncate()};
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) return;
  Incoming& incoming = incoming_[key];
  if (!incoming.begun) {
    incoming.begun = true;
    incoming.value.type = ScalarOf(piece.data_type());
    incoming.value.type.shape.assign(piece.dims().begin(), piece.dims().end());
  }
  std::string& data = incoming.value.data;
  if (data.size() + piece.tensor_content().size() > kMaxTensorBytes) {
    incoming.too_large = true;
    data.clear();
  }
  if (!incoming.too_large) data += piece.tensor_content();
  if (!piece.finished()) return;
  Finish(key, std::move(incoming));
  incoming_.erase(key);
}

void ViewDesk::Finish(const Key& key, Incoming incoming) {
  model::TensorType& type = incoming.value.type;
  if (type.dtype == DType::kUnspecified) {
    return AnswerAll(key, absl::OkStatus());
  }
  // Some clients write a scalar's shape so.
  if (type.shape == std::vector<int64_t>{0} && !incoming.value.data.empty()) {
    type.shape.clear();
  }
  if (ItemSize(type.dtype) == 0) {
    return AnswerAll(
        key, Error(absl::StatusCode::kUnimplemented, "unreadable",
                   absl::StrCat("values of type ", model::DTypeName(type),
                                " cannot be read")));
  }
  if (tensor::DenseBytes(type.dtype, type.shape) !=
      incoming.value.data.size()) {
    return AnswerAll(
        key, Error(absl::StatusCode::kInternal, "bad_answer",
                   absl::StrCat("the client sent ", incoming.value.data.size(),
                                " bytes, which do not fit type and shape")));
  }
  auto value = std::make_shared<const Value>(std::move(incoming.value));
  AnswerAll(key, value);
  Keep(key, std::move(value));
}

template <class Result>
void ViewDesk::AnswerAll(const Key& key, const Result& result) {
  std::erase_if(under_way_, [&](const Request& request) {
    if (!(request.key == key)) return false;
    if constexpr (std::is_same_v<Result, ValuePtr>) {
      answers_.push_back(AnswerWith(request.order, *result, request.step));
    } else if constexpr (std::is_same_v<Result, absl::Status>) {
      // That it is OK and nothing came is how a client says "not there".
      answers_.push_back(
          AnswerWith(request.order, result.ok() ? Gone(request) : result));
    } else {
      answers_.push_back(AnswerWith(request.order, result, request.step));
    }
    return true;
  });
}

void ViewDesk::Take(size_t index, const debugger::TensorBase& base) {
  if (index >= asked_.size()) return;
  const Key& key = asked_[index];
  if (base.data_type() == debugger::DT_UNDEFINED) {
    return AnswerAll(key, absl::OkStatus());
  }
  if (base.data_size() == 0) {
    // Its values would be no answer at all.
    Value empty;
    empty.type = ScalarOf(base.data_type());
    empty.type.shape.assign(base.shape().begin(), base.shape().end());
    return AnswerAll(key, std::make_shared<const Value>(std::move(empty)));
  }
  // Where this was asked for to know the size, the rest follows.
  std::erase_if(under_way_, [&](Request& request) {
    if (!(request.key == key) || !request.wants_more()) return false;
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

void ViewDesk::Take(size_t index, const debugger::TensorSummary& summary) {
  if (index >= asked_.size()) return;
  if (summary.tensor_base().data_type() == debugger::DT_UNDEFINED) {
    return AnswerAll(asked_[index], absl::OkStatus());
  }
  AnswerAll(asked_[index], summary);
}

void ViewDesk::ClientAsks() {
  for (const Request& request : under_way_) {
    uint32_t slot = request.order.query.slot;
    const BookNode& node =
        book_.OwnerOf(*book_.ByName(request.order.query.node), slot);
    // Of a tensor without elements nothing comes at all.
    Value empty;
    for (const model::Output& output : node.outputs) {
      if (output.slot == slot) empty.type = output.type;
    }
    const auto& shape = empty.type.shape;
    const bool is_empty =
        empty.type.dtype != DType::kUnspecified &&
        std::find(shape.begin(), shape.end(), 0) != shape.end();
    answers_.push_back(is_empty ? AnswerWith(request.order, empty, request.step)
                                : AnswerWith(request.order, Gone(request)));
  }
  under_way_.clear();
  asked_.clear();
  incoming_.clear();
}

void ViewDesk::Keep(const Key& key, ValuePtr value) {
  if (kept_bytes_ + value->data.size() > kMaxKeptBytes) {
    kept_.clear();
    kept_bytes_ = 0;
  }
  const uint64_t bytes = value->data.size();
  if (kept_.emplace(key, std::move(value)).second) kept_bytes_ += bytes;
}

void ViewDesk::SetStep(uint64_t step) {
  step_ = step;
  kept_.clear();
  kept_bytes_ = 0;
}

absl::Status ViewDesk::Gone(const Request& request) const {
  const std::string name =
      absl::StrCat(request.order.query.node, ":", request.order.query.slot);
  if (!request.key.iter.empty()) {
    return NotKept(
        absl::StrCat("the job has no value of ", name, " of the step before"));
  }
  return NotKept(absl::StrCat(
      "the job has no value of ", name, " now",
      gpu_ ? "; on a GPU MindSpore keeps those of watched nodes: catch it, or "
             "step, to have it at the next stop"
           : "; it was not executed in this step, or memory is reused "
             "(MS_DEBUGGER_PARTIAL_MEM): catch it, or watch it from the "
             "start"));
}

std::vector<jobs::TensorChunk> ViewDesk::TakeAnswers() {
  return std::exchange(answers_, {});
}

}  // namespace graphdbg::mindspore
