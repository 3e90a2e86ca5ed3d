// Distributes events to subscribers.
#ifndef SERVER_JOBS_EVENT_BUS_H_
#define SERVER_JOBS_EVENT_BUS_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/interfaces.h"

namespace graphdbg::jobs {

// Thread safe. Sinks run on the publishing thread. No lock that other
// publishers need for other sinks is held during a call.
class EventBus {
 public:
  // Destroying the returned handle ends the subscription. It waits for a call
  // in progress on another thread, after which the sink is never called again.
  // A sink may destroy its own handle.
  std::shared_ptr<void> Subscribe(EventSink sink);

  // Sinks must not publish to the bus that called them.
  void Publish(const std::shared_ptr<const model::Event>& event);

 private:
  class Subscriber;

  absl::Mutex mu_;
  std::vector<std::weak_ptr<Subscriber>> subscribers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_EVENT_BUS_H_
