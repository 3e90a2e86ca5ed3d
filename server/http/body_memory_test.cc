// Bodies of requests count in the server's memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/base/error.h"
#include "server/http/server.h"
#include "server/http/testing/client.h"

namespace graphdbg::http {
namespace {

namespace asio = boost::asio;

asio::awaitable<Response> Length(Request request) {
  Response response;
  response.body = std::to_string(request.body.size());
  co_return response;
}

class BodyMemoryTest : public ::testing::Test {
 protected:
  BodyMemoryTest() {
    auto router = std::make_shared<Router>();
    router->Add("POST", "/length", Length);
    ServerOptions options;
    options.reserve_body = [this](uint64_t bytes) { return Reserve(bytes); };
    server_ = std::make_unique<Server>(io_.context().get_executor(), router,
                                       std::move(options));
    absl::StatusOr<uint16_t> port = server_->Start();
    EXPECT_TRUE(port.ok()) << port.status();
    port_ = port.value_or(0);
  }
  ~BodyMemoryTest() override { server_.reset(); }

  absl::StatusOr<std::shared_ptr<const void>> Reserve(uint64_t bytes) {
    absl::MutexLock lock(&mu_);
    reserved_.push_back(bytes);
    if (is_full_) {
      return Error(absl::StatusCode::kResourceExhausted, "out_of_memory_budget",
                   "no memory");
    }
    return std::shared_ptr<const void>(held_);
  }

  testing::Reply Post(size_t bytes) {
    return testing::Fetch(port_, "POST", "/length", {},
                          std::string(bytes, '1'));
  }

  absl::Mutex mu_;
  std::vector<uint64_t> reserved_ ABSL_GUARDED_BY(mu_);
  bool is_full_ ABSL_GUARDED_BY(mu_) = false;
  const std::shared_ptr<int> held_ = std::make_shared<int>(0);
  testing::IoThreads io_;
  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
};

TEST_F(BodyMemoryTest, LargeBodiesAreReservedBeforeTheyAreRead) {
  EXPECT_EQ(Post(100'000).body, "100000");
  {
    absl::MutexLock lock(&mu_);
    EXPECT_EQ(reserved_, std::vector<uint64_t>{100'000});
    is_full_ = true;
  }
  // The body is never sent.
  testing::Client client(port_);
  const testing::Reply refused = client.Fetch(
      "POST", "/length",
      {{"Content-Type", "application/json"}, {"Content-Length", "100000"}});
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "5");
  EXPECT_NE(refused.body.find("out_of_memory_budget"), std::string::npos);
  EXPECT_TRUE(client.ReadsEnd());
}

TEST_F(BodyMemoryTest, SmallBodiesAreReadInAnyCase) {
  {
    absl::MutexLock lock(&mu_);
    is_full_ = true;
  }
  EXPECT_EQ(Post(1'000).body, "1000");
}

TEST_F(BodyMemoryTest, BodiesOfUnknownLengthAreReservedAsTheLongest) {
  testing::Client client(port_);
  client.SendRaw(
      "POST /length HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) +
      "\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
  EXPECT_EQ(client.ReadReply().body, "2");
  absl::MutexLock lock(&mu_);
  EXPECT_EQ(reserved_, std::vector<uint64_t>{1 << 20});
}

TEST_F(BodyMemoryTest, TheReservationEndsBeforeTheNextRequest) {
  testing::Client client(port_);
  EXPECT_EQ(client.Fetch("POST", "/length", {}, std::string(100'000, '1')).body,
            "100000");
  EXPECT_EQ(client.Fetch("POST", "/length", {}, "1").body, "1");
  EXPECT_EQ(held_.use_count(), 1);
}

}  // namespace
}  // namespace graphdbg::http
