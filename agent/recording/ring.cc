#include "agent/recording/ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/recording/clock.h"
#include "proto/runs/ring.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recording {
namespace {

struct flock WholeFile(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// How many addresses to reserve for a ring that may grow to this size. Nothing
// is allocated for them, but they count where a program's addresses are
// limited.
size_t AddressesFor(uint64_t bytes, uint64_t max_bytes) {
  rlimit limit;
  const bool limited =
      getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? bytes : std::max(bytes, max_bytes);
}

// A child has no use for it, and a core dump has enough without.
void KeepToProcess(void* memory, size_t bytes) {
  madvise(memory, bytes, MADV_DONTFORK);
  madvise(memory, bytes, MADV_DONTDUMP);
}

uint64_t CapacityOf(uint64_t bytes) {
  return (bytes - runs::kRingHeaderBytes) / runs::kRecordBytes;
}

// How many records ahead memory is fetched. Writing these takes about as long
// as fetching, even if the address of the page has to be looked up.
constexpr size_t kPrefetchDistance = 12;

// Has the memory of a record brought into the cache, to be written. Without
// that, each record waits for it: to take a position, a thread waits until all
// it has written is in the cache. The address may be beyond the memory.
void PrefetchForWrite(const runs::Record* record) {
  constexpr size_t kLineBytes = 64;
  for (size_t at = 0; at < runs::kRecordBytes; at += kLineBytes) {
    const char* const line = reinterpret_cast<const char*>(record) + at;
#if defined(__x86_64__)
    // Any x86-64 processor accepts the instruction, some do nothing. Compilers
    // use it only for those that are known to obey it.
    asm volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, /*rw=*/1);
#endif
  }
}

// MADV_POPULATE_WRITE, which the headers of older systems lack.
constexpr int kPopulateForWriting = 23;
// In records: during a call, other threads cannot map memory.
constexpr uint64_t kPopulatedAtOnce = 1024;

// Allocates the file's blocks, and locks it.
absl::Status Prepare(const File& file, uint64_t bytes) {
  const int error = posix_fallocate(file.fd(), 0, static_cast<off_t>(bytes));
  RETURN_IF_ERROR(ErrorOf(error, "allocate", file.path()));
  // Not flock(): a forked child would hold it beyond the death of this process.
  struct flock lock = WholeFile(F_WRLCK);
  const bool locked = fcntl(file.fd(), F_SETLK, &lock) == 0;
  return ErrorOf(locked ? 0 : errno, "lock", file.path());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Ring>> Ring::Create(const std::string& path,
                                                   uint64_t bytes,
                                                   const RingOwner& owner,
                                                   Overwrite overwrite,
                                                   uint64_t max_bytes) {
  if (bytes < runs::kMinRingBytes || bytes > runs::kMaxRingBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a ring of ", bytes, " bytes; it must have 1 MiB to 4 GiB"));
  }
  File file;
  const size_t addresses = AddressesFor(bytes, max_bytes);
  int flags = MAP_SHARED | MAP_POPULATE | MAP_FIXED;
  if (path.empty()) {
    flags |= MAP_ANONYMOUS;
  } else {
    ASSIGN_OR_RETURN(file, File::Create(path));
    if (absl::Status status = Prepare(file, bytes); !status.ok()) {
      unlink(path.c_str());
      return status;
    }
  }
  void* const room = mmap(nullptr, addresses, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* const memory =
      room == MAP_FAILED
          ? room
          : mmap(room, bytes, PROT_READ | PROT_WRITE, flags, file.fd(), 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    if (room != MAP_FAILED) munmap(room, addresses);
    if (!path.empty()) unlink(path.c_str());
    return ErrorOf(error, "map", path.empty() ? "memory" : path);
  }
  KeepToProcess(memory, bytes);
  std::unique_ptr<Ring> ring(
      new Ring(std::move(file), memory, bytes, addresses, overwrite));
  ring->WriteHeader(owner);
  return ring;
}

absl::Status Ring::Grow(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (path().empty() || bytes <= bytes_ || bytes > addresses_ ||
      bytes_ % page != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a ring of ", this->bytes(), " bytes cannot have ", bytes, " bytes"));
  }
  const int error = posix_fallocate(file_.fd(), static_cast<off_t>(bytes_),
                                    static_cast<off_t>(bytes - bytes_));
  RETURN_IF_ERROR(ErrorOf(error, "allocate", path()));
  char* const end = reinterpret_cast<char*>(header_) + bytes_;
  if (mmap(end, bytes - bytes_, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_POPULATE | MAP_FIXED, file_.fd(),
           static_cast<off_t>(bytes_)) == MAP_FAILED) {
    return ErrorOf(errno, "map", path());
  }
  KeepToProcess(end, bytes - bytes_);
  bytes_ = bytes;
  if (head() >= capacity()) {
    return absl::FailedPreconditionError("records have been overwritten");
  }
  header_->capacity.store(CapacityOf(bytes), std::memory_order_release);
  return absl::OkStatus();
}

Ring::Ring(File file, void* memory, size_t bytes, size_t addresses,
           Overwrite overwrite)
    : file_(std::move(file)),
      header_(static_cast<Header*>(memory)),
      slots_(reinterpret_cast<runs::Record*>(static_cast<char*>(memory) +
                                             runs::kRingHeaderBytes)),
      bytes_(bytes),
      addresses_(addresses),
      overwrite_(overwrite) {}

Ring::~Ring() { munmap(header_, addresses_); }

void Ring::WriteHeader(const RingOwner& owner) {
  runs::RingHeader header{};
  header.magic = runs::kRingMagic;
  header.header_bytes = runs::kRingHeaderBytes;
  header.record_bytes = runs::kRecordBytes;
  header.capacity = CapacityOf(bytes_);
  header.start_unix_ns = UnixNanoseconds();
  header.incarnation = owner.incarnation;
  header.rank = owner.rank;
  header.world_size = owner.world_size;
  header.pid = static_cast<uint32_t>(getpid());
  header.state = static_cast<uint32_t>(runs::RingState::kOpen);
  std::memcpy(static_cast<void*>(header_), &header, sizeof(header));
}

bool Ring::HasRoom() const {
  return overwrite_ == Overwrite::kOldest ||
         header_->head.load(std::memory_order_relaxed) -
                 header_->tail.load(std::memory_order_acquire) <
             capacity();
}

bool Ring::Take(uint64_t* position) {
  uint64_t head = header_->head.load(std::memory_order_relaxed);
  do {
    if (overwrite_ == Overwrite::kNever &&
        head - header_->tail.load(std::memory_order_acquire) >= capacity()) {
      return false;
    }
  } while (!header_->head.compare_exchange_weak(
      head, head + 1, std::memory_order_acq_rel, std::memory_order_relaxed));
  *position = head;
  return true;
}

runs::Record* Ring::SlotOfNew(uint64_t position) {
  // Threads may store the beginnings of two laps in any order, and the capacity
  // only changes in the first one: either value is correct.
  uint64_t index = position - lap_begin_.load(std::memory_order_relaxed);
  const uint64_t capacity = this->capacity();
  if (index >= capacity) {
    index = position % capacity;
    lap_begin_.store(position - index, std::memory_order_relaxed);
  }
  return slots_ + index;
}

bool Ring::Reserve(Slot* slot) {
  if (!Take(&slot->position)) {
    CountDroppedRecord();
    return false;
  }
  slot->record = SlotOfNew(slot->position);
  PrefetchForWrite(slot->record + kPrefetchDistance);
  // Whoever reads the slot meanwhile sees a bad checksum, at whatever moment
  // the process is interrupted.
  __atomic_store_n(&slot->record->crc, 0, __ATOMIC_RELAXED);
  std::atomic_thread_fence(std::memory_order_release);
  return true;
}

void Ring::Commit(const Slot& slot) {
  __atomic_store_n(&slot.record->crc,
                   runs::RecordCrc(slot.position, *slot.record),
                   __ATOMIC_RELEASE);
}

bool Ring::Append(const runs::Record& record) {
  Slot slot;
  if (!Reserve(&slot)) return false;
  constexpr size_t kCrcBytes = sizeof(record.crc);
  std::memcpy(reinterpret_cast<char*>(slot.record) + kCrcBytes,
              reinterpret_cast<const char*>(&record) + kCrcBytes,
              runs::kRecordBytes - kCrcBytes);
  Commit(slot);
  return true;
}

bool Ring::Read(uint64_t position, runs::Record* record) const {
  return runs::ReadSlot(*SlotOf(position), position, record);
}

absl::Span<const runs::Record> Ring::Committed(uint64_t position,
                                               uint64_t end) const {
  const runs::Record* const first = SlotOf(position);
  const auto behind = static_cast<uint64_t>(slots_ + capacity() - first);
  const uint64_t most = std::min(end - position, behind);
  uint64_t count = 0;
  while (count < most && runs::IsCommitted(first[count], position + count)) {
    ++count;
  }
  return absl::MakeConstSpan(first, count);
}

uint64_t Ring::oldest() const {
  const uint64_t end = head();
  const uint64_t capacity = this->capacity();
  return end > capacity ? end - capacity : 0;
}

void Ring::Populate(uint64_t begin, uint64_t end) {
  end = std::min(end, begin + capacity());
  while (begin < end) {
    runs::Record* const first = SlotOf(begin);
    const auto behind = static_cast<uint64_t>(slots_ + capacity() - first);
    const uint64_t count = std::min({end - begin, behind, kPopulatedAtOnce});
    Populate(first, count);
    begin += count;
  }
}

void Ring::Populate(const runs::Record* first, uint64_t count) {
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uint64_t>(first) / page * page;
  const auto end = reinterpret_cast<uint64_t>(first + count);
  madvise(reinterpret_cast<void*>(begin), end - begin, kPopulateForWriting);
}

void Ring::SetClosed() {
  header_->state.store(static_cast<uint32_t>(runs::RingState::kClosed),
                       std::memory_order_release);
}

void Ring::RemoveFile() {
  if (file_.is_open()) unlink(file_.path().c_str());
}

bool IsHeldByAnother(const std::string& ring_path) {
  const int fd = open(ring_path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  struct flock lock = WholeFile(F_WRLCK);
  const bool held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(fd);
  return held;
}

}  // namespace graphdbg::recording
