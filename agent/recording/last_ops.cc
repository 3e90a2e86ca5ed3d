#include "agent/recording/last_ops.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "proto/wire/status_macros.h"

namespace graphdbg::recording {
namespace {

// Cheaper than the exact clock by more than the rest of Begin.
uint64_t CoarseUnixNanoseconds() {
  constexpr uint64_t kPerSecond = 1'000'000'000;
  timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * kPerSecond +
         static_cast<uint64_t>(now.tv_nsec);
}

void SetText(const agent::StartedOp& op, runs::LastOpSlot* slot) {
  const size_t name = std::min(op.name.size(), sizeof(slot->text));
  // A part of a path is none.
  const size_t file =
      op.file.size() <= sizeof(slot->text) - name ? op.file.size() : 0;
  std::memcpy(slot->text, op.name.data(), name);
  std::memcpy(slot->text + name, op.file.data(), file);
  slot->name_bytes = static_cast<uint16_t>(name);
  slot->file_bytes = static_cast<uint16_t>(file);
  slot->line = file == 0 ? 0 : op.line;
  slot->text_node = op.node;
}

}  // namespace

class LastOps::Claim {
 public:
  ~Claim() { Release(); }

  Slot* slot(LastOps* ops) {
    if (ops_.get() != ops) Set(ops);
    return slot_;
  }

 private:
  void Set(LastOps* ops) {
    Release();
    // Keeps the file mapped for as long as this thread may store into it.
    ops_ = ops->shared_from_this();
    slot_ = ops->FreeSlot();
  }
  void Release() {
    // In a forked child, there is nothing at this address.
    if (slot_ != nullptr && ops_->pid_ == getpid()) {
      slot_->thread.store(0, std::memory_order_release);
    }
    slot_ = nullptr;
  }

  std::shared_ptr<LastOps> ops_;
  Slot* slot_ = nullptr;
};

absl::StatusOr<std::shared_ptr<LastOps>> LastOps::Create(
    const std::string& path, const RingOwner& owner) {
  ASSIGN_OR_RETURN(File file, File::Create(path));
  constexpr auto kBytes = static_cast<off_t>(runs::kLastOpsFileBytes);
  void* memory = MAP_FAILED;
  int error = posix_fallocate(file.fd(), 0, kBytes);
  if (error == 0) {
    memory = mmap(nullptr, runs::kLastOpsFileBytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_POPULATE, file.fd(), 0);
    if (memory == MAP_FAILED) error = errno;
  }
  if (error != 0) {
    unlink(path.c_str());
    return ErrorOf(error, "allocate", path);
  }
  madvise(memory, runs::kLastOpsFileBytes, MADV_DONTFORK);
  runs::LastOpsHeader header;
  header.rank = owner.rank;
  header.incarnation = owner.incarnation;
  std::memcpy(memory, &header, sizeof(header));
  return std::shared_ptr<LastOps>(new LastOps(std::move(file), memory));
}

LastOps::LastOps(File file, void* memory)
    : file_(std::move(file)), memory_(memory), pid_(getpid()) {}

LastOps::~LastOps() {
  if (pid_ == getpid()) munmap(memory_, runs::kLastOpsFileBytes);
}

LastOps::Claim& LastOps::OfThisThread() {
  thread_local Claim claim;
  return claim;
}

LastOps::Slot* LastOps::SlotOfThisThread() { return OfThisThread().slot(this); }

LastOps::Slot* LastOps::FreeSlot() {
  auto* const slots = reinterpret_cast<Slot*>(static_cast<char*>(memory_) +
                                              runs::kLastOpsHeaderBytes);
  const auto thread = static_cast<uint32_t>(syscall(SYS_gettid));
  for (uint32_t i = 0; i < runs::kLastOpSlots; ++i) {
    uint32_t free = 0;
    if (!slots[i].thread.compare_exchange_strong(free, thread)) continue;
    // The slot may still hold an op that its former thread did not end.
    slots[i].sequence.store(0, std::memory_order_relaxed);
    reinterpret_cast<runs::LastOpSlot*>(&slots[i])->node = 0;
    return &slots[i];
  }
  return nullptr;
}

void LastOps::Begin(const agent::StartedOp& op) {
  Slot* const slot = SlotOfThisThread();
  if (slot == nullptr) return;
  auto* const fields = reinterpret_cast<runs::LastOpSlot*>(slot);
  fields->step = op.step;
  fields->begin_unix_ns = CoarseUnixNanoseconds();
  fields->exec_order =
      static_cast<uint32_t>(std::min<uint64_t>(op.exec_order, UINT32_MAX));
  if (!op.name.empty()) {
    SetText(op, fields);
  } else if (fields->text_node != op.node) {
    fields->text_node = 0;
  }
  fields->node = op.node;
  const uint64_t sequence = slot->sequence.load(std::memory_order_relaxed);
  slot->sequence.store(sequence | 1, std::memory_order_release);
}

void LastOps::End() {
  Slot* const slot = SlotOfThisThread();
  if (slot == nullptr) return;
  const uint64_t sequence = slot->sequence.load(std::memory_order_relaxed);
  slot->sequence.store(sequence + sequence % 2, std::memory_order_release);
}

bool LastOps::OthersRun() const {
  const auto* const slots = reinterpret_cast<const Slot*>(
      static_cast<const char*>(memory_) + runs::kLastOpsHeaderBytes);
  const auto self = static_cast<uint32_t>(syscall(SYS_gettid));
  return std::any_of(slots, slots + runs::kLastOpSlots, [&](const Slot& slot) {
    const uint32_t thread = slot.thread.load(std::memory_order_acquire);
    return thread != 0 && thread != self &&
           slot.sequence.load(std::memory_order_acquire) % 2 == 1;
  });
}

void LastOps::RemoveFile() { unlink(file_.path().c_str()); }

}  // namespace graphdbg::recording
