#include "server/http/testing/client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <cctype>

namespace graphdbg::http::testing {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Every answer of the server must have them, whatever it answers.
void ExpectSecurityHeaders(const Reply& reply) {
  for (const auto& [name, value] :
       {std::pair("content-security-policy", "default-src 'none'; "),
        std::pair("x-content-type-options", "nosniff"),
        std::pair("x-frame-options", "DENY"),
        std::pair("referrer-policy", "no-referrer"),
        std::pair("cross-origin-opener-policy", "same-origin"),
        std::pair("cross-origin-resource-policy", "same-origin"),
        std::pair("cache-control", "")}) {
    const auto found = reply.headers.find(name);
    EXPECT_TRUE(found != reply.headers.end() && found->second.find(value) == 0)
        << "an answer with status " << reply.status << " has no " << name;
  }
}

tcp::socket Connect(asio::io_context& context, uint16_t port) {
  tcp::socket socket(context);
  socket.connect({asio::ip::address_v4::loopback(), port});
  return socket;
}

}  // namespace

IoThreads::IoThreads() : work_(context_.get_executor()) {
  for (int i = 0; i < 2; ++i) {
    threads_.emplace_back([this] { context_.run(); });
  }
}

IoThreads::~IoThreads() {
  context_.stop();
  for (std::thread& thread : threads_) thread.join();
}

class Client::Impl {
 public:
  explicit Impl(uint16_t port)
      : host_("127.0.0.1:" + std::to_string(port)),
        socket_(Connect(context_, port)) {}

  const std::string host_;
  asio::io_context context_;
  tcp::socket socket_;
  beast::flat_buffer buffer_;
};

Client::Client(uint16_t port) : impl_(std::make_unique<Impl>(port)) {}
Client::~Client() = default;

Reply Client::Fetch(const std::string& method, const std::string& target,
                    const Fields& headers, const std::string& body) {
  Fields fields = {{"Host", impl_->host_}};
  if (!body.empty()) {
    fields["Content-Type"] = "application/json";
    fields["Content-Length"] = std::to_string(body.size());
  }
  for (const auto& [name, value] : headers) fields[name] = value;
  std::string text = method + " " + target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : fields) {
    if (!value.empty()) text += name + ": " + value + "\r\n";
  }
  SendRaw(text + "\r\n" + body);
  return ReadReply(method == "HEAD");
}

void Client::SendRaw(const std::string& bytes) {
  boost::system::error_code ec;
  asio::write(impl_->socket_, asio::buffer(bytes), ec);
  // Errors are ignored: a server that rejects a request early may close the
  // connection before it has read everything.
}

Reply Client::ReadReply(bool head) {
  beast::http::response_parser<beast::http::string_body> parser;
  parser.skip(head);
  parser.body_limit(boost::none);
  boost::system::error_code ec;
  beast::http::read(impl_->socket_, impl_->buffer_, parser, ec);
  EXPECT_FALSE(ec) << ec.message();
  Reply reply;
  if (ec) return reply;
  auto message = parser.release();
  reply.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    reply.headers[Lower(std::string(field.name_string()))] =
        std::string(field.value());
  }
  reply.body = std::move(message.body());
  if (reply.status >= 200) ExpectSecurityHeaders(reply);
  return reply;
}

std::string Client::ReadRest() {
  std::string rest = beast::buffers_to_string(impl_->buffer_.data());
  boost::system::error_code ec;
  asio::read(impl_->socket_, asio::dynamic_buffer(rest), ec);
  return rest;
}

bool Client::ReadsEnd() {
  char byte = 0;
  boost::system::error_code ec;
  impl_->socket_.read_some(asio::buffer(&byte, 1), ec);
  return ec == asio::error::eof || ec == asio::error::connection_reset;
}

Reply Fetch(uint16_t port, const std::string& method, const std::string& target,
            const Fields& headers, const std::string& body) {
  return Client(port).Fetch(method, target, headers, body);
}

class WebSocketClient::Impl {
 public:
  Impl(uint16_t port, const std::string& target, const Fields& headers)
      : stream_(Connect(context_, port)) {
    const std::string host = "127.0.0.1:" + std::to_string(port);
    stream_.set_option(beast::websocket::stream_base::decorator(
        [&](beast::websocket::request_type& request) {
          request.set("Origin", "http://" + host);
          for (const auto& [name, value] : headers) {
            if (value.empty()) {
              request.erase(name);
            } else {
              request.set(name, value);
            }
          }
        }));
    beast::websocket::response_type response;
    stream_.handshake(response, host, target);
    Reply reply;
    reply.status = static_cast<int>(response.result_int());
    for (const auto& field : response) {
      reply.headers[Lower(std::string(field.name_string()))] =
          std::string(field.value());
    }
    ExpectSecurityHeaders(reply);
  }

  asio::io_context context_;
  beast::websocket::stream<tcp::socket, false> stream_;
};

WebSocketClient::WebSocketClient(uint16_t port, const std::string& target,
                                 const Fields& headers)
    : impl_(std::make_unique<Impl>(port, target, headers)) {}
WebSocketClient::~WebSocketClient() = default;

void WebSocketClient::Send(const std::string& message) {
  boost::system::error_code ec;
  impl_->stream_.write(asio::buffer(message), ec);
  EXPECT_FALSE(ec) << ec.message();
}

std::optional<std::string> WebSocketClient::Receive() {
  beast::flat_buffer buffer;
  boost::system::error_code ec;
  impl_->stream_.read(buffer, ec);
  if (ec) return std::nullopt;
  return beast::buffers_to_string(buffer.data());
}

int WebSocketClient::close_code() const { return impl_->stream_.reason().code; }

void WebSocketClient::Close() {
  boost::system::error_code ec;
  impl_->stream_.close(beast::websocket::close_code::normal, ec);
}

}  // namespace graphdbg::http::testing
