// Answers to the session's orders for tensors, cut out of whole tensors.
#ifndef SERVER_MINDSPORE_TENSOR_ANSWER_H_
#define SERVER_MINDSPORE_TENSOR_ANSWER_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "proto/mindspore/debugger.pb.h"
#include "server/mindspore/values.h"
#include "server/session/agent_port.h"

namespace graphdbg::mindspore {

// Statistics are of the whole tensor and computed here: clients that compute
// them count NaN in, and average large tensors wrongly.
session::TensorPiece AnswerWith(const session::TensorOrder& order,
                                const Value& value, uint64_t step);

// From what a client measured, less what it measures wrongly.
session::TensorPiece AnswerWith(const session::TensorOrder& order,
                                const debugger::TensorSummary& summary,
                                uint64_t step);

// Type and shape alone.
session::TensorPiece AnswerWith(const session::TensorOrder& order,
                                const debugger::TensorBase& base,
                                uint64_t step);

session::TensorPiece AnswerWith(const session::TensorOrder& order,
                                absl::Status error);

// What a client measured as statistics.
session::StatisticsInfo StatisticsOf(const debugger::Statistics& statistics);

// Of elements that are there; absent if the type has none.
std::optional<session::StatisticsInfo> Measure(const Value& value);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_TENSOR_ANSWER_H_
