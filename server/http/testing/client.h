// A blocking HTTP and WebSocket client for tests, and threads for a server.
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

// An io_context run by two threads until the end of the scope.
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
  // Names in lower case.
  Fields headers;
  std::string body;
};

// One connection to 127.0.0.1. Failures of the network fail the test.
class Client {
 public:
  explicit Client(uint16_t port);
  ~Client();

  // Sends Host, and for a body Content-Type and Content-Length, unless they
  // are among `headers`; an empty value leaves the field out.
  Reply Fetch(const std::string& method, const std::string& target,
              const Fields& headers = {}, const std::string& body = {});
  // Bytes as they are.
  void SendRaw(const std::string& bytes);
  Reply ReadReply(bool head = false);
  // All bytes until the server closes the connection, waiting for it.
  std::string ReadRest();
  // Whether the server has closed the connection, waiting for it.
  bool ReadsEnd();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// On a connection of its own.
Reply Fetch(uint16_t port, const std::string& method, const std::string& target,
            const Fields& headers = {}, const std::string& body = {});

class WebSocketClient {
 public:
  // Throws boost::system::system_error if the upgrade is refused.
  WebSocketClient(uint16_t port, const std::string& target,
                  const Fields& headers = {});
  ~WebSocketClient();

  void Send(const std::string& message);
  // Absent when the server has closed.
  std::optional<std::string> Receive();
  // After Receive gave none; 0 if the connection just broke.
  int close_code() const;
  void Close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphdbg::http::testing

#endif  // SERVER_HTTP_TESTING_CLIENT_H_
