// Where two recorded runs, or two ranks of one, part.
#ifndef SERVER_MODEL_DIVERGENCE_H_
#define SERVER_MODEL_DIVERGENCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/model/run.h"

namespace graphdbg::model {

// The values that are compared: recorded statistics, or digests of all bits,
// which only some tensors have.
enum class DivergenceMethod { kStatistics, kDigest };

// A node or scope that has another name in the other run.
struct Renaming {
  std::string from;
  std::string to;
};

struct DivergenceQuery {
  uint32_t rank = 0;
  uint32_t other_rank = 0;
  std::vector<Renaming> renamings;
  // Measures are equal if |here - there| <= atol + rtol * size; see
  // server/runs/divergence.h.
  double rtol = 1e-6;
  double atol = 0;
  DivergenceMethod method = DivergenceMethod::kStatistics;
};

struct Difference {
  uint64_t step = 0;
  RunMode mode = RunMode::kUnknown;
  uint32_t pass = 0;
  // The name here.
  std::string node;
  uint32_t slot = 0;
  // The place in the step here.
  uint32_t exec_order = 0;
  // The first measure that differs, or "digest".
  std::string measure;
  using Value = std::variant<uint64_t, double>;
  Value here;
  Value there;
};

struct Divergence {
  // More names of tensors of only one side are only counted.
  static constexpr size_t kMaxNames = 1'000;

  // The number of steps that were compared: those that both recorded, up to the
  // one with the last difference that is listed.
  uint64_t steps = 0;
  // Tensors in these steps.
  uint64_t matched = 0;
  std::vector<std::string> only_here;
  std::vector<std::string> only_there;
  uint64_t only_here_count = 0;
  uint64_t only_there_count = 0;
  // In order of execution here.
  std::optional<Difference> first;
  std::vector<Difference> next;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_DIVERGENCE_H_
