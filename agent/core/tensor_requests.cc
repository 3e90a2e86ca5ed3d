#include "agent/core/tensor_requests.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/core/changes.h"
#include "agent/core/execution.h"
#include "agent/core/message_parts.h"
#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/kernels/cpu/quantiles.h"
#include "agent/tensor/slice.h"
#include "proto/wire/error.h"
#include "proto/wire/limits.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

constexpr size_t kMaxPending = 1000;

absl::Status Gone(absl::string_view what) {
  return wire::MakeError(
      absl::StatusCode::kNotFound, "value_gone",
      absl::StrCat(what,
                   "; to see it, run one more step, or have it captured when "
                   "its op runs next"));
}

absl::Status Unreadable() {
  return wire::MakeError(
      absl::StatusCode::kUnimplemented, "unreadable",
      "values of this type or on this device cannot be read");
}

absl::Status NoPrevious(const std::string& name, bool bound) {
  return wire::MakeError(
      absl::StatusCode::kNotFound, "value_gone",
      absl::StrCat(
          "previous-step values of ", name, " weren't recorded: ",
          bound ? "they are recorded while you step through the program, and "
                  "while a watchpoint compares them with the previous step; "
                  "step once to have both values"
                : "outputs are recorded while a watchpoint compares them with "
                  "the previous step"));
}

std::vector<int64_t> ShapeOf(const graphdbg_tensor& tensor) {
  if (tensor.ndim == 0) return {};
  return {tensor.shape, tensor.shape + tensor.ndim};
}

Slice SliceOf(const v1::TensorRequest& request) {
  Slice slice;
  for (const v1::SliceDimension& dim : request.slice()) {
    slice.push_back({dim.start(), dim.count(), dim.step(), dim.drop()});
  }
  return slice;
}

absl::StatusOr<Slice> ResolveSlice(const v1::TensorRequest& request,
                                   const std::vector<int64_t>& shape) {
  if (!request.slice_text().empty() || request.slice_size() == 0) {
    return ParseSlice(request.slice_text(), shape);
  }
  Slice slice = SliceOf(request);
  RETURN_IF_ERROR(CheckSlice(slice, shape));
  return slice;
}

absl::Status CheckSize(const v1::TensorRequest& request, const Slice& slice,
                       size_t item_size) {
  const auto elements = static_cast<uint64_t>(ElementCount(slice));
  const auto too_large = [](const std::string& what) {
    return wire::MakeError(absl::StatusCode::kResourceExhausted,
                           "slice_too_large", what);
  };
  if (request.max_elements() > 0 && elements > request.max_elements()) {
    return too_large(absl::StrCat("the slice holds ", elements,
                                  " elements; the limit is ",
                                  request.max_elements()));
  }
  const uint64_t bytes = elements * item_size;
  if (request.max_bytes() > 0 && bytes > request.max_bytes()) {
    return too_large(absl::StrCat("the slice holds ", bytes,
                                  " bytes; the limit is ",
                                  request.max_bytes()));
  }
  return absl::OkStatus();
}

}  // namespace

// Reads the elements of a slice piece by piece from the memory or device that
// holds them.
class TensorRequests::PieceReader {
 public:
  explicit PieceReader(const Slice& slice)
      : slice_(slice), left_(ElementCount(slice)) {}

  bool is_open() const { return open_; }
  // `device` is null for host memory.
  void Open(runtime::Accelerator* device, const graphdbg_tensor& tensor) {
    open_ = true;
    device_ = device;
    tensor_ = tensor;
    if (device == nullptr) reader_.emplace(ViewOf(tensor), slice_);
  }

  // The address of the tensor when the reader was opened.
  const void* address() const { return tensor_.data; }
  bool done() const { return reader_ ? reader_->done() : left_ == 0; }

