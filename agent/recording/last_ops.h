// Which op each thread runs, in a file that survives the process.
#ifndef AGENT_RECORDING_LAST_OPS_H_
#define AGENT_RECORDING_LAST_OPS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/core/recording.h"
#include "agent/recording/file.h"
#include "agent/recording/ring.h"
#include "proto/runs/last_ops.h"

namespace graphdbg::recording {

// Any thread. Begin and End take no lock and make no system call, except when a
// thread begins its first op. Threads that find no free slot are not followed;
// a thread that ends gives its slot back.
//
// A forked child must not use the object: the file is not mapped there.
class LastOps : public std::enable_shared_from_this<LastOps> {
 public:
  // Creates the file, with its blocks allocated.
  static absl::StatusOr<std::shared_ptr<LastOps>> Create(
      const std::string& path, const RingOwner& owner);
  ~LastOps();
  LastOps(const LastOps&) = delete;
  LastOps& operator=(const LastOps&) = delete;

  // This thread begins an op, and has ended it.
  void Begin(const agent::StartedOp& op);
  void End();

  // Whether any thread but this one is in the midst of an op.
  bool OthersRun() const;
  void RemoveFile();

 private:
  // Like runs::LastOpSlot, but what several threads or processes use is atomic.
  struct Slot {
    std::atomic<uint64_t> sequence;
    unsigned char fields[24];
    std::atomic<uint32_t> thread;
    unsigned char text[476];
  };
  static_assert(sizeof(Slot) == sizeof(runs::LastOpSlot));
  static_assert(offsetof(Slot, thread) == offsetof(runs::LastOpSlot, thread));

  // The slot of a thread, which it gives back when it ends.
  class Claim;
  static Claim& OfThisThread();

  LastOps(File file, void* memory);

  // Null if there is no free one.
  Slot* FreeSlot();
  Slot* SlotOfThisThread();

  const File file_;
  void* const memory_;
  const int pid_;
};

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_LAST_OPS_H_
