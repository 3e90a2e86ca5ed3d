#include "server/tensor/comparison.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::tensor {
namespace {

constexpr uint64_t kChunk = 4'096;

bool IsEqual(double left, double right) {
  return left == right || (std::isnan(left) && std::isnan(right));
}

}  // namespace

absl::Status CheckComparable(const Numbers& left, const Numbers& right) {
  if (left.size() == right.size() && left.parts() == right.parts()) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kInvalidArgument, "shapes_differ",
               absl::StrCat("the tensors have ", left.size(), " and ",
                            right.size(), " numbers"));
}

void ForEachFinitePair(const Numbers& left, const Numbers& right,
                       absl::FunctionRef<void(double, double)> pair) {
  std::array<double, kChunk> lefts;
  std::array<double, kChunk> rights;
  for (uint64_t first = 0; first < left.size(); first += kChunk) {
    const uint64_t n = std::min(kChunk, left.size() - first);
    left.Read(first, {lefts.data(), n});
    right.Read(first, {rights.data(), n});
    for (uint64_t i = 0; i < n; ++i) {
      if (std::isfinite(lefts[i]) && std::isfinite(rights[i])) {
        pair(lefts[i], rights[i]);
      }
    }
  }
}

Comparer::Comparer(double rtol, double atol, uint64_t max_listed)
    : rtol_(rtol), atol_(atol), max_listed_(max_listed) {}

absl::Status Comparer::Add(const Numbers& left, const Numbers& right) {
  RETURN_IF_ERROR(CheckComparable(left, right));
  const bool ordered = left.has_ordinals() && left.dtype() == right.dtype();
  if (ordered && !result_.ulps) result_.ulps.emplace();
  std::array<double, kChunk> lefts;
  std::array<double, kChunk> rights;
  std::array<int64_t, kChunk> left_ordinals;
  std::array<int64_t, kChunk> right_ordinals;
  for (uint64_t first = 0; first < left.size(); first += kChunk) {
    const uint64_t n = std::min(kChunk, left.size() - first);
    left.Read(first, {lefts.data(), n});
    right.Read(first, {rights.data(), n});
    if (ordered) {
      left.ReadOrdinals(first, {left_ordinals.data(), n});
      right.ReadOrdinals(first, {right_ordinals.data(), n});
    }
    for (uint64_t i = 0; i < n; ++i) {
      const ComparedPair pair{result_.count + (first + i) / left.parts(),
                              lefts[i], rights[i]};
      AddPair(pair);
      if (!std::isfinite(pair.left) || !std::isfinite(pair.right)) {
        AddNonFinite(pair);
        continue;
      }
      AddFinite(pair);
      if (ordered) AddUlps(pair, left_ordinals[i], right_ordinals[i]);
    }
  }
  result_.count += left.size() / left.parts();
  return absl::OkStatus();
}

void Comparer::AddPair(const ComparedPair& pair) {
  if (IsEqual(pair.left, pair.right)) return;
  if (std::exchange(last_unequal_, pair.element) != pair.element) {
    ++unequal_count_;
  }
  if (IsClose(pair.left, pair.right) || last_not_close_ == pair.element) return;
  last_not_close_ = pair.element;
  if (result_.not_close_count++ < max_listed_) {
    result_.first_not_close.push_back(pair);
  }
}

// Of unequal numbers.
bool Comparer::IsClose(double left, double right) const {
  if (!std::isfinite(left) || !std::isfinite(right)) return false;
  return std::abs(left - right) <= atol_ + rtol_ * std::abs(right);
}

void Comparer::AddNonFinite(const ComparedPair& pair) {
  ++result_.non_finite_count;
  const bool left = std::isnan(pair.left);
  const bool right = std::isnan(pair.right);
  result_.left_nan_count += left ? 1 : 0;
  result_.right_nan_count += right ? 1 : 0;
  result_.both_nan_count += left && right ? 1 : 0;
}

void Comparer::AddFinite(const ComparedPair& pair) {
  const double difference = pair.left - pair.right;
  const double size = std::abs(difference);
  ++finite_;
  result_.difference_range.Add(difference);
  sum_ += difference;
  sum_abs_ += size;
  sum_squares_ += difference * difference;
  if (size > max_abs_) {
    max_abs_ = size;
    result_.max_abs_at = pair;
  }
  if (pair.right != 0 && size > max_relative_ * std::abs(pair.right)) {
    max_relative_ = size / std::abs(pair.right);
    result_.max_relative_at = pair;
  }
  dot_ += pair.left * pair.right;
  left_left_ += pair.left * pair.left;
  right_right_ += pair.right * pair.right;
}

void Comparer::AddUlps(const ComparedPair& pair, int64_t left, int64_t right) {
  UlpDistances& ulps = *result_.ulps;
  const uint64_t distance = UlpDistance(left, right);
  const auto bucket = static_cast<size_t>(std::bit_width(distance));
  if (bucket >= ulps.counts.size()) ulps.counts.resize(bucket + 1);
  ++ulps.counts[bucket];
  if (distance <= ulps.max) return;
  ulps.max = distance;
  ulps.max_at = pair;
}

Comparison Comparer::Finish() {
  Comparison result = std::exchange(result_, {});
  result.equal_count = result.count - unequal_count_;
  if (finite_ > 0) {
    const auto n = static_cast<double>(finite_);
    result.max_abs_difference = max_abs_;
    result.mean_abs_difference = sum_abs_ / n;
    result.mean_difference = sum_ / n;
    result.rms_difference = std::sqrt(sum_squares_ / n);
  } else {
    result.ulps.reset();
  }
  if (max_relative_ >= 0) result.max_relative_difference = max_relative_;
  const double lengths = std::sqrt(left_left_) * std::sqrt(right_right_);
  if (lengths > 0 && std::isfinite(lengths) && std::isfinite(dot_)) {
    result.cosine = std::clamp(dot_ / lengths, -1.0, 1.0);
  }
  return result;
}

}  // namespace graphdbg::tensor