  // Appends whole elements. Returns false if the device fails.
  bool Read(int64_t max_bytes, std::string* out) {
    if (done()) return true;
    if (reader_) {
      reader_->Read(max_bytes, out);
      return true;
    }
    const TensorView view = ViewOf(tensor_);
    const auto item_size = static_cast<int64_t>(ItemSize(view.dtype));
    const int64_t count =
        std::min(left_, std::max<int64_t>(max_bytes / item_size, 1));
    const int64_t first = ElementCount(slice_) - left_;
    left_ -= count;
    return device_->Read(view, slice_, first, count, out).ok();
  }

 private:
  const Slice& slice_;
  int64_t left_;
  bool open_ = false;
  runtime::Accelerator* device_ = nullptr;
  graphdbg_tensor tensor_{};
  // For host memory.
  std::optional<SliceReader> reader_;
};

// The source of an answer: a kept tensor, a copy from the previous step, or a
// bound tensor.
struct TensorRequests::Value {
  std::shared_ptr<const KeptTensor> kept;
  // A copy, which does not change whatever the program does.
  std::shared_ptr<const PreviousValue> previous;
  // The host's handle.
  void* bound = nullptr;
  BoundTensor resolved;
  // The pause in which the answer was begun; 0: the program was running.
  uint64_t pause = 0;
  uint64_t step = 0;
  bool overwritten = false;
  // The view when it was last located.
  graphdbg_tensor tensor{};
};

void TensorRequests::Add(v1::TensorRequest request, absl::Status permission) {
  const uint64_t stream = parts_.outbox->stream();
  MutexLock lock(&mu_);
  if (pending_.size() < kMaxPending) {
    pending_.push_back({std::move(request), std::move(permission), stream});
  }
}

void TensorRequests::Cancel(uint64_t request_id) {
  MutexLock lock(&mu_);
  // Ids of requests that were already answered stay until the stream ends.
  if (cancelled_.size() < kMaxPending) cancelled_.insert(request_id);
}

void TensorRequests::DropAll() {
  MutexLock lock(&mu_);
  pending_.clear();
  cancelled_.clear();
}

bool TensorRequests::Cancelled(uint64_t request_id) {
  MutexLock lock(&mu_);
  return cancelled_.count(request_id) > 0;
}

bool TensorRequests::ServeOne() {
  Pending pending;
  {
    MutexLock lock(&mu_);
    if (pending_.empty()) return false;
    pending = std::move(pending_.front());
    pending_.pop_front();
  }
  const uint64_t id = pending.request.request_id();
  const absl::Status status =
      pending.permission.ok() ? Serve(pending) : pending.permission;
  if (!status.ok()) {
    v1::TensorData answer;
    answer.set_request_id(id);
    answer.set_last(true);
    *answer.mutable_error() = wire::ToError(status);
    parts_.outbox->PutTensor(std::move(answer), pending.stream);
  }
  MutexLock lock(&mu_);
  cancelled_.erase(id);
  return true;
}

absl::Status TensorRequests::ServeBundle(const Pending& pending) {
  const v1::TensorRequest& request = pending.request;
  if (parts_.bundles == nullptr) return Unreadable();
  ASSIGN_OR_RETURN(const std::shared_ptr<const BundleFile> file,
                   parts_.bundles->Find(request));
  const std::vector<int64_t> shape = {static_cast<int64_t>(file->bytes())};
  ASSIGN_OR_RETURN(const Slice slice, ResolveSlice(request, shape));
  if (request.want_data()) RETURN_IF_ERROR(CheckSize(request, slice, 1));
  const auto end = static_cast<uint64_t>(slice[0].start + slice[0].count);
  auto next = static_cast<uint64_t>(slice[0].start);
  v1::TensorData piece;
  v1::TensorData::Header& header = *piece.mutable_header();
  header.mutable_type()->set_dtype(v1::DTYPE_UINT8);
  header.mutable_type()->add_shape(shape[0]);
  header.add_slice_shape(slice[0].count);
  header.set_step(request.bundle().step());
  if (!request.want_data()) next = end;
  header.set_total_bytes(end - next);
  for (bool last = false; !last;) {
    piece.set_request_id(request.request_id());
    const uint64_t size = std::min<uint64_t>(end - next, wire::kMaxChunkBytes);
    RETURN_IF_ERROR(file->Read(next, size, piece.mutable_data()));
    next += size;
    last = next == end;
    piece.set_last(last);
    if (!parts_.outbox->PutTensor(std::move(piece), pending.stream) ||
        Cancelled(request.request_id())) {
      break;
    }
    piece = v1::TensorData();
  }
  return absl::OkStatus();
}

