// Reads rings, also while their process writes them, and after its death.
#ifndef PROTO_RUNS_RING_H_
#define PROTO_RUNS_RING_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/runs/headers.h"
#include "proto/runs/record.h"

namespace graphdbg::runs {

// The slot of a position, in bytes from the ring's beginning.
inline uint64_t SlotOffset(uint64_t position, uint64_t capacity) {
  return kRingHeaderBytes + position % capacity * kRecordBytes;
}

// Whether the slot holds the record of `position`. Its writer may be filling
// it: then it holds none yet.
bool IsCommitted(const Record& slot, uint64_t position);

// Copies the record of `position` from its slot, which its writer may be
// filling. False if the slot holds none, or one of another position.
bool ReadSlot(const Record& slot, uint64_t position, Record* record);

// A view of a mapped ring, aligned to 8 bytes. Any thread.
class RingView {
 public:
  // DATA_LOSS as in headers.h, INVALID_ARGUMENT if `file` is not aligned.
  static absl::StatusOr<RingView> Open(absl::string_view file);

  // The header as it was when the view was opened.
  const RingHeader& header() const { return header_; }
  // The next position, as of now.
  uint64_t head() const;
  // The first position whose slot may not be given to a later one yet.
  uint64_t oldest() const;

  // Copies the record of `position`. False if its slot holds none, or one of
  // another position.
  bool Read(uint64_t position, Record* record) const;

  // Calls `use` with each record from `begin` up to head() that is there, in
  // order. With `begin` behind the last segment, this is what recovery adds.
  void ForEach(
      uint64_t begin,
      absl::FunctionRef<void(uint64_t position, const Record&)> use) const;

 private:
  RingView(absl::string_view file, const RingHeader& header)
      : file_(file), header_(header) {}

  absl::string_view file_;
  RingHeader header_;
};

}  // namespace graphdbg::runs

#endif  // PROTO_RUNS_RING_H_
