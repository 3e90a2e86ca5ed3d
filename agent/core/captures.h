#ifndef AGENT_CORE_CAPTURES_H_
#define AGENT_CORE_CAPTURES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/base/mutex.h"
#include "agent/core/bundle.h"
#include "agent/core/config.h"
#include "agent/core/node_table.h"
#include "proto/graphdbg/v1/watch.pb.h"

namespace graphdbg::agent {

// The action `capture`: writes bundles of hits to files before the program goes
// on. Any thread, except where noted.
class Captures {
 public:
  // All pointers must outlive this. `config` may change until the first hit.
  // `notify` shows the user a line.
  struct Parts {
    const Config* config;
    const Host* host;
    const NodeTable* nodes;
    const BundleWriter* writer;
    std::function<void(const std::string& line)> notify;
  };
  explicit Captures(Parts parts) : parts_(std::move(parts)) {}
  // Has the program keep what a bundle of the whole step needs, if the
  // configuration or a watchpoint asks for that. Called once before the first
  // step, when the configuration is known.
  void Start() GRAPHDBG_EXCLUDES(mu_);

  // A watchpoint was set or removed.
  void Set(const v1::SetWatchpoint& watchpoint) GRAPHDBG_EXCLUDES(mu_);
  void Remove(uint32_t watchpoint) GRAPHDBG_EXCLUDES(mu_);
  // The next execution of this node is captured because of `cause`, such as
  // "rule 'spike'". No effect for 0.
  void CaptureNext(uint32_t node, const std::string& cause)
      GRAPHDBG_EXCLUDES(mu_);

  // A watchpoint has a hit that counts. It is captured at the next call of
  // WriteDue in the same step.
  void OnHit(const v1::Hit& hit) GRAPHDBG_EXCLUDES(mu_);
  // A node has executed.
  void Executed(uint32_t node, uint64_t step) GRAPHDBG_EXCLUDES(mu_) {
    if (any_awaited_.load(std::memory_order_relaxed)) CheckAwaited(node, step);
  }
  // Writes what is due. Training threads, from an execution or the end of a
  // step.
  void WriteDue(uint64_t step) GRAPHDBG_EXCLUDES(mu_) {
    if (any_due_.load(std::memory_order_relaxed)) WriteAll(step);
  }

  // A bundle of the current step, with the job's names and the environment.
  BundleSubject SubjectOf(uint32_t node, uint32_t slot, uint64_t step) const;

 private:
  struct Due {
    uint32_t node = 0;
    uint32_t slot = 0;
    uint64_t step = 0;
    // JSON.
    std::string hit;
  };

  void UpdateTape() GRAPHDBG_REQUIRES(mu_);
  void CheckAwaited(uint32_t node, uint64_t step) GRAPHDBG_EXCLUDES(mu_);
  void WriteAll(uint64_t step) GRAPHDBG_EXCLUDES(mu_);
  // Returns the path.
  absl::StatusOr<std::string> Write(const Due& due);
  std::string HitJson(const v1::Hit& hit, const v1::Condition& condition) const;

  const Parts parts_;
  std::atomic<bool> any_due_{false};
  std::atomic<bool> any_awaited_{false};

  mutable Mutex mu_;
  // The watchpoints with this action, by id.
  std::map<uint32_t, v1::SetWatchpoint> watched_ GRAPHDBG_GUARDED_BY(mu_);
  graphdbg_tape_mode tape_ GRAPHDBG_GUARDED_BY(mu_) = GRAPHDBG_TAPE_OFF;
  // Causes by node.
  std::map<uint32_t, std::string> awaited_ GRAPHDBG_GUARDED_BY(mu_);
  std::vector<Due> due_ GRAPHDBG_GUARDED_BY(mu_);
  // Bundles that were written, and hits of which none could be.
  uint32_t written_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  uint32_t failed_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_CAPTURES_H_