void TensorRequests::SendText(const Pending& pending, std::string text) {
  v1::TensorData piece;
  piece.set_request_id(pending.request.request_id());
  v1::TensorData::Header& header = *piece.mutable_header();
  const auto bytes = static_cast<int64_t>(text.size());
  header.mutable_type()->set_dtype(v1::DTYPE_UINT8);
  header.mutable_type()->add_shape(bytes);
  header.add_slice_shape(bytes);
  header.set_step(parts_.gate->step());
  header.set_total_bytes(text.size());
  piece.set_data(std::move(text));
  piece.set_last(true);
  parts_.outbox->PutTensor(std::move(piece), pending.stream);
}

absl::Status TensorRequests::ServeExperiment(const Pending& pending) {
  if (parts_.bundles == nullptr) return Unreadable();
  ASSIGN_OR_RETURN(std::string text,
                   parts_.bundles->Experiment(pending.request));
  if (text.size() > wire::kMaxAnswerBytes) {
    return absl::InternalError("the result of an experiment is too long");
  }
  SendText(pending, std::move(text));
  return absl::OkStatus();
}

absl::StatusOr<std::string> TensorRequests::Change(
    const v1::TensorRequest& request) {
  const auto not_paused = [] {
    return wire::MakeError(absl::StatusCode::kFailedPrecondition, "not_paused",
                           "a job can be changed while it is paused");
  };
  Gate::Hold hold;
  if (!request.change().has_set_values()) {
    hold = parts_.gate->HoldPaused();
    if (!hold.held()) return not_paused();
    return ChangeTraining(*parts_.host, request.change());
  }
  Value value;
  RETURN_IF_ERROR(Find(request, &value));
  RETURN_IF_ERROR(Locate(&value, &hold));
  if (!hold.held()) return not_paused();
  if (value.overwritten) return Gone("the value was overwritten");
  ASSIGN_OR_RETURN(const Slice slice,
                   ResolveSlice(request, ShapeOf(value.tensor)));
  const auto& values = request.change().set_values().values();
  const bool readable =
      parts_.allowed == nullptr || MayRead(*parts_.allowed, request.node());
  ASSIGN_OR_RETURN(
      const std::string text,
      AssignSlice(*parts_.host, readable ? parts_.devices : nullptr,
                  value.tensor, slice, {values.begin(), values.end()}));
  return absl::StrCat(request.node(), ":", request.slot(),
                      request.slice_text().empty() ? "" : " ",
                      request.slice_text(), ": ", text);
}

void TensorRequests::ReportChange(const v1::TensorRequest& request,
                                  const std::string& text) {
  if (parts_.notify) parts_.notify(absl::StrCat("changed by the user: ", text));
  if (!parts_.changed) return;
  v1::UserChange change;
  change.set_step(parts_.gate->step());
  change.set_by(request.change().by());
  change.set_text(text);
  if (request.change().has_set_values()) {
    change.set_node_id(parts_.nodes->Find(request.node()));
    change.set_slot(request.slot());
  }
  parts_.changed(change);
}

absl::Status TensorRequests::ServeChange(const Pending& pending) {
  ASSIGN_OR_RETURN(std::string text, Change(pending.request));
  ReportChange(pending.request, text);
  SendText(pending, std::move(text));
  return absl::OkStatus();
}

