#include "server/api/response_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/api/testing/api_fixture.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class ResponseMemoryTest : public testing::ApiTest {
 protected:
  ResponseMemoryTest() { fixture_.services.memory = memory_; }

  http::Response GetBinary() {
    return fixture_.Call("GET", "/jobs/train/tensor?name=a:0",
                         {.accept = "application/octet-stream"});
  }

  static constexpr uint64_t kMiB = uint64_t{1} << 20;
  std::shared_ptr<MemoryBudget> memory_ =
      std::make_shared<MemoryBudget>(100 * kMiB);
};

TEST_F(ResponseMemoryTest, CountsABodyUntilTheResponseIsGone) {
  http::Response response;
  response.body = std::string(kMiB, 'x');
  ASSERT_TRUE(ReserveBody(fixture_.services, response).ok());
  EXPECT_GE(memory_->used(MemoryAccount::kResponses), kMiB);
  response = {};
  EXPECT_EQ(memory_->used(), 0u);
}

TEST_F(ResponseMemoryTest, SmallBodiesAreNeverRefused) {
  const auto full = memory_->Count(MemoryAccount::kJobs, 100 * kMiB);
  EXPECT_EQ(Get("/jobs").status, 200);
}

TEST_F(ResponseMemoryTest, RefusesLargeBodiesWhenMemoryIsShort) {
  job_->scope.nodes.resize(2'000);
  for (auto& node : job_->scope.nodes) node.name = std::string(1'000, 'n');
  EXPECT_EQ(Get("/jobs/train/graph/scope?name=s").status, 200);
  EXPECT_EQ(memory_->used(), 0u);
  const auto full = memory_->Count(MemoryAccount::kJobs, 90 * kMiB);
  const http::Response refused = Get("/jobs/train/graph/scope?name=s");
  ExpectProblem(refused, 503, "out_of_memory_budget");
  EXPECT_EQ(refused.headers.Get("Retry-After"), "5");
  // Control still works.
  EXPECT_EQ(Post("/jobs/train/control", R"({"command": "continue"})").status,
            202);
}

// A tensor is counted while its job sends it, and then stays counted.
TEST_F(ResponseMemoryTest, ATensorStaysCountedWhileItIsSent) {
  auto counted = std::make_shared<MemoryBudget::Reservation>(
      memory_->Count(MemoryAccount::kTensors, 4));
  job_->tensor.type.dtype = DType::kFloat32;
  job_->tensor.data = "abcd";
  job_->tensor.memory = std::move(counted);
  http::Response response = GetBinary();
  ASSERT_EQ(response.status, 200);
  job_->tensor = {};
  EXPECT_EQ(memory_->used(MemoryAccount::kTensors), 4u);
  response = {};
  EXPECT_EQ(memory_->used(), 0u);
}

TEST_F(ResponseMemoryTest, ReportsTheBudget) {
  const auto jobs = memory_->Count(MemoryAccount::kJobs, 7);
  EXPECT_EQ(BodyOf(Get("/server"))["memory"],
            Json({{"used_bytes", 7}, {"limit_bytes", 100 * kMiB}}));
  const std::string metrics = Get("/metrics").body;
  EXPECT_NE(metrics.find("graphdbg_memory_bytes{account=\"jobs\"} 7\n"),
            std::string::npos);
  EXPECT_NE(metrics.find("graphdbg_memory_limit_bytes 104857600\n"),
            std::string::npos);
}

}  // namespace
}  // namespace graphdbg::api
