// The ring: the newest records of a process, in a file that it has mapped.
#ifndef AGENT_RECORDING_RING_H_
#define AGENT_RECORDING_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "agent/recording/file.h"
#include "proto/runs/headers.h"
#include "proto/runs/record.h"

namespace graphdbg::recording {

// Who writes the ring.
struct RingOwner {
  runs::Incarnation incarnation{};
  uint32_t rank = 0;
  uint32_t world_size = 1;
};

// The mapping belongs to the kernel, so that the records survive the process,
// however it dies. The file's blocks are allocated before it is mapped:
// otherwise, a full disk would kill the process.
//
// Any thread may append; one thread drains. A forked child must not touch the
// ring, which is not mapped there.
class Ring {
 public:
  // The behavior of a full ring.
  enum class Overwrite {
    // The new record is refused: older ones are not in the log yet.
    kNever,
    // The oldest record is overwritten.
    kOldest,
  };

  // Creates the file, which has as many records as fit into `bytes`, and locks
  // it for the life of the process. It can grow to `max_bytes`, unless the
  // addresses of the process are limited. With an empty path, the ring is in
  // ordinary memory, and dies with the process.
  static absl::StatusOr<std::unique_ptr<Ring>> Create(const std::string& path,
                                                      uint64_t bytes,
                                                      const RingOwner& owner,
                                                      Overwrite overwrite,
                                                      uint64_t max_bytes = 0);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // --- Any thread. No allocation, no lock, no system call.

  // A reserved place for a record. Its owner fills in everything except the
  // checksum, and commits it.
  struct Slot {
    uint64_t position = 0;
    runs::Record* record = nullptr;
  };
  // Gives the next record a position. False if there is no room, which is
  // counted.
  bool Reserve(Slot* slot);
  void Commit(const Slot& slot);
  // Reserves a slot, and copies the record there. The checksum of `record` is
  // ignored.
  bool Append(const runs::Record& record);
  bool HasRoom() const;
  void CountDroppedRecord() {
    header_->records_dropped.fetch_add(1, std::memory_order_relaxed);
  }
  void CountDroppedTensors(uint64_t count) {
    header_->tensors_dropped.fetch_add(count, std::memory_order_relaxed);
  }
  uint64_t tensors_dropped() const {
    return header_->tensors_dropped.load(std::memory_order_relaxed);
  }
  uint64_t records_dropped() const {
    return header_->records_dropped.load(std::memory_order_relaxed);
  }
  uint64_t head() const {
    return header_->head.load(std::memory_order_acquire);
  }

  // --- The draining thread.

  // The first position that is not in the log yet.
  uint64_t tail() const {
    return header_->tail.load(std::memory_order_relaxed);
  }
  // Copies the record of `position`, which is below head(). False if it is not
  // committed yet, or was overwritten.
  bool Read(uint64_t position, runs::Record* record) const;
  // The committed records from `position` on, in place, up to `end`, which is
  // at most head(), or to the end of the memory. If the ring does not overwrite
  // records, they stay as they are until SetTail.
  absl::Span<const runs::Record> Committed(uint64_t position,
                                           uint64_t end) const;
  bool overwrites() const { return overwrite_ == Overwrite::kOldest; }
  // Positions below are in the log; their slots may be used again.
  void SetTail(uint64_t position) {
    header_->tail.store(position, std::memory_order_release);
  }
  // The first position that has not been overwritten.
  uint64_t oldest() const;
  // Has the kernel let these positions be written to without a page fault. It
  // forbids that again whenever it has written pages of the file to the disk.
  // Has no effect before Linux 5.14.
  void Populate(uint64_t begin, uint64_t end);

  // The ring records that its process has closed it.
  void SetClosed();
  // Removes the file. The memory stays.
  void RemoveFile();

  // Makes the file larger. FAILED_PRECONDITION if the ring cannot grow so far,
  // or a record has been overwritten already; then, and after a failure, the
  // ring has room for as many records as before.
  absl::Status Grow(uint64_t bytes);

  uint64_t capacity() const {
    return header_->capacity.load(std::memory_order_acquire);
  }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Empty if the ring is in ordinary memory.
  const std::string& path() const { return file_.path(); }

 private:
  // Like runs::RingHeader, but what several threads or processes use is atomic.
  struct Header {
    unsigned char constant[16];
    std::atomic<uint64_t> capacity;
    unsigned char constant_too[36];
    std::atomic<uint32_t> state;
    unsigned char gap[64];
    std::atomic<uint64_t> head;
    unsigned char gap_too[56];
    std::atomic<uint64_t> tail;
    unsigned char gap_as_well[56];
    std::atomic<uint64_t> records_dropped;
    std::atomic<uint64_t> tensors_dropped;
  };
  static_assert(offsetof(Header, capacity) ==
                offsetof(runs::RingHeader, capacity));
  static_assert(offsetof(Header, state) == offsetof(runs::RingHeader, state));
  static_assert(offsetof(Header, head) == offsetof(runs::RingHeader, head));
  static_assert(offsetof(Header, tail) == offsetof(runs::RingHeader, tail));
  static_assert(offsetof(Header, records_dropped) ==
                offsetof(runs::RingHeader, records_dropped));
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  Ring(File file, void* memory, size_t bytes, size_t addresses,
       Overwrite overwrite);

  void WriteHeader(const RingOwner& owner);
  // Takes the next position. False if there is no room.
  bool Take(uint64_t* position);
  runs::Record* SlotOf(uint64_t position) const {
    return slots_ + position % capacity();
  }
  // For slots that are neighbors in memory.
  void Populate(const runs::Record* first, uint64_t count);
  // SlotOf for the newest positions, mostly without a division.
  runs::Record* SlotOfNew(uint64_t position);

  File file_;
  Header* const header_;
  runs::Record* const slots_;
  // Changed by the draining thread only.
  std::atomic<uint64_t> bytes_;
  const size_t addresses_;
  const Overwrite overwrite_;
  // A position whose record is in the first slot: of the newest lap, or of an
  // earlier one.
  std::atomic<uint64_t> lap_begin_{0};
};

// Whether a live process holds the lock of this ring. False if there is no such
// file. Must not be asked about a ring of this process, which would lose its
// lock.
bool IsHeldByAnother(const std::string& ring_path);

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_RING_H_