absl::Status TensorRequests::Serve(const Pending& pending) {
  if (pending.request.has_bundle()) return ServeBundle(pending);
  if (pending.request.has_experiment()) return ServeExperiment(pending);
  if (pending.request.has_change()) return ServeChange(pending);
  Value value;
  RETURN_IF_ERROR(Find(pending.request, &value));
  v1::TensorData first;
  first.set_request_id(pending.request.request_id());
  Slice slice;
  {
    Gate::Hold hold;
    RETURN_IF_ERROR(Locate(&value, &hold));
    RETURN_IF_ERROR(
        FillHeader(pending.request, &value, &slice, first.mutable_header()));
  }
  if (!pending.request.want_data()) {
    first.mutable_header()->set_total_bytes(0);
    first.set_last(true);
    parts_.outbox->PutTensor(std::move(first), pending.stream);
    return absl::OkStatus();
  }
  return SendData(pending, slice, &value, std::move(first));
}

absl::Status TensorRequests::Find(const v1::TensorRequest& request,
                                  Value* value) {
  const uint32_t node = parts_.nodes->Find(request.node());
  if (node == 0) {
    return wire::MakeError(
        absl::StatusCode::kNotFound, "unknown_node",
        absl::StrCat("this rank has no node \"", request.node(), "\""));
  }
  // The server asks for the statistics of one step when it measures all tensors
  // of the step, which must not be kept for the next stop because of that.
  if (request.want_data() ||
      request.version() != v1::TensorRequest::VERSION_STEP) {
    parts_.requested->Add(node, parts_.gate->needs().pauses);
  }
  if (request.version() == v1::TensorRequest::VERSION_PREVIOUS ||
      (request.version() == v1::TensorRequest::VERSION_STEP &&
       request.step() + 1 == parts_.gate->step())) {
    return FindPrevious(request, node, value);
  }
  value->kept = parts_.kept->Find(node, request.slot());
  if (value->kept == nullptr && request.slot() == 0) {
    value->bound = parts_.bindings->Find(node);
  }
  if (value->kept == nullptr && value->bound == nullptr) {
    return NotKept(request, node);
  }
  return absl::OkStatus();
}

absl::Status TensorRequests::NotKept(const v1::TensorRequest& request,
                                     uint32_t node) const {
  const uint64_t seen = parts_.nodes->Facts(node)->last_step;
  const uint64_t step = parts_.gate->step();
  // A node that is not followed may have executed without the agent's
  // knowledge.
  if (seen == 0) {
    return Gone(
        absl::StrCat(request.node(), " has not been seen to execute yet"));
  }
  if (seen < step) {
    return Gone(absl::StrCat(request.node(),
                             " was not seen to execute in step ", step));
  }
  return Gone(absl::StrCat("the value of ", request.node(), ":", request.slot(),
                           " is no longer available"));
}

absl::Status TensorRequests::FindPrevious(const v1::TensorRequest& request,
                                          uint32_t node, Value* value) {
  const uint64_t step = parts_.gate->step();
  const bool bound = parts_.bindings->Find(node) != nullptr;
  const PreviousValues* values =
      bound ? parts_.previous_bound : parts_.previous_outputs;
  value->previous = values->Before(step, node, request.slot());
  if (value->previous == nullptr || value->previous->step() + 1 != step) {
    return NoPrevious(absl::StrCat(request.node(), ":", request.slot()), bound);
  }
  value->tensor = value->previous->tensor();
  value->step = value->previous->step();
  return absl::OkStatus();
}

absl::Status TensorRequests::Locate(Value* value, Gate::Hold* hold) {
  if (value->previous != nullptr) return absl::OkStatus();
  *hold = parts_.gate->HoldPaused();
  if (value->pause != 0 && hold->pause() != value->pause &&
      value->kept == nullptr) {
    return Gone("the program resumed while the value was being read");
  }
  value->pause = hold->pause();
  if (value->kept != nullptr) {
    const bool overwritten = parts_.kept->Overwritten(*value->kept);
    if (value->tensor.struct_size != 0 && overwritten && !value->overwritten) {
      return Gone("the value was overwritten while it was being read");
    }
    value->overwritten = overwritten;
    value->tensor = value->kept->tensor();
    value->step = value->kept->step();
    return absl::OkStatus();
  }
  if (!hold->held()) return Gone("the program is running");
  if (!ResolveBound(*parts_.host, value->bound, &value->resolved)) {
    return Gone("the tensor no longer exists");
  }
  value->tensor = value->resolved.tensor;
  value->step = parts_.gate->step();
  return absl::OkStatus();
}

