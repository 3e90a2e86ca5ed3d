// The memory that the agent itself needs, and that it needs for a large graph.
#include <stdio.h>

#include <cstdint>
#include <future>
#include <string>
#include <utility>

#include "agent/testing/scripted_server.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

constexpr int64_t kMiB = 1 << 20;

// Returns the agent's own memory in bytes, and its maximum with the graph.
std::pair<int64_t, int64_t> MemoryOf(const std::string& command) {
  FILE* out = popen(command.c_str(), "r");
  long long own = -1, most = -1;
  EXPECT_EQ(fscanf(out, "%lld %lld", &own, &most), 2);
  EXPECT_EQ(pclose(out), 0);
  return {own, most};
}

TEST(MemoryTest, AHundredThousandNodesFitIntoTheirBound) {
  ScriptedServer server;
  // Not with setenv, because the server's threads read the environment.
  const std::string command =
      "GRAPHDBG_ENABLE=1 GRAPHDBG_WAIT=0 GRAPHDBG_JOB=large GRAPHDBG_PORT=" +
      std::to_string(server.port()) + " agent/abi/memory_program 100000";
  auto measured =
      std::async(std::launch::async, [&] { return MemoryOf(command); });
  auto session = server.Accept();
  session->Welcome();
  session->WaitForGoodbye();
  const auto [own, most] = measured.get();
  EXPECT_TRUE(session->FindNode("forward/encoder/layers/9999/attention/op_9"));
  EXPECT_LT(own, 50 * kMiB);
  EXPECT_LT(most, 200 * kMiB);
  RecordProperty("own_bytes", std::to_string(own));
  RecordProperty("most_bytes", std::to_string(most));
}

}  // namespace
}  // namespace graphdbg::agent
