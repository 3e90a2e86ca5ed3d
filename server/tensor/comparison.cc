#include "server/tensor/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "server/base/error.h"

namespace graphdbg::tensor {
namespace {

constexpr uint64_t kChunk = 4'096;

class Comparer {
 public:
  Comparer(double rtol, double atol) : rtol_(rtol), atol_(atol) {}

  // The pair belongs to the element with this index.
  void Add(uint64_t element, double left, double right) {
    if (!IsClose(left, right) && last_not_close_ != element) {
      if (result_.not_close_count++ == 0) {
        result_.first_not_close = element;
        result_.first_left = left;
        result_.first_right = right;
      }
      last_not_close_ = element;
    }
    if (std::isfinite(left) && std::isfinite(right)) {
      AddFinite(left, right);
    } else {
      ++result_.non_finite_count;
    }
  }

  Comparison Finish(uint64_t count) {
    result_.count = count;
    if (finite_ > 0) {
      result_.max_abs_difference = max_abs_;
      result_.mean_abs_difference = sum_abs_ / static_cast<double>(finite_);
    }
    if (max_relative_ >= 0) result_.max_relative_difference = max_relative_;
    const double lengths = std::sqrt(left_left_) * std::sqrt(right_right_);
    if (lengths > 0 && std::isfinite(lengths) && std::isfinite(dot_)) {
      result_.cosine = std::clamp(dot_ / lengths, -1.0, 1.0);
    }
    return result_;
  }

 private:
  bool IsClose(double left, double right) const {
    if (left == right) return true;
    if (std::isnan(left) || std::isnan(right)) {
      return std::isnan(left) && std::isnan(right);
    }
    if (std::isinf(left) || std::isinf(right)) return false;
    return std::abs(left - right) <= atol_ + rtol_ * std::abs(right);
  }

  void AddFinite(double left, double right) {
    const double difference = std::abs(left - right);
    ++finite_;
    sum_abs_ += difference;
    max_abs_ = std::max(max_abs_, difference);
    if (right != 0) {
      max_relative_ = std::max(max_relative_, difference / std::abs(right));
    }
    dot_ += left * right;
    left_left_ += left * left;
    right_right_ += right * right;
  }

  const double rtol_;
  const double atol_;
  Comparison result_;
  uint64_t last_not_close_ = std::numeric_limits<uint64_t>::max();
  uint64_t finite_ = 0;
  double sum_abs_ = 0;
  double max_abs_ = 0;
  double max_relative_ = -1;
  double dot_ = 0;
  double left_left_ = 0;
  double right_right_ = 0;
};

}  // namespace

absl::StatusOr<Comparison> Compare(const Numbers& left, const Numbers& right,
                                   double rtol, double atol) {
  if (left.size() != right.size() || left.parts() != right.parts()) {
    return Error(absl::StatusCode::kInvalidArgument, "shapes_differ",
                 "the tensors have " + std::to_string(left.size()) + " and " +
                     std::to_string(right.size()) + " numbers");
  }
  Comparer comparer(rtol, atol);
  std::array<double, kChunk> lefts;
  std::array<double, kChunk> rights;
  for (uint64_t first = 0; first < left.size(); first += kChunk) {
    const uint64_t n = std::min(kChunk, left.size() - first);
    left.Read(first, {lefts.data(), n});
    right.Read(first, {rights.data(), n});
    for (uint64_t i = 0; i < n; ++i) {
      comparer.Add((first + i) / left.parts(), lefts[i], rights[i]);
    }
  }
  return comparer.Finish(left.size() / left.parts());
}

}  // namespace graphdbg::tensor
