// Who looks at which job.
#ifndef SERVER_JOBS_VIEWERS_H_
#define SERVER_JOBS_VIEWERS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace graphdbg::jobs {

// Counts the connections that follow the events of each job, such as pages.
//
// Thread-safe.
class Viewers : public std::enable_shared_from_this<Viewers> {
 public:
  // Counts a viewer of the job until the returned handle is destroyed.
  std::shared_ptr<void> Add(std::string job);

  uint32_t Count(const std::string& job) const;
  // The sum over all jobs.
  uint32_t Count() const;

 private:
  void Remove(const std::string& job);

  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, uint32_t> counts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_VIEWERS_H_
