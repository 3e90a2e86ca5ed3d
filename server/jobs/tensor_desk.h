// Tensors that were asked for and have not come yet: puts answers together
// from their pieces.
#ifndef SERVER_JOBS_TENSOR_DESK_H_
#define SERVER_JOBS_TENSOR_DESK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/agent_port.h"
#include "server/model/tensor.h"

namespace graphdbg::jobs {

// Not thread safe. Holds no more bytes than its limits say, whatever agents
// announce or send.
class TensorDesk {
 public:
  static constexpr size_t kMaxPending = 1'024;

  using Completion = std::function<void(absl::StatusOr<model::TensorValue>)>;

  TensorDesk(uint64_t max_bytes, uint64_t max_total_bytes)
      : max_bytes_(max_bytes), max_total_bytes_(max_total_bytes) {}

  // Returns the request's id, never used again. `complete` is called once, from
  // one of the methods below. RESOURCE_EXHAUSTED "too_many_requests".
  absl::StatusOr<uint64_t> Open(const model::TensorQuery& query,
                                Completion complete);

  // Takes a piece from the agent of this rank. Returns true if the agent should
  // stop sending this answer. Pieces for requests that are over are ignored.
  bool Accept(uint32_t rank, TensorPiece piece);

  // Returns false if the request is over already.
  bool Fail(uint64_t request_id, const absl::Status& status);
  // Everything that was asked of this rank.
  void FailRank(uint32_t rank, const absl::Status& status);

  size_t pending() const { return pending_.size(); }

 private:
  struct Pending {
    model::TensorValue value;
    uint64_t max_bytes = 0;
    uint64_t total_bytes = 0;
    bool want_data = true;
    bool has_header = false;
    Completion complete;
  };

  absl::Status Take(Pending& pending, TensorPiece& piece);
  absl::Status TakeHeader(Pending& pending, const TensorHeader& header) const;
  void Finish(std::map<uint64_t, Pending>::iterator it,
              absl::StatusOr<model::TensorValue> result);

  const uint64_t max_bytes_;
  const uint64_t max_total_bytes_;
  uint64_t next_id_ = 1;
  uint64_t held_bytes_ = 0;
  std::map<uint64_t, Pending> pending_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_TENSOR_DESK_H_
