// Who hears of events.
#ifndef SERVER_JOBS_EVENT_HUB_H_
#define SERVER_JOBS_EVENT_HUB_H_

#include <memory>
#include <mutex>
#include <vector>

#include "server/jobs/interfaces.h"

namespace graphdbg::jobs {

// Any thread. Sinks are called on the publisher's thread, without a lock that
// others wait for except whoever takes away that very sink.
class EventHub {
 public:
  // Once the handle is destroyed the sink is not called any more; destroying it
  // waits for a call under way on another thread.
  std::shared_ptr<void> Subscribe(EventSink sink);

  void Publish(const std::shared_ptr<const model::Event>& event);

 private:
  struct Subscriber {
    // Recursive: a sink may drop its own handle.
    std::recursive_mutex mu;
    EventSink sink;
    bool gone = false;
  };

  std::mutex mu_;
  std::vector<std::weak_ptr<Subscriber>> subscribers_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_EVENT_HUB_H_
