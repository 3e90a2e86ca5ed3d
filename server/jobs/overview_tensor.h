// A tensor of the overview, as agents report it.
#ifndef SERVER_JOBS_OVERVIEW_TENSOR_H_
#define SERVER_JOBS_OVERVIEW_TENSOR_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace graphdbg::jobs {

// What a tensor stands for.
enum class OverviewRole { kActivation, kGradient, kWeight, kLoss };

// A tensor in one step. Counts are of the elements that were measured.
struct OverviewTensor {
  OverviewRole role = OverviewRole::kActivation;
  // The elements of the tensor, and those that were measured.
  uint64_t count = 0;
  uint64_t measured = 0;
  uint64_t nan_count = 0;
  uint64_t inf_count = 0;
  uint64_t zero_count = 0;
  // Of the finite elements; 0 if there are none.
  float mean = 0;
  float abs_mean = 0;
  float min = 0;
  float max = 0;
  float deviation = 0;
  // Of the whole tensor.
  float l2 = 0;
  // As model::OverviewMeasure::kUpdate.
  std::optional<float> change;
  // Five, or none.
  std::vector<float> quantiles;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_OVERVIEW_TENSOR_H_