absl::Status TensorRequests::FillHeader(const v1::TensorRequest& request,
                                        Value* value, Slice* slice,
                                        v1::TensorData::Header* header) {
  if (request.version() == v1::TensorRequest::VERSION_STEP &&
      request.step() != value->step) {
    return Gone(absl::StrCat("no value of step ", request.step(),
                             " is kept, only that of step ", value->step));
  }
  const TensorView view = ViewOf(value->tensor);
  const size_t item_size = ItemSize(view.dtype);
  const TensorAccess access(parts_.devices, value->tensor, /*running=*/false);
  if (!access.ok() || !view.byte_count() ||
      (item_size == 0 && request.want_data())) {
    return Unreadable();
  }
  const std::vector<int64_t> shape = ShapeOf(value->tensor);
  ASSIGN_OR_RETURN(*slice, ResolveSlice(request, shape));
  if (request.want_data()) {
    RETURN_IF_ERROR(CheckSize(request, *slice, item_size));
  }
  *header->mutable_type() = TypeOf(value->tensor);
  for (int64_t size : graphdbg::ShapeOf(*slice)) header->add_slice_shape(size);
  header->set_total_bytes(static_cast<uint64_t>(ElementCount(*slice)) *
                          item_size);
  header->set_step(value->step);
  header->set_overwritten(value->overwritten);
  const double scale = parts_.nodes->Facts(parts_.nodes->Find(request.node()))
                           ->grad_scale.load();
  if (scale != 1) header->set_grad_scale(scale);
  Statistics statistics;
  const bool measured =
      request.want_statistics() &&
      (access.backend() != nullptr
           ? access.backend()->ComputeStatistics(view, &statistics)
           : cpu::ComputeStatistics(view, &statistics));
  if (measured) {
    Quantiles quantiles;
    if (request.want_quantiles() && statistics.has_finite() &&
        (access.backend() != nullptr
             ? access.backend()->ComputeQuantiles(view, statistics.min,
                                                  statistics.max, &quantiles)
             : cpu::ComputeQuantiles(view, statistics.min, statistics.max,
                                     &quantiles))) {
      quantiles.DivideBy(scale);
      header->mutable_quantiles()->Add(quantiles.values.begin(),
                                       quantiles.values.end());
    }
    statistics.DivideBy(scale);
    *header->mutable_statistics() = ToProto(statistics);
  }
  return absl::OkStatus();
}

absl::Status TensorRequests::ReadPiece(PieceReader* reader, Value* value,
                                       v1::TensorData* piece) {
  Gate::Hold hold;
  RETURN_IF_ERROR(Locate(value, &hold));
  // A bound tensor may have moved since the last piece; the position within the
  // slice remains valid only if it did not.
  if (!reader->is_open()) {
    reader->Open(parts_.devices->DeviceOf(value->tensor), value->tensor);
  } else if (value->tensor.data != reader->address()) {
    return Gone("the tensor was replaced while it was being read");
  }
  if (!reader->Read(wire::kMaxChunkBytes, piece->mutable_data())) {
    return Unreadable();
  }
  if (value->kept != nullptr && !value->overwritten &&
      parts_.kept->Overwritten(*value->kept)) {
    return Gone("the value was overwritten while it was being read");
  }
  return absl::OkStatus();
}

absl::Status TensorRequests::SendData(const Pending& pending,
                                      const Slice& slice, Value* value,
                                      v1::TensorData first) {
  const uint64_t id = pending.request.request_id();
  PieceReader reader(slice);
  v1::TensorData piece = std::move(first);
  for (;;) {
    RETURN_IF_ERROR(ReadPiece(&reader, value, &piece));
    const bool last = reader.done();
    piece.set_last(last);
    if (!parts_.outbox->PutTensor(std::move(piece), pending.stream)) break;
    if (last || Cancelled(id)) break;
    piece = v1::TensorData();
    piece.set_request_id(id);
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::agent
