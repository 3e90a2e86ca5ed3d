#include "agent/kernels/cuda/launch.h"

#include <cmath>

#include "agent/kernels/cuda/element.h"
#include "agent/kernels/cuda/merge.h"

namespace graphdbg::cuda {
namespace {

const char* ElementName(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "Bool";
    case DType::kInt8:
      return "Int8";
    case DType::kInt16:
      return "Int16";
    case DType::kInt32:
      return "Int32";
    case DType::kInt64:
      return "Int64";
    case DType::kUint8:
      return "Uint8";
    case DType::kUint16:
      return "Uint16";
    case DType::kUint32:
      return "Uint32";
    case DType::kUint64:
      return "Uint64";
    case DType::kFloat16:
      return "Float16";
    case DType::kBfloat16:
      return "Bfloat16";
    case DType::kFloat32:
      return "Float32";
    default:
      return "Float64";
  }
}

// Adds dimensions to a grid, the innermost first, with several arrays of
// strides. Merges evenly spaced neighbours.
template <int kArrays>
class GridFiller {
 public:
  GridFiller(Grid* grid, int64_t* const (&strides)[kArrays]) : grid_(grid) {
    std::copy(strides, strides + kArrays, strides_);
    grid_->ndim = 0;
  }

  // Returns false if there are too many dimensions.
  bool Add(int64_t size, const int64_t (&strides)[kArrays]) {
    if (size == 1) return true;
    const int32_t n = grid_->ndim;
    bool even = n > 0;
    for (int a = 0; a < kArrays && even; ++a) {
      even = strides[a] ==
             strides_[a][n - 1] * static_cast<int64_t>(grid_->sizes[n - 1]);
    }
    if (even) {
      grid_->sizes[n - 1] *= static_cast<uint64_t>(size);
      return true;
    }
    if (n == kMaxLayoutDimensions) return false;
    grid_->sizes[n] = static_cast<uint64_t>(size);
    for (int a = 0; a < kArrays; ++a) strides_[a][n] = strides[a];
    ++grid_->ndim;
    return true;
  }

 private:
  Grid* grid_;
  int64_t* strides_[kArrays];
};

int64_t StrideOf(const TensorView& view, size_t d) {
  if (view.strides != nullptr) return view.strides[d];
  int64_t stride = 1;
  for (size_t i = d + 1; i < view.ndim; ++i) stride *= view.shape[i];
  return stride;
}

}  // namespace

std::string KernelName(const char* family, DType dtype) {
  return std::string(family) + ElementName(dtype);
}

std::string GatherName(DType dtype) {
  return "Gather" + std::to_string(ItemSize(dtype));
}

std::vector<std::string> KernelNames() {
  std::vector<std::string> names;
  for (const int bytes : {1, 2, 4, 8, 16}) {
    names.push_back("Gather" + std::to_string(bytes));
  }
  for (const char* const family : {"Statistics", "Strided", "Pair"}) {
#define GRAPHDBG_NAME(Type) names.push_back(std::string(family) + #Type);
    GRAPHDBG_FOR_EACH_ELEMENT(GRAPHDBG_NAME)
#undef GRAPHDBG_NAME
  }
  return names;
}

bool FillStrided(const Layout& layout, StridedItem* item) {
  item->data = layout.base;
  item->count = static_cast<uint64_t>(layout.count);
  GridFiller<1> filler(&item->grid, {item->strides});
  for (size_t d = 0; d < layout.ndim; ++d) {
    const Layout::Dimension& dimension = layout.dimensions[d];
    if (!filler.Add(dimension.size, {dimension.stride})) return false;
  }
  return true;
}

bool FillPair(const TensorView& now, const TensorView& previous,
              PairItem* item) {
  item->now = now.data;
  item->previous = previous.data;
  item->count = static_cast<uint64_t>(now.element_count().value_or(0));
  SetTolerance({}, item);
  GridFiller<2> filler(&item->grid,
                       {item->now_strides, item->previous_strides});
  for (size_t d = now.ndim; d-- > 0;) {
    const int64_t strides[] = {StrideOf(now, d), StrideOf(previous, d)};
    if (!filler.Add(now.shape[d], strides)) return false;
  }
  return true;
}

void SetTolerance(const Tolerance& tolerance, PairItem* item) {
  item->rtol = tolerance.rtol;
  item->atol = tolerance.atol;
  item->equal_nan = tolerance.equal_nan ? 1 : 0;
}

bool FillGather(const TensorView& view, const Slice& slice, GatherItem* item) {
  const auto item_size = static_cast<int64_t>(ItemSize(view.dtype));
  int64_t offset = 0;
  item->first = 0;
  item->count = static_cast<uint64_t>(ElementCount(slice));
  GridFiller<1> filler(&item->grid, {item->strides});
  for (size_t d = view.ndim; d-- > 0;) {
    const int64_t stride = StrideOf(view, d) * item_size;
    offset += slice[d].start * stride;
    if (!filler.Add(slice[d].count, {slice[d].step * stride})) return false;
  }
  item->data = static_cast<const char*>(view.data) + offset;
  return true;
}

Statistics ToStatistics(const Partial& sums, uint64_t multiplicity) {
  Statistics s;
  const uint64_t positive =
      sums.finite_count - sums.zero_count - sums.negative_count;
  s.count = (sums.finite_count + sums.nan_count + sums.pos_inf_count +
             sums.neg_inf_count) *
            multiplicity;
  s.nan_count = sums.nan_count * multiplicity;
  s.pos_inf_count = sums.pos_inf_count * multiplicity;
  s.neg_inf_count = sums.neg_inf_count * multiplicity;
  s.zero_count = sums.zero_count * multiplicity;
  s.negative_count = sums.negative_count * multiplicity;
  s.positive_count = positive * multiplicity;
  if (sums.finite_count == 0) return s;
  // Intermediate values may exceed the range of float64.
  const long double scale =
      sums.scaled ? 1 / static_cast<long double>(kScale) : 1;
  const long double n = static_cast<long double>(sums.finite_count);
  const long double times = static_cast<long double>(multiplicity);
  const long double mean =
      static_cast<long double>(sums.origin) + sums.mean * scale;
  const long double deviations = sums.deviations * scale * scale;
  const long double abs_sum = sums.abs_sum * scale;
  s.min = sums.min;
  s.max = sums.max;
  s.abs_max = std::max(std::fabs(s.min), std::fabs(s.max));
  s.mean = static_cast<double>(mean);
  s.abs_mean = static_cast<double>(abs_sum / n);
  s.variance = static_cast<double>(deviations / n);
  s.l1 = static_cast<double>(abs_sum * times);
  s.l2 = static_cast<double>(std::sqrt((deviations + n * mean * mean) * times));
  return s;
}

PairStatistics ToPairStatistics(const PairPartial& sums) {
  PairStatistics s;
  s.count = sums.count;
  s.finite_count = sums.finite_count;
  if (s.finite_count == 0) return s;
  const long double scale =
      sums.scaled ? 1 / static_cast<long double>(kScale) : 1;
  const long double n = static_cast<long double>(s.finite_count);
  s.change_abs_mean = static_cast<double>(sums.change_abs_sum * scale / n);
  s.change_abs_max = sums.change_abs_max;
  s.change_l2 = static_cast<double>(
      std::sqrt(static_cast<long double>(sums.change_squares)) * scale);
  s.previous_abs_mean = static_cast<double>(sums.previous_abs_sum * scale / n);
  s.previous_l2 = static_cast<double>(
      std::sqrt(static_cast<long double>(sums.previous_squares)) * scale);
  return s;
}

}  // namespace graphdbg::cuda
