// Answers requests for tensors.
#ifndef SERVER_MINDSPORE_TENSOR_ANSWER_H_
#define SERVER_MINDSPORE_TENSOR_ANSWER_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "proto/mindspore/debugger.pb.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/values.h"

namespace graphdbg::mindspore {

// Extracts the requested slice. Computes statistics of the whole tensor here,
// because clients include NaN in theirs and average large tensors incorrectly.
jobs::TensorChunk AnswerWith(const jobs::TensorOrder& order, const Value& value,
                             uint64_t step);

// Uses the client's statistics, except for those that are incorrect.
jobs::TensorChunk AnswerWith(const jobs::TensorOrder& order,
                             const debugger::TensorSummary& summary,
                             uint64_t step);

// Answers with type and shape only.
jobs::TensorChunk AnswerWith(const jobs::TensorOrder& order,
                             const debugger::TensorBase& base, uint64_t step);

jobs::TensorChunk AnswerWith(const jobs::TensorOrder& order,
                             absl::Status error);

// UNIMPLEMENTED "unreadable", for values of a type whose elements have no known
// size. Clients choose the types, also those of constants in graphs.
absl::Status Unreadable(const model::TensorType& type);

// Converts the client's statistics, except for those that are incorrect.
model::Statistics StatisticsOf(const debugger::Statistics& statistics);

// Computes the statistics. Absent if the dtype is not supported.
std::optional<model::Statistics> Measure(const Value& value);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_TENSOR_ANSWER_H_
