#include "server/base/memory_budget.h"

#include <unistd.h>

#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg {
namespace {

// Percentages of the limit: how far reservations may fill the budget, and where
// each pressure begins.
constexpr uint64_t kLargeCeiling = 75;
constexpr uint64_t kSmallCeiling = 90;
constexpr uint64_t kForget = 85;
constexpr uint64_t kRefuseJobs = 95;
constexpr uint64_t kFull = 100;

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

uint64_t Percent(uint64_t limit, uint64_t percentage) {
  return limit / 100 * percentage + limit % 100 * percentage / 100;
}

}  // namespace

std::string_view ToString(MemoryAccount account) {
  switch (account) {
    case MemoryAccount::kProcess:
      return "process";
    case MemoryAccount::kRequests:
      return "requests";
    case MemoryAccount::kResponses:
      return "responses";
    case MemoryAccount::kTensors:
      return "tensors";
    case MemoryAccount::kEvents:
      return "events";
    case MemoryAccount::kJournal:
      return "journal";
    case MemoryAccount::kJobs:
      return "jobs";
  }
  return "";
}

MemoryBudget::Reservation& MemoryBudget::Reservation::operator=(
    Reservation&& other) noexcept {
  if (this == &other) return *this;
  Set(0);
  budget_ = std::move(other.budget_);
  account_ = other.account_;
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

absl::Status MemoryBudget::Reservation::Resize(uint64_t bytes) {
  if (budget_ != nullptr && bytes > bytes_) {
    const uint64_t ceiling = Percent(
        budget_->limit_, bytes >= kLargeBytes ? kLargeCeiling : kSmallCeiling);
    if (!budget_->Add(account_, bytes - bytes_, ceiling)) {
      return budget_->Refuse(absl::StrCat(bytes, " bytes"));
    }
    bytes_ = bytes;
  }
  Set(bytes);
  return absl::OkStatus();
}

void MemoryBudget::Reservation::Set(uint64_t bytes) {
  if (budget_ == nullptr) return;
  if (bytes > bytes_) budget_->Add(account_, bytes - bytes_, kUnlimited);
  if (bytes < bytes_) budget_->Remove(account_, bytes_ - bytes);
  bytes_ = bytes;
}

absl::StatusOr<MemoryBudget::Reservation> MemoryBudget::Reserve(
    MemoryAccount account, uint64_t bytes) {
  Reservation reservation = Count(account);
  if (auto resized = reservation.Resize(bytes); !resized.ok()) return resized;
  return reservation;
}

MemoryBudget::Reservation MemoryBudget::Count(MemoryAccount account,
                                              uint64_t bytes) {
  Reservation reservation(shared_from_this(), account);
  reservation.Set(bytes);
  return reservation;
}

bool MemoryBudget::Add(MemoryAccount account, uint64_t bytes,
                       uint64_t ceiling) {
  uint64_t used = used_;
  do {
    if (bytes > ceiling || used > ceiling - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  accounts_[static_cast<size_t>(account)] += bytes;
  return true;
}

void MemoryBudget::Remove(MemoryAccount account, uint64_t bytes) {
  accounts_[static_cast<size_t>(account)] -= bytes;
  used_ -= bytes;
}

MemoryBudget::Pressure MemoryBudget::pressure() const {
  const uint64_t used = used_;
  if (used >= Percent(limit_, kFull)) return Pressure::kFull;
  if (used >= Percent(limit_, kRefuseJobs)) return Pressure::kRefuseJobs;
  if (used >= Percent(limit_, kForget)) return Pressure::kForgetEndedJobs;
  return Pressure::kNone;
}

absl::Status MemoryBudget::Refuse(std::string_view what) {
  ++refusals_;
  return Error(
      absl::StatusCode::kResourceExhausted, "out_of_memory_budget",
      absl::StrCat("no memory for ", std::string(what), ": the server uses ",
                   used(), " of ", limit_,
                   " bytes (--max-memory); try again later, or delete jobs "
                   "that have ended"));
}

void MemoryBudget::ObserveProcess(uint64_t resident_bytes) {
  std::atomic<uint64_t>& process =
      accounts_[static_cast<size_t>(MemoryAccount::kProcess)];
  const uint64_t before = process;
  const uint64_t reserved = used_ - before;
  const uint64_t after =
      resident_bytes > reserved ? resident_bytes - reserved : 0;
  process = after;
  used_ += after - before;
}

uint64_t ResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long long size = 0;
  unsigned long long resident = 0;
  unsigned long long shared = 0;
  const int read =
      std::fscanf(file, "%llu %llu %llu", &size, &resident, &shared);
  std::fclose(file);
  if (read != 3 || resident < shared) return 0;
  return (resident - shared) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace graphdbg
