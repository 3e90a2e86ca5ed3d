// The memory that the server may use, shared by everything that holds much of
// it.
#ifndef SERVER_BASE_MEMORY_BUDGET_H_
#define SERVER_BASE_MEMORY_BUDGET_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg {

// The purpose for which memory is used.
enum class MemoryAccount {
  // The process itself, and everything that no other account counts.
  kProcess,
  // Bodies of HTTP requests.
  kRequests,
  // Responses that have not been sent completely.
  kResponses,
  // Tensors that agents are sending or that a response contains.
  kTensors,
  // Events that are buffered for clients.
  kEvents,
  // Records that wait for the disk.
  kJournal,
  // Graphs, hits and statistics of all jobs.
  kJobs,
};
inline constexpr size_t kMemoryAccounts = 7;

// "process", "requests", ...
std::string_view ToString(MemoryAccount account);

// Counts what is in use and refuses what would exceed the limit. Large
// reservations are refused before small ones, so that users can still control
// their jobs when others have filled the budget. Thread-safe; no function
// blocks.
//
// Objects are owned by shared pointers, because reservations refer to them.
class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
 public:
  // Reservations of this size or more are large.
  static constexpr uint64_t kLargeBytes = uint64_t{1} << 20;

  explicit MemoryBudget(uint64_t limit_bytes) : limit_(limit_bytes) {}

  // Counts bytes as used until it is destroyed. Not thread safe.
  class Reservation {
   public:
    // Counts nothing, and cannot be resized.
    Reservation() = default;
    Reservation(Reservation&& other) noexcept { *this = std::move(other); }
    Reservation& operator=(Reservation&& other) noexcept;
    ~Reservation() { Set(0); }

    uint64_t bytes() const { return bytes_; }
    // Changes the number of bytes. Errors as Reserve; it is unchanged then.
    absl::Status Resize(uint64_t bytes);
    // The same for memory that is in use in any case.
    void Set(uint64_t bytes);

   private:
    friend class MemoryBudget;
    Reservation(std::shared_ptr<MemoryBudget> budget, MemoryAccount account)
        : budget_(std::move(budget)), account_(account) {}

    std::shared_ptr<MemoryBudget> budget_;
    MemoryAccount account_ = MemoryAccount::kProcess;
    uint64_t bytes_ = 0;
  };

  // RESOURCE_EXHAUSTED "out_of_memory_budget".
  absl::StatusOr<Reservation> Reserve(MemoryAccount account, uint64_t bytes);
  // A reservation that is not refused.
  Reservation Count(MemoryAccount account, uint64_t bytes = 0);

  // In ascending order.
  enum class Pressure {
    kNone,
    // Ended jobs are to be forgotten.
    kForgetEndedJobs,
    // New jobs are to be refused.
    kRefuseJobs,
    // Live jobs must not grow.
    kFull
  };
  Pressure pressure() const;
  // An error for something that is refused because of the pressure.
  // RESOURCE_EXHAUSTED "out_of_memory_budget".
  absl::Status Refuse(std::string_view what);

  // Reports the resident memory of the process, so that the budget also counts
  // what is not reserved. To be called periodically.
  void ObserveProcess(uint64_t resident_bytes);

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_; }
  uint64_t used(MemoryAccount account) const {
    return accounts_[static_cast<size_t>(account)];
  }
  // The number of refusals so far.
  uint64_t refusals() const { return refusals_; }

 private:
  // Adds bytes if the sum stays within `ceiling`.
  bool Add(MemoryAccount account, uint64_t bytes, uint64_t ceiling);
  void Remove(MemoryAccount account, uint64_t bytes);

  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
  std::array<std::atomic<uint64_t>, kMemoryAccounts> accounts_{};
  std::atomic<uint64_t> refusals_{0};
};

// The memory of this process that is not backed by files. 0 if it is unknown.
uint64_t ResidentBytes();

}  // namespace graphdbg

#endif  // SERVER_BASE_MEMORY_BUDGET_H_
