// The scalars that the program saves, such as an accuracy, which the server
// receives when the program ends.
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
  // Replaces the value of `name` by that of a tensor with one element in host
  // memory. Ignores other tensors, and names beyond the wire's limits.
  void Set(absl::string_view name, const graphdbg_tensor& tensor)
      GRAPHDBG_EXCLUDES(mu_);
  void AddTo(v1::Goodbye* goodbye) const GRAPHDBG_EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  std::map<std::string, double, std::less<>> values_ GRAPHDBG_GUARDED_BY(mu_);
  size_t name_bytes_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_METRICS_H_
