// Finds the job of a process that comes back.
#ifndef SERVER_JOBS_PROCESS_INDEX_H_
#define SERVER_JOBS_PROCESS_INDEX_H_

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "server/jobs/agent_port.h"

namespace graphdbg::jobs {

class LiveJob;

// Several jobs have the same requested id if it was run several times. A
// process that reconnects belongs to the job that it was in before, even if a
// newer run has the id by now.
//
// A process proves who it is by its incarnation, which is secret. Only a hash
// is kept and searched for, so that the time it takes reveals nothing; the job
// then compares the incarnation itself (SameProcess). Not thread-safe.
class ProcessIndex {
 public:
  // `requested_id` is the id that the process asks for. A process without an
  // incarnation cannot be recognized, so it is not added.
  void Add(const std::string& requested_id, const AgentHello& hello,
           const std::shared_ptr<LiveJob>& job);
  // Null if the process is not known or cannot be recognized, or if its job was
  // forgotten.
  std::shared_ptr<LiveJob> Find(const AgentHello& hello) const;

 private:
  std::unordered_map<size_t, std::weak_ptr<LiveJob>> jobs_;
  // Forgotten jobs are removed when the index grows to this size.
  size_t prune_at_ = 1'000;
};

// Whether both incarnations are those of one process. Compares in constant
// time.
bool SameProcess(const AgentHello& one, const AgentHello& other);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_PROCESS_INDEX_H_
