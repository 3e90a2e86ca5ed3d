// Sends events to one client over a WebSocket (see proto/http/openapi.yaml).
#ifndef SERVER_API_EVENT_STREAM_H_
#define SERVER_API_EVENT_STREAM_H_

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/api/json.h"
#include "server/api/json_reading.h"
#include "server/api/services.h"
#include "server/http/message.h"

namespace graphdbg::api {

// Runs on the connection's strand; only Wake() is called on other threads.
class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  // `services` must outlive the stream.
  EventStream(const Services& services, boost::asio::any_io_executor strand,
              std::shared_ptr<http::MessageChannel> channel);

  // Runs until the peer closes the connection or fails to authenticate.
  boost::asio::awaitable<void> Run(http::Request request);

 private:
  struct Subscription {
    // The seq of the last event sent or, for all jobs, the buffer's position.
    uint64_t next = 0;
    bool needs_snapshot = true;
    // Counts this stream among those who look at the job; null for all jobs.
    std::shared_ptr<void> viewer;
  };

  boost::asio::awaitable<bool> Authenticate(const http::Request& request);
  // Ends the stream with a reason if its token or session has ended.
  boost::asio::awaitable<bool> EndIfRevoked();
  boost::asio::awaitable<void> ReadMessages();
  void HandleMessage(const std::string& message);
  void Subscribe(const ReceivedJson& request);
  void QueueError(std::string code, std::string detail);

  // The Send functions return false if there was nothing to send or if sending
  // failed.
  boost::asio::awaitable<bool> SendPending();
  boost::asio::awaitable<bool> SendServerEvents();
  boost::asio::awaitable<bool> SendEvents(const std::string& job);
  boost::asio::awaitable<bool> SendSnapshot(const std::string& job);
  boost::asio::awaitable<bool> SendAllJobs();
  boost::asio::awaitable<bool> Send(const Json& message);
  // Counts the message in the memory budget while it is being sent. Ends the
  // stream if there is no memory for it.
  boost::asio::awaitable<bool> SendLarge(std::string message);
  boost::asio::awaitable<bool> Send(std::string message);
  boost::asio::awaitable<void> Sleep();
  // May be called on any thread.
  void Wake();

  const Services& services_;
  const boost::asio::any_io_executor strand_;
  const std::shared_ptr<http::MessageChannel> channel_;
  boost::asio::steady_timer sleeper_;
  std::atomic<bool> wake_posted_{false};
  bool ended_ = false;
  // Whose token or session this stream uses.
  auth::Principal caller_;
  // Keyed by job id; "*" means all jobs.
  std::map<std::string, Subscription> subscriptions_;
  // The seq of the last server event sent. Absent until the first subscription.
  std::optional<uint64_t> server_events_sent_;
  // Replies to invalid messages, not sent yet.
  std::deque<Json> replies_;
};

}  // namespace graphdbg::api

#endif  // SERVER_API_EVENT_STREAM_H_
