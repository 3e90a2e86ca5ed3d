// One reader of events over a WebSocket (see proto/http/openapi.yaml).
#ifndef SERVER_API_EVENT_STREAM_H_
#define SERVER_API_EVENT_STREAM_H_

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "server/api/json.h"
#include "server/api/services.h"
#include "server/http/message.h"

namespace graphdbg::api {

// Lives on the connection's strand; only Wake comes from elsewhere.
class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  // `services` outlives this.
  EventStream(const Services& services, boost::asio::any_io_executor strand,
              std::shared_ptr<http::MessageChannel> channel);

  // Until the peer closes, breaks off or is refused.
  boost::asio::awaitable<void> Run(http::Request request);

 private:
  struct Place {
    // Seq of the last event sent; for all jobs the hub's position.
    uint64_t next = 0;
    bool needs_snapshot = true;
  };

  boost::asio::awaitable<bool> Authenticate(const http::Request& request);
  boost::asio::awaitable<void> ReadMessages();
  void Understand(const std::string& message);
  void Subscribe(const Json& subscription);
  void Complain(std::string code, std::string detail);

  // False when there was nothing to send, or nobody to send it to.
  boost::asio::awaitable<bool> SendSome();
  boost::asio::awaitable<bool> SendOf(const std::string& job);
  boost::asio::awaitable<bool> SendSnapshot(const std::string& job);
  boost::asio::awaitable<bool> SendAllJobs();
  boost::asio::awaitable<bool> Send(const Json& message);
  boost::asio::awaitable<bool> Send(std::string message);
  boost::asio::awaitable<void> Sleep();
  // Any thread.
  void Wake();

  const Services& services_;
  const boost::asio::any_io_executor strand_;
  const std::shared_ptr<http::MessageChannel> channel_;
  boost::asio::steady_timer sleeper_;
  std::atomic<bool> wake_posted_{false};
  bool ended_ = false;
  // By job id; "*" for all jobs.
  std::map<std::string, Place> places_;
  // What to tell the peer about its messages.
  std::deque<Json> replies_;
};

}  // namespace graphdbg::api

#endif  // SERVER_API_EVENT_STREAM_H_
