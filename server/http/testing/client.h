// A blocking HTTP and WebSocket client for tests, and threads that run a
// server.
#ifndef SERVER_HTTP_TESTING_CLIENT_H_
#define SERVER_HTTP_TESTING_CLIENT_H_

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace graphdbg::http::testing {

// An io_context that two threads run for the lifetime of this object.
class IoThreads {
 public:
  IoThreads();
  ~IoThreads();

  boost::asio::io_context& context() { return context_; }

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type>
      work_;
  std::vector<std::thread> threads_;
};

using Fields = std::map<std::string, std::string>;

struct Reply {
  int status = 0;
  // Names are in lower case.
  Fields headers;
  std::string body;
};

// One connection to 127.0.0.1. Network failures fail the test, and so does an
// answer without one of the headers that all answers have.
class Client {
 public:
  explicit Client(uint16_t port);
  ~Client();

  // Adds the headers Host and, with a body, Content-Type and Content-Length
  // unless they are in `headers`. A header with an empty value is not sent.
  Reply Fetch(const std::string& method, const std::string& target,
              const Fields& headers = {}, const std::string& body = {});
  // Sends the bytes unchanged.
  void SendRaw(const std::string& bytes);
  Reply ReadReply(bool head = false);
  // Reads until the server closes the connection.
  std::string ReadRest();
  // Waits for input and returns whether the server closed the connection
  // instead.
  bool ReadsEnd();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Fetches over a new connection.
Reply Fetch(uint16_t port, const std::string& method, const std::string& target,
            const Fields& headers = {}, const std::string& body = {});

class WebSocketClient {
 public:
  // Adds the header Origin, as a page of the server's own would, unless it is
  // in `headers`. A header with an empty value is not sent. Throws
  // boost::system::system_error if the upgrade is refused.
  WebSocketClient(uint16_t port, const std::string& target,
                  const Fields& headers = {});
  ~WebSocketClient();

  void Send(const std::string& message);
  // Absent after the server closed the channel.
  std::optional<std::string> Receive();
  // Valid after Receive() returned nothing. 0 if the connection was closed
  // without a close frame.
  int close_code() const;
  void Close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphdbg::http::testing

#endif  // SERVER_HTTP_TESTING_CLIENT_H_
