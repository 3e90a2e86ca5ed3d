// Assembles a tensor from the chunks of an agent's answer.
#ifndef SERVER_JOBS_TENSOR_ANSWER_H_
#define SERVER_JOBS_TENSOR_ANSWER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/jobs/agent_port.h"
#include "server/model/tensor.h"

namespace graphdbg::jobs {

// Never holds more bytes than its limit, whatever an agent announces or sends,
// and counts them in the server's memory budget for as long as the tensor
// exists. Not thread safe.
class TensorAnswer {
 public:
  // `memory` may be null.
  TensorAnswer(const model::TensorQuery& query, uint64_t max_bytes,
               const std::shared_ptr<MemoryBudget>& memory = nullptr);

  uint32_t rank() const { return value_.rank; }

  // Reads the header, if the chunk has one, and checks that the chunk may
  // follow. INTERNAL "bad_answer", RESOURCE_EXHAUSTED "slice_too_large".
  absl::Status Check(const TensorChunk& chunk);
  // Appends the data of a chunk that passed Check. RESOURCE_EXHAUSTED
  // "out_of_memory_budget".
  absl::Status Append(const TensorChunk& chunk);
  // Returns the tensor after the last chunk. INTERNAL "bad_answer" if bytes are
  // missing.
  absl::StatusOr<model::TensorValue> Finish();

 private:
  absl::Status ReadHeader(const TensorHeader& header);
  // Makes room for `bytes` in value_.data.
  absl::Status Grow(uint64_t bytes);

  model::TensorValue value_;
  // The space reserved in value_.data, which memory_ counts.
  uint64_t capacity_ = 0;
  MemoryBudget::Reservation memory_;
  const uint64_t max_bytes_;
  const bool want_data_;
  uint64_t total_bytes_ = 0;
  bool has_header_ = false;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_TENSOR_ANSWER_H_
