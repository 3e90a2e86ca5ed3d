// The scalars that the program tells, such as an accuracy, for the server.
#ifndef AGENT_CORE_METRICS_H_
#define AGENT_CORE_METRICS_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/base/mutex.h"
#include "graphdbg/agent.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::agent {

// Any thread.
class Metrics {
 public:
  // Keeps the value of a tensor with one element in host memory, instead of the
  // one before. Ignores other tensors, and names beyond the wire's limits.
  void Tell(absl::string_view name, const graphdbg_tensor& tensor)
      GRAPHDBG_EXCLUDES(mu_);
  void AddTo(v1::Goodbye* goodbye) const GRAPHDBG_EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  std::map<std::string, double, std::less<>> values_ GRAPHDBG_GUARDED_BY(mu_);
  size_t name_bytes_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_METRICS_H_
