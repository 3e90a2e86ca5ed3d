#include "server/mindspore/tensor_answer.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/tensor/slice.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/mindspore/types.h"

namespace graphdbg::mindspore {
namespace {

using jobs::TensorChunk;
using jobs::TensorOrder;

// For larger tensors, clients average only a part of the elements.
constexpr int32_t kAveragedAsOne = 20'000;

TensorView ViewOf(const Value& value) {
  TensorView view;
  view.dtype = value.type.dtype;
  view.data = value.data.data();
  view.ndim = value.type.shape.size();
  view.shape = value.type.shape.data();
  return view;
}

absl::Status TooLarge(uint64_t count, const char* what, uint64_t limit) {
  return Error(absl::StatusCode::kResourceExhausted, "slice_too_large",
               absl::StrCat("the slice has ", count, " ", what,
                            "; the limit is ", limit));
}

absl::Status CheckSize(const model::TensorQuery& query, uint64_t elements,
                       uint64_t item_bytes) {
  if (query.max_elements > 0 && elements > query.max_elements) {
    return TooLarge(elements, "elements", query.max_elements);
  }
  if (query.max_bytes > 0 && elements * item_bytes > query.max_bytes) {
    return TooLarge(elements * item_bytes, "bytes", query.max_bytes);
  }
  return absl::OkStatus();
}

model::Statistics ToInfo(const Statistics& s) {
  model::Statistics info;
  info.count = s.count;
  info.nan_count = s.nan_count;
  info.pos_inf_count = s.pos_inf_count;
  info.neg_inf_count = s.neg_inf_count;
  info.zero_count = s.zero_count;
  info.negative_count = s.negative_count;
  info.positive_count = s.positive_count;
  if (!s.has_finite()) return info;
  info.min = s.min;
  info.max = s.max;
  info.mean = s.mean;
  info.abs_mean = s.abs_mean;
  info.abs_max = s.abs_max;
  info.variance = s.variance;
  info.l1 = s.l1;
  info.l2 = s.l2;
  return info;
}

TensorChunk Begin(const TensorOrder& order, model::TensorType type,
                  uint64_t step) {
  TensorChunk piece;
  piece.request_id = order.request_id;
  piece.last = true;
  jobs::TensorHeader& header = piece.header.emplace();
  header.slice_shape = type.shape;
  header.type = std::move(type);
  header.step = step;
  return piece;
}

model::TensorType TypeOf(const debugger::TensorBase& base) {
  model::TensorType type = ScalarOf(base.data_type());
  type.shape.assign(base.shape().begin(), base.shape().end());
  return type;
}

absl::Status FillData(const model::TensorQuery& query, const Value& value,
                      TensorChunk& piece) {
  const TensorView view = ViewOf(value);
  if (ItemSize(view.dtype) == 0) return Unreadable(value.type);
  ASSIGN_OR_RETURN(const Slice slice,
                   ParseSlice(query.slice, value.type.shape));
  const auto elements = static_cast<uint64_t>(ElementCount(slice));
  RETURN_IF_ERROR(CheckSize(query, elements, ItemSize(view.dtype)));
  SliceReader reader(view, slice);
  std::string data;
  if (!reader.done()) reader.Read(reader.total_bytes(), &data);
  piece.header->slice_shape = ShapeOf(slice);
  piece.header->total_bytes = data.size();
  piece.data = absl::Cord(std::move(data));
  return absl::OkStatus();
}

}  // namespace

absl::Status Unreadable(const model::TensorType& type) {
  return Error(absl::StatusCode::kUnimplemented, "unreadable",
               absl::StrCat("values of type ", model::DTypeName(type),
                            " cannot be decoded"));
}

std::optional<model::Statistics> Measure(const Value& value) {
  Statistics statistics;
  if (!cpu::ComputeStatistics(ViewOf(value), &statistics)) return std::nullopt;
  return ToInfo(statistics);
}

TensorChunk AnswerWith(const TensorOrder& order, const Value& value,
                       uint64_t step) {
  TensorChunk piece = Begin(order, value.type, step);
  if (order.query.want_data) {
    auto filled = FillData(order.query, value, piece);
    if (!filled.ok()) return AnswerWith(order, filled);
  }
  if (order.query.want_statistics) piece.header->statistics = Measure(value);
  return piece;
}

model::Statistics StatisticsOf(const debugger::Statistics& s) {
  model::Statistics info;
  info.count = s.count();
  info.nan_count = s.nan_count();
  info.pos_inf_count = s.pos_inf_count();
  info.neg_inf_count = s.neg_inf_count();
  info.zero_count = s.zero_count();
  info.negative_count = s.neg_zero_count();
  info.positive_count = s.pos_zero_count();
  // The client's other statistics include NaN and infinities.
  if (s.count() == 0 ||
      s.nan_count() + s.pos_inf_count() + s.neg_inf_count() > 0) {
    return info;
  }
  info.min = s.min_value();
  info.max = s.max_value();
  if (s.count() < kAveragedAsOne) info.mean = s.avg_value();
  return info;
}

TensorChunk AnswerWith(const TensorOrder& order,
                       const debugger::TensorSummary& summary, uint64_t step) {
  TensorChunk piece = Begin(order, TypeOf(summary.tensor_base()), step);
  piece.header->statistics = StatisticsOf(summary.statistics());
  return piece;
}

TensorChunk AnswerWith(const TensorOrder& order,
                       const debugger::TensorBase& base, uint64_t step) {
  return Begin(order, TypeOf(base), step);
}

TensorChunk AnswerWith(const TensorOrder& order, absl::Status error) {
  TensorChunk piece;
  piece.request_id = order.request_id;
  piece.last = true;
  piece.error = std::move(error);
  return piece;
}

}  // namespace graphdbg::mindspore
