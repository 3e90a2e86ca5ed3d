// Answers to the session's orders for tensors, cut out of whole tensors.
#ifndef SERVER_MINDSPORE_TENSOR_ANSWER_H_
#define SERVER_MINDSPORE_TENSOR_ANSWER_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "proto/mindspore/debugger.pb.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/values.h"

namespace graphdbg::mindspore {

// Statistics are of the whole tensor and computed here: clients that compute
// them count NaN in, and average large tensors wrongly.
jobs::TensorChunk AnswerWith(const jobs::TensorOrder& order, const Value& value,
                             uint64_t step);

// From what a client measured, less what it measures wrongly.
jobs::TensorChunk AnswerWith(const jobs::TensorOrder& order,
                             const debugger::TensorSummary& summary,
                             uint64_t step);

// Type and shape alone.
jobs::TensorChunk AnswerWith(const jobs::TensorOrder& order,
                             const debugger::TensorBase& base, uint64_t step);

jobs::TensorChunk AnswerWith(const jobs::TensorOrder& order,
                             absl::Status error);

// What a client measured as statistics.
model::Statistics StatisticsOf(const debugger::Statistics& statistics);

// Of elements that are there; absent if the type has none.
std::optional<model::Statistics> Measure(const Value& value);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_TENSOR_ANSWER_H_
