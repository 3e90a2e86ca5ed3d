#include "agent/core/tensor_requests.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/core/checker.h"
#include "agent/core/execution.h"
#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/tensor/slice.h"
#include "proto/wire/error.h"
#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

constexpr size_t kMaxOrders = 1000;

absl::Status Gone(absl::string_view what) {
  return wire::MakeError(
      absl::StatusCode::kNotFound, "value_gone",
      absl::StrCat(
          what,
          "; catch it, or pause inside or at the end of the next step, "
          "to have it there"));
}

absl::Status Unreadable() {
  return wire::MakeError(
      absl::StatusCode::kUnimplemented, "unreadable",
      "values of this type or on this device cannot be read yet");
}

// Of a value of the step before.
absl::Status NoPrevious(const std::string& name, bool bound) {
  return wire::MakeError(
      absl::StatusCode::kNotFound, "value_gone",
      absl::StrCat(
          "the value of ", name, " in the previous step was not kept: ",
          bound ? "it is kept while the program is stepped, and while a "
                  "watchpoint on it compares with it; step once to "
                  "have both values"
                : "outputs of the previous step are kept while a "
                  "watchpoint on them compares with it"));
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
  if (absl::Status status = CheckSlice(slice, shape); !status.ok()) {
    return status;
  }
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

// The elements of a slice, a piece at a time, from where they lie.
class TensorRequests::PieceReader {
 public:
  // `device` is null for host memory.
  PieceReader(runtime::Accelerator* device, const graphdbg_tensor& tensor,
              const Slice& slice)
      : device_(device),
        tensor_(tensor),
        slice_(slice),
        left_(ElementCount(slice)) {
    if (device == nullptr) reader_.emplace(ViewOf(tensor), slice);
  }

  bool done() const { return reader_ ? reader_->done() : left_ == 0; }
  // Appends whole elements; false if the device does not give them.
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
  runtime::Accelerator* const device_;
  const graphdbg_tensor tensor_;
  const Slice& slice_;
  int64_t left_;
  std::optional<SliceReader> reader_;
};

// Where an answer is taken from.
struct TensorRequests::Value {
  std::shared_ptr<const KeptTensor> kept;
  // A copy: whatever the program does, it stays as it is.
  std::shared_ptr<const PreviousValue> previous;
  // Without either.
  void* bound = nullptr;
  BoundTensor resolved;
  // The pause in which the answer was begun; 0: the program was running.
  uint64_t pause = 0;
  uint64_t step = 0;
  bool overwritten = false;
  // As last looked at.
  graphdbg_tensor tensor{};
};

void TensorRequests::Ask(v1::TensorRequest request) {
  const uint64_t stream = parts_.outbox->stream();
  std::lock_guard<std::mutex> lock(mu_);
  if (orders_.size() < kMaxOrders) {
    orders_.push_back({std::move(request), stream});
  }
}

void TensorRequests::Cancel(uint64_t request_id) {
  std::lock_guard<std::mutex> lock(mu_);
  // Ids of answers that are through would pile up.
  if (cancelled_.size() < kMaxOrders) cancelled_.insert(request_id);
}

void TensorRequests::DropAll() {
  std::lock_guard<std::mutex> lock(mu_);
  orders_.clear();
  cancelled_.clear();
}

bool TensorRequests::Cancelled(uint64_t request_id) {
  std::lock_guard<std::mutex> lock(mu_);
  return cancelled_.count(request_id) > 0;
}

bool TensorRequests::ServeOne() {
  Order order;
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (orders_.empty()) return false;
    order = std::move(orders_.front());
    orders_.pop_front();
  }
  const uint64_t id = order.request.request_id();
  const absl::Status status = Serve(order);
  if (!status.ok()) {
    v1::TensorData answer;
    answer.set_request_id(id);
    answer.set_last(true);
    *answer.mutable_error() = wire::ToError(status);
    parts_.outbox->PutTensor(std::move(answer), order.stream);
  }
  std::lock_guard<std::mutex> lock(mu_);
  cancelled_.erase(id);
  return true;
}

absl::Status TensorRequests::Serve(const Order& order) {
  Value value;
  if (absl::Status s = Find(order.request, &value); !s.ok()) return s;
  v1::TensorData first;
  first.set_request_id(order.request.request_id());
  Slice slice;
  {
    std::unique_lock<std::mutex> lock;
    if (absl::Status s = Look(&value, &lock); !s.ok()) return s;
    absl::Status s =
        FillHeader(order.request, &value, &slice, first.mutable_header());
    if (!s.ok()) return s;
  }
  if (!order.request.want_data()) {
    first.mutable_header()->set_total_bytes(0);
    first.set_last(true);
    parts_.outbox->PutTensor(std::move(first), order.stream);
    return absl::OkStatus();
  }
  return SendData(order, slice, &value, std::move(first));
}

