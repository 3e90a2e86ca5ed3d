// The transport of a job without a server.
#ifndef AGENT_CORE_NO_TRANSPORT_H_
#define AGENT_CORE_NO_TRANSPORT_H_

#include "agent/core/link.h"

namespace graphdbg::agent {

// Never opens a stream.
class NoTransport final : public Transport {
 public:
  void Start(Link*) override {}
  void Cancel() override {}
  void Finish(std::chrono::milliseconds) override {}
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_NO_TRANSPORT_H_
