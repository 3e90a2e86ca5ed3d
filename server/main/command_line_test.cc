#include "server/main/command_line.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <future>

#include "server/base/error.h"

namespace graphdbg {
namespace {

namespace asio = boost::asio;

class CommandLineTest : public ::testing::Test {
 protected:
  std::future<absl::StatusOr<api::CommandEnd>> Begin(CommandLine& commands,
                                                     std::string script) {
    return asio::co_spawn(io_, commands.Run({"-c", std::move(script)}),
                          asio::use_future);
  }
  absl::StatusOr<api::CommandEnd> Run(CommandLine& commands,
                                      std::string script) {
    auto end = Begin(commands, std::move(script));
    io_.restart();
    io_.run();
    return end.get();
  }

  asio::io_context io_;
};

TEST_F(CommandLineTest, HasTheEnvironmentOfTheServerAndNoInput) {
  ASSERT_EQ(setenv("GRAPHDBG_TEST_VARIABLE", "kept", 1), 0);
  CommandLine shell("/bin/sh");
  const auto end =
      Run(shell, "cat; echo $GRAPHDBG_TEST_VARIABLE; echo no >&2; exit 3");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_EQ(end->output, "kept\n");
  EXPECT_EQ(end->errors, "no\n");
}

TEST_F(CommandLineTest, OnlySomeRunAtOnce) {
  CommandLine shell("/bin/sh");
  std::vector<std::future<absl::StatusOr<api::CommandEnd>>> ends;
  for (int i = 0; i < 5; ++i) ends.push_back(Begin(shell, "exit 0"));
  io_.run();
  int refused = 0;
  for (auto& end : ends) {
    const auto result = end.get();
    if (result.ok()) continue;
    ++refused;
    EXPECT_EQ(ReasonOf(result.status()), "too_many_commands");
  }
  EXPECT_EQ(refused, 1);
  EXPECT_TRUE(Run(shell, "exit 0").ok());
}

TEST_F(CommandLineTest, IsEndedAtItsDeadline) {
  CommandLine shell("/bin/sh", std::chrono::milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Run(shell, "exec sleep 600").status()));
}

}  // namespace
}  // namespace graphdbg