absl::Status TensorRequests::Find(const v1::TensorRequest& request,
                                  Value* value) {
  const uint32_t node = parts_.nodes->Find(request.node());
  if (node == 0) {
    return wire::MakeError(
        absl::StatusCode::kNotFound, "unknown_node",
        absl::StrCat("no node \"", request.node(), "\" has been seen"));
  }
  parts_.requested->Ask(node, parts_.gate->needs().pauses);
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

// Who is not looked at may execute unseen.
absl::Status TensorRequests::NotKept(const v1::TensorRequest& request,
                                     uint32_t node) const {
  const uint64_t seen = parts_.nodes->Facts(node)->last_step;
  const uint64_t step = parts_.gate->step();
  if (seen == 0) {
    return Gone(
        absl::StrCat(request.node(), " has not been seen to execute yet"));
  }
  if (seen < step) {
    return Gone(absl::StrCat(request.node(),
                             " was not seen to execute in step ", step));
  }
  return Gone(absl::StrCat("the value of ", request.node(), ":", request.slot(),
                           " is not there any more"));
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

absl::Status TensorRequests::Look(Value* value,
                                  std::unique_lock<std::mutex>* lock) {
  if (value->previous != nullptr) return absl::OkStatus();
  uint64_t pause = 0;
  *lock = parts_.gate->HoldPaused(&pause);
  const bool paused = lock->owns_lock();
  if (value->pause != 0 && pause != value->pause && value->kept == nullptr) {
    return Gone("the program went on while the value was read");
  }
  value->pause = pause;
  if (value->kept != nullptr) {
    const bool overwritten = parts_.kept->Overwritten(*value->kept);
    if (value->tensor.struct_size != 0 && overwritten && !value->overwritten) {
      return Gone("the value was overwritten while it was read");
    }
    value->overwritten = overwritten;
    value->tensor = value->kept->tensor();
    value->step = value->kept->step();
    return absl::OkStatus();
  }
  if (!paused) return Gone("the program is running");
  if (!parts_.host->Resolve(value->bound, &value->resolved.tensor,
                            value->resolved.shape, value->resolved.strides)) {
    return Gone("the tensor does not exist any more");
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
    return Gone(absl::StrCat("of step ", request.step(),
                             " nothing is kept; the value there is of step ",
                             value->step));
  }
  const TensorView view = ViewOf(value->tensor);
  const size_t item_size = ItemSize(view.dtype);
  const TensorAccess access(parts_.devices, value->tensor, /*running=*/false);
  if (!access.ok() || !view.byte_count() ||
      (item_size == 0 && request.want_data())) {
    return Unreadable();
  }
  const std::vector<int64_t> shape = ShapeOf(value->tensor);
  absl::StatusOr<Slice> resolved = ResolveSlice(request, shape);
  if (!resolved.ok()) return resolved.status();
  *slice = *std::move(resolved);
  if (request.want_data()) {
    absl::Status fits = CheckSize(request, *slice, item_size);
    if (!fits.ok()) return fits;
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
    statistics.DivideBy(scale);
    *header->mutable_statistics() = ToProto(statistics);
  }
  return absl::OkStatus();
}

absl::Status TensorRequests::SendData(const Order& order, const Slice& slice,
                                      Value* value, v1::TensorData first) {
  // The view may move between pieces; the reader's place in the slice does not.
  std::optional<PieceReader> reader;
  const void* address = nullptr;
  v1::TensorData piece = std::move(first);
  for (;;) {
    {
      std::unique_lock<std::mutex> lock;
      if (absl::Status s = Look(value, &lock); !s.ok()) return s;
      if (!reader) {
        address = value->tensor.data;
        reader.emplace(parts_.devices->Of(value->tensor), value->tensor, slice);
      } else if (value->tensor.data != address) {
        return Gone("the tensor was replaced while it was read");
      }
      if (!reader->Read(wire::kMaxChunkBytes, piece.mutable_data())) {
        return Unreadable();
      }
      if (value->kept != nullptr && !value->overwritten &&
          parts_.kept->Overwritten(*value->kept)) {
        return Gone("the value was overwritten while it was read");
      }
    }
    piece.set_last(reader->done());
    const bool last = piece.last();
    if (!parts_.outbox->PutTensor(std::move(piece), order.stream)) break;
    if (last || Cancelled(order.request.request_id())) break;
    piece = v1::TensorData();
    piece.set_request_id(order.request.request_id());
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::agent
