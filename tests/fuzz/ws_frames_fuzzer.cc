// The bytes that a peer sends over an open WebSocket. Whatever they are, each
// message keeps within the limit.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/router.h"
#include "tests/fuzz/http_peer.h"

namespace graphdbg::http {
namespace {

constexpr char kUpgrade[] =
    "GET /events HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
    "Connection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

boost::asio::awaitable<void> Echo(Request,
                                  std::shared_ptr<MessageChannel> channel) {
  while (true) {
    absl::StatusOr<std::string> message = co_await channel->Receive();
    if (!message.ok()) co_return;
    if (message->size() > ServerOptions().max_message_bytes) std::abort();
    if (*message == "bye") {
      co_await channel->Close(1008, "goodbye");
      co_return;
    }
    const absl::Status sent = co_await channel->Send(*std::move(message));
    if (!sent.ok()) co_return;
  }
}

void Take(std::string_view input) {
  static auto* const peer = [] {
    auto router = std::make_shared<Router>();
    router->AddChannel("/events", Echo);
    return new HttpPeer(router);
  }();
  const std::string answer = peer->Exchange(kUpgrade + std::string(input));
  if (answer.rfind("HTTP/1.1 101", 0) != 0) std::abort();
}

}  // namespace
}  // namespace graphdbg::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphdbg::http::Take({reinterpret_cast<const char*>(data), size});
  return 0;
}
