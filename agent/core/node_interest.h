// Which executions the agent follows.
#ifndef AGENT_CORE_NODE_INTEREST_H_
#define AGENT_CORE_NODE_INTEREST_H_

#include <atomic>
#include <cstdint>

#include "agent/base/mutex.h"
#include "agent/core/gate.h"
#include "agent/core/node_table.h"
#include "agent/core/requested_nodes.h"
#include "agent/core/value_keeper.h"
#include "agent/core/watch_table.h"

namespace graphdbg::agent {

class Recorder;
class RecorderSwitch;

// Derives from the user's commands, watchpoints and requests which nodes'
// executions the adapter has to report. The result is a mask of NodeFlags, so
// that the question costs two loads on the hot path.
//
// Any thread. Update takes a lock, so that the newest state of the gate and the
// watch table wins; the other functions take none.
class NodeInterest {
 public:
  // All must outlive this.
  struct Parts {
    const NodeTable* nodes;
    const Gate* gate;
    const WatchTable* watch;
    RequestedNodes* requested;
    ValueKeeper* values;
    const RecorderSwitch* recorders;
  };
  NodeInterest(const Parts& parts, bool partial_memory)
      : parts_(parts), partial_memory_(partial_memory) {}

  // --- The hot path.

  bool any() const { return flags_.load(std::memory_order_relaxed) != 0; }
  // Returns GRAPHDBG_INTEREST_...
  int In(const NodeFacts& facts) const {
    const uint8_t matching = facts.flags.load(std::memory_order_relaxed) &
                             flags_.load(std::memory_order_relaxed);
    if (matching == 0) return GRAPHDBG_INTEREST_NONE;
    const uint8_t required = required_flags_.load(std::memory_order_relaxed);
    return (matching & required) != 0 ? GRAPHDBG_INTEREST_REQUIRED
                                      : GRAPHDBG_INTEREST_OPTIONAL;
  }
  // Whether executions are required only because their values may be NaN or
  // infinite.
  bool only_nonfinite() const { return only_nonfinite_; }
  // Whether executions would not be required if nothing were recorded, unless a
  // result is NaN or infinite.
  bool only_recorded() const { return only_recorded_; }
  // Whether each execution has to go through the gate.
  bool every_node_stops() const { return every_node_stops_; }

  // --- Changes.

  // Something that determines the interest has changed. Also updates the flags
  // of the awaited node and the values that are kept. Returns the
  // GRAPHDBG_LEVEL_... at which the host has to report.
  int Update() GRAPHDBG_EXCLUDES(mu_);
  // Whether every execution is of interest, until further notice. Update
  // follows.
  void FollowAll(bool all) { follows_all_ = all; }
  // A step has ended. After the first ones, ops are reported only if there is a
  // reason to.
  void EndStep() { ++steps_ended_; }
  // Whether the end of another step changes nothing, unless something is
  // recorded in the next one.
  bool settled() const { return settled_.load(std::memory_order_relaxed); }
  // Everything has been done that the end of a step makes necessary.
  void FinishStep() GRAPHDBG_EXCLUDES(mu_);
  // The end of this step has something to do.
  void UnfinishStep() GRAPHDBG_EXCLUDES(mu_);
  // Whether nothing has been watched, recorded or asked for since the last call
  // of FinishStep, except conditions that the program reports, so that the end
  // of a step has nothing to do.
  bool idle() const { return idle_.load(std::memory_order_relaxed); }
  // Like idle, except that the overview may be measured. Its recorder still
  // needs to know when a step ends and when the next one begins.
  bool calm() const { return calm_.load(std::memory_order_relaxed); }
  // Whether the last Update found the recorder with the same things to record.
  bool Knows(const Recorder& recorder) const;
  // Nothing is of interest from now on. Takes no lock, so a forked child may
  // call it.
  void TurnOff() {
    off_ = true;
    flags_ = 0;
    idle_ = false;
    calm_ = false;
  }

 private:
  void UpdateAwaitedNode(uint32_t node) GRAPHDBG_REQUIRES(mu_);
  // Requests expire when the program resumes.
  void ExpireRequests(const Gate::Needs& needs) GRAPHDBG_REQUIRES(mu_);

  const Parts parts_;
  const bool partial_memory_;

  // Reasons for which an execution is reported, and those of them for which it
  // must be.
  std::atomic<uint8_t> flags_{0};
  std::atomic<uint8_t> required_flags_{0};
  std::atomic<bool> only_nonfinite_{false};
  std::atomic<bool> only_recorded_{false};
  std::atomic<bool> every_node_stops_{false};
  std::atomic<bool> follows_all_{false};
  std::atomic<uint64_t> steps_ended_{0};
  std::atomic<bool> settled_{false};
  std::atomic<bool> idle_{false};
  std::atomic<bool> calm_{false};
  std::atomic<bool> records_{false};
  std::atomic<bool> records_everything_{false};
  std::atomic<bool> off_{false};

  Mutex mu_;
  // Whether nothing is watched, recorded or asked for, with that exception; and
  // whether this is so apart from the overview.
  bool unasked_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool unasked_by_users_ GRAPHDBG_GUARDED_BY(mu_) = false;
  uint32_t awaited_node_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // The number of the last pause after which requests expired.
  uint64_t resumed_pause_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_NODE_INTEREST_H_
