#include "server/jobs/tensor_desk.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/tensor/shape.h"

namespace graphdbg::jobs {
namespace {

constexpr uint64_t kMaxReservedBytes = uint64_t{8} << 20;

absl::Status BadAnswer(const std::string& what) {
  return Error(absl::StatusCode::kInternal, "bad_answer",
               "the agent's answer is not what the wire demands: " + what);
}

// `limit` of 0 is none.
uint64_t Tighter(uint64_t limit, uint64_t own) {
  return limit == 0 ? own : std::min(limit, own);
}

}  // namespace

absl::StatusOr<uint64_t> TensorDesk::Open(const model::TensorQuery& query,
                                          Completion complete) {
  if (pending_.size() >= kMaxPending) {
    return Error(
        absl::StatusCode::kResourceExhausted, "too_many_requests",
        absl::StrCat(kMaxPending, " tensors of this job are under way"));
  }
  const uint64_t id = next_id_++;
  Pending& pending = pending_[id];
  pending.value.node = query.node;
  pending.value.slot = query.slot;
  pending.value.rank = query.rank;
  pending.max_bytes = Tighter(query.max_bytes, max_bytes_);
  pending.want_data = query.want_data;
  pending.complete = std::move(complete);
  return id;
}

bool TensorDesk::Accept(uint32_t rank, TensorPiece piece) {
  auto it = pending_.find(piece.request_id);
  if (it == pending_.end() || it->second.value.rank != rank) return false;
  if (!piece.error.ok()) {
    Finish(it, piece.error);
    return false;
  }
  Pending& pending = it->second;
  if (absl::Status taken = Take(pending, piece); !taken.ok()) {
    Finish(it, taken);
    return !piece.last;
  }
  if (!piece.last) return false;
  if (pending.value.data.size() != pending.total_bytes) {
    Finish(it, BadAnswer(absl::StrCat(pending.value.data.size(), " of ",
                                      pending.total_bytes, " bytes came")));
    return false;
  }
  Finish(it, std::move(pending.value));
  return false;
}

absl::Status TensorDesk::Take(Pending& pending, TensorPiece& piece) {
  if (pending.has_header == piece.header.has_value()) {
    return BadAnswer(pending.has_header ? "a second header" : "no header");
  }
  if (piece.header) {
    if (auto taken = TakeHeader(pending, *piece.header); !taken.ok()) {
      return taken;
    }
  }
  model::TensorValue& value = pending.value;
  if (piece.data.size() > pending.total_bytes - value.data.size()) {
    return BadAnswer(absl::StrCat("more than the ", pending.total_bytes,
                                  " bytes announced"));
  }
  if (held_bytes_ + piece.data.size() > max_total_bytes_) {
    return Error(absl::StatusCode::kResourceExhausted, "too_many_requests",
                 absl::StrCat("answers under way hold more than ",
                              max_total_bytes_, " bytes"));
  }
  held_bytes_ += piece.data.size();
  for (absl::string_view chunk : piece.data.Chunks()) {
    value.data.append(chunk.data(), chunk.size());
  }
  return absl::OkStatus();
}

absl::Status TensorDesk::TakeHeader(Pending& pending,
                                    const TensorHeader& header) const {
  if (header.total_bytes > pending.max_bytes) {
    return Error(
        absl::StatusCode::kResourceExhausted, "slice_too_large",
        absl::StrCat("the slice holds ", header.total_bytes, " bytes; at most ",
                     pending.max_bytes, " are allowed"));
  }
  // Fronts read the elements by type and shape and rely on there being enough.
  const DType dtype = header.type.dtype;
  const bool fits = pending.want_data
                        ? ItemSize(dtype) == 0 ||
                              tensor::DenseBytes(dtype, header.slice_shape) ==
                                  header.total_bytes
                        : header.total_bytes == 0;
  if (!fits) {
    return BadAnswer(absl::StrCat("its size of ", header.total_bytes,
                                  " bytes does not fit its type and shape"));
  }
  pending.has_header = true;
  pending.total_bytes = header.total_bytes;
  model::TensorValue& value = pending.value;
  // Not whatever agents announce.
  value.data.reserve(std::min(header.total_bytes, kMaxReservedBytes));
  value.step = header.step;
  value.type = header.type;
  value.slice_shape = header.slice_shape;
  value.overwritten = header.overwritten;
  value.grad_scale = header.grad_scale;
  value.statistics = header.statistics;
  return absl::OkStatus();
}

bool TensorDesk::Fail(uint64_t request_id, const absl::Status& status) {
  auto it = pending_.find(request_id);
  if (it == pending_.end()) return false;
  Finish(it, status);
  return true;
}

void TensorDesk::FailRank(uint32_t rank, const absl::Status& status) {
  for (auto it = pending_.begin(); it != pending_.end();) {
    auto at = it++;
    if (at->second.value.rank == rank) Finish(at, status);
  }
}

void TensorDesk::Finish(std::map<uint64_t, Pending>::iterator it,
                        absl::StatusOr<model::TensorValue> result) {
  // On success the bytes have moved into the result.
  held_bytes_ -=
      result.ok() ? result->data.size() : it->second.value.data.size();
  Completion complete = std::move(it->second.complete);
  pending_.erase(it);
  complete(std::move(result));
}

}  // namespace graphdbg::jobs
