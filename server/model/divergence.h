// Where two recorded runs, or two ranks of one, diverge.
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

// A node or scope that was found to have another name in the other run.
struct InferredRenaming {
  std::string from;
  std::string to;
  // How many nodes this concerns.
  uint64_t nodes = 0;
};

struct DivergenceQuery {
  uint32_t rank = 0;
  uint32_t other_rank = 0;
  std::vector<Renaming> renamings;
  // Measures are equal if |here - there| <= atol + rtol * size; see
  // server/runs/measures_apart.h. Absent: as server/runs/tolerance.h derives
  // it.
  std::optional<double> rtol;
  double atol = 0;
  DivergenceMethod method = DivergenceMethod::kStatistics;
};

enum class InputState { kEqual, kDiffers, kNotRecorded };

// Values of a measure, or digests.
using ComparedValue = std::variant<uint64_t, double>;

// What was last recorded, before an op was executed, of a tensor that it reads.
struct ComparedInput {
  // The names here and in the other run; the latter is empty if nothing there
  // was compared with it.
  std::string node;
  std::string there_node;
  uint32_t slot = 0;
  InputState state = InputState::kNotRecorded;
  // As of Difference; empty unless it differs.
  std::string measure;
  ComparedValue here;
  ComparedValue there;
};

// What two calls of an op differ in: an attribute, such as another epsilon; the
// tensor that an argument is; or that only one side changes an argument in
// place before, as clipping does with gradients. What was recorded of such a
// tensor is what its own op has made of it, so that it counts as equal.
enum class CallDifferenceKind { kAttribute, kInput, kInPlace };

struct CallDifference {
  CallDifferenceKind what = CallDifferenceKind::kAttribute;
  // The attribute's name, the argument's number from 0, or the tensor that is
  // changed, by its name here.
  std::string subject;
  // The values, the tensors, or the nodes that change it with the user's line;
  // empty if there are none.
  std::string here;
  std::string there;
};

struct Difference {
  uint64_t step = 0;
  RunMode mode = RunMode::kUnknown;
  uint32_t pass = 0;
  // The name here, and the name in the other run.
  std::string node;
  std::string there_node;
  uint32_t slot = 0;
  // The place in the step here.
  uint32_t exec_order = 0;
  // The first measure that differs, or "digest".
  std::string measure;
  ComparedValue here;
  ComparedValue there;
  // The tensors that the op reads here, in order of its arguments.
  std::vector<ComparedInput> inputs;
  std::vector<CallDifference> calls;
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
  // In order of the names here, at most kMaxNames.
  std::vector<InferredRenaming> renamings;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_DIVERGENCE_H_
