#include "server/tensor/block_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/tensor/comparison.h"

namespace graphdbg::tensor {
namespace {

// Even, because the parts of complex elements stay together.
constexpr uint64_t kChunk = 4'096;

uint64_t DivideUp(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

double Difference(double left, double right) {
  const bool same = left == right || (std::isnan(left) && std::isnan(right));
  return same ? 0 : left - right;
}

// Replaces a chunk of real and imaginary parts by magnitudes.
std::span<double> Magnitudes(std::span<double> numbers, uint64_t parts) {
  if (parts == 1) return numbers;
  for (size_t i = 0; 2 * i + 1 < numbers.size(); ++i) {
    numbers[i] = std::hypot(numbers[2 * i], numbers[2 * i + 1]);
  }
  return numbers.first(numbers.size() / 2);
}

float Nearest(double number) {
  constexpr double kMax = std::numeric_limits<float>::max();
  if (!std::isfinite(number)) return static_cast<float>(number);
  return static_cast<float>(std::clamp(number, -kMax, kMax));
}

}  // namespace

GridShape GridOf(const std::vector<int64_t>& slice_shape) {
  uint64_t elements = 1;
  for (int64_t size : slice_shape) elements *= static_cast<uint64_t>(size);
  if (slice_shape.empty() || elements == 0) return {elements, elements};
  uint64_t columns = static_cast<uint64_t>(slice_shape.back());
  if (slice_shape.size() == 1) {
    columns = static_cast<uint64_t>(
        std::ceil(std::sqrt(static_cast<double>(elements))));
  }
  return {DivideUp(elements, columns), columns};
}

BlockMap::BlockMap(GridShape grid, uint64_t max_rows, uint64_t max_columns)
    : grid_(grid) {
  if (grid.rows == 0 || grid.columns == 0) return;
  block_ = {DivideUp(grid.rows, max_rows), DivideUp(grid.columns, max_columns)};
  blocks_ = {DivideUp(grid.rows, block_.rows),
             DivideUp(grid.columns, block_.columns)};
  values_.resize(blocks_.rows * blocks_.columns);
}

void BlockMap::Add(double number) {
  Block& block =
      values_[row_ / block_.rows * blocks_.columns + column_ / block_.columns];
  if (++column_ == grid_.columns) {
    column_ = 0;
    ++row_;
  }
  // Comparisons with NaN are false, so that a NaN is never replaced.
  if (std::isnan(number) || std::abs(number) > std::abs(block.extreme)) {
    block.extreme = number;
  }
  if (!std::isfinite(number)) {
    ++block.non_finite;
    return;
  }
  block.min = block.finite == 0 ? number : std::min(block.min, number);
  block.max = block.finite == 0 ? number : std::max(block.max, number);
  block.sum += number;
  ++block.finite;
}

void BlockMap::Add(const Numbers& numbers) {
  std::array<double, kChunk> buffer;
  for (uint64_t first = 0; first < numbers.size(); first += kChunk) {
    const uint64_t n = std::min(kChunk, numbers.size() - first);
    numbers.Read(first, {buffer.data(), n});
    for (double x : Magnitudes({buffer.data(), n}, numbers.parts())) Add(x);
  }
}

absl::Status BlockMap::AddDifference(const Numbers& left,
                                     const Numbers& right) {
  RETURN_IF_ERROR(CheckComparable(left, right));
  std::array<double, kChunk> lefts;
  std::array<double, kChunk> rights;
  for (uint64_t first = 0; first < left.size(); first += kChunk) {
    const uint64_t n = std::min(kChunk, left.size() - first);
    left.Read(first, {lefts.data(), n});
    right.Read(first, {rights.data(), n});
    for (uint64_t i = 0; i < n; ++i) {
      lefts[i] = Difference(lefts[i], rights[i]);
    }
    for (double x : Magnitudes({lefts.data(), n}, left.parts())) Add(x);
  }
  return absl::OkStatus();
}

absl::Status BlockMap::AddUlps(const Numbers& left, const Numbers& right) {
  RETURN_IF_ERROR(CheckComparable(left, right));
  if (!left.has_ordinals() || left.parts() != 1 ||
      left.dtype() != right.dtype()) {
    return Error(absl::StatusCode::kInvalidArgument, "no_ulps",
                 "only floats of the same type have a distance in units in the "
                 "last place");
  }
  std::array<double, kChunk> lefts;
  std::array<double, kChunk> rights;
  std::array<int64_t, kChunk> left_ordinals;
  std::array<int64_t, kChunk> right_ordinals;
  for (uint64_t first = 0; first < left.size(); first += kChunk) {
    const uint64_t n = std::min(kChunk, left.size() - first);
    left.Read(first, {lefts.data(), n});
    right.Read(first, {rights.data(), n});
    left.ReadOrdinals(first, {left_ordinals.data(), n});
    right.ReadOrdinals(first, {right_ordinals.data(), n});
    for (uint64_t i = 0; i < n; ++i) {
      const bool finite = std::isfinite(lefts[i]) && std::isfinite(rights[i]);
      if (finite) {
        Add(static_cast<double>(
            UlpDistance(left_ordinals[i], right_ordinals[i])));
      } else {
        Add(Difference(lefts[i], rights[i]) == 0 ? 0 : NAN);
      }
    }
  }
  return absl::OkStatus();
}

BlockMap::Values BlockMap::Finish() const {
  Values values;
  for (const Block& block : values_) {
    const bool empty = block.finite == 0;
    values.extreme.push_back(Nearest(block.extreme));
    values.min.push_back(empty ? NAN : Nearest(block.min));
    values.max.push_back(empty ? NAN : Nearest(block.max));
    values.mean.push_back(
        empty ? NAN : Nearest(block.sum / static_cast<double>(block.finite)));
    values.non_finite.push_back(static_cast<float>(block.non_finite));
  }
  return values;
}

}  // namespace graphdbg::tensor
