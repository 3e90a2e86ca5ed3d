// What the agent itself takes, and what a large graph does.
#include <stdio.h>
#include <stdlib.h>

#include <cstdint>
#include <future>
#include <string>
#include <utility>

#include "agent/testing/scripted_server.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

constexpr int64_t kMiB = 1 << 20;

// The agent's own bytes, and the most it had with the graph.
std::pair<int64_t, int64_t> MemoryOf(const std::string& command) {
  FILE* out = popen(command.c_str(), "r");
  long long own = -1, most = -1;
  EXPECT_EQ(fscanf(out, "%lld %lld", &own, &most), 2);
  EXPECT_EQ(pclose(out), 0);
  return {own, most};
}

TEST(MemoryTest, AHundredThousandNodesFitIntoTheirBound) {
  ScriptedServer server;
  setenv("GRAPHDBG_ENABLE", "1", 1);
  setenv("GRAPHDBG_WAIT", "0", 1);
  setenv("GRAPHDBG_JOB", "large", 1);
  setenv("GRAPHDBG_PORT", std::to_string(server.port()).c_str(), 1);
  auto measured = std::async(std::launch::async, [] {
    return MemoryOf("agent/abi/memory_program 100000");
  });
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
