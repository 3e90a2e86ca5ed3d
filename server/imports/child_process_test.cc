#include "server/imports/child_process.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <string>
#include <vector>

#include "server/base/error.h"

namespace graphdbg::imports {
namespace {

namespace asio = boost::asio;

// Yields the pieces, then the error if it is not OK.
http::NextPiece Pieces(std::vector<std::string> pieces,
                       absl::Status error = absl::OkStatus()) {
  auto rest = std::make_shared<std::vector<std::string>>(std::move(pieces));
  return [rest, error]() -> asio::awaitable<absl::StatusOr<std::string>> {
    if (rest->empty() && !error.ok()) co_return error;
    if (rest->empty()) co_return std::string();
    std::string piece = rest->front();
    rest->erase(rest->begin());
    co_return piece;
  };
}

absl::StatusOr<ChildEnd> RunToEnd(std::vector<std::string> command,
                                  http::NextPiece input,
                                  ChildLimits limits = {},
                                  std::vector<std::string> environment = {}) {
  asio::io_context io;
  auto end = asio::co_spawn(io,
                            RunChild(std::move(command), std::move(input),
                                     limits, std::move(environment)),
                            asio::use_future);
  io.run();
  return end.get();
}

std::vector<std::string> Shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

TEST(ChildProcessTest, GivesItsInputAndTakesItsOutput) {
  const std::string large(3 << 20, 'x');
  const auto end = RunToEnd({"/bin/cat"}, Pieces({"a", large, "b"}));
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_EQ(end->output, "a" + large + "b");
}

TEST(ChildProcessTest, TellsHowItEnded) {
  const auto end = RunToEnd(Shell("echo no >&2; exit 3"), Pieces({"unread"}));
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_EQ(end->errors, "no\n");
  EXPECT_EQ(RunToEnd(Shell("kill -9 $$"), Pieces({}))->exit_code, -9);
}

TEST(ChildProcessTest, HasNeitherEnvironmentNorFiles) {
  const auto end = RunToEnd({"/usr/bin/env"}, Pieces({}));
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->output, "");
  // The fourth descriptor is that of the directory itself.
  EXPECT_EQ(RunToEnd({"/bin/ls", "/proc/self/fd"}, Pieces({}))->output,
            "0\n1\n2\n3\n");
}

TEST(ChildProcessTest, HasTheVariablesThatItIsGiven) {
  const auto end =
      RunToEnd({"/usr/bin/env"}, Pieces({}), {}, {"HOME=/home/a", "EMPTY="});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->output, "HOME=/home/a\nEMPTY=\n");
}

TEST(ChildProcessTest, IsEndedAtItsLimits) {
  ChildLimits limits;
  limits.max_output_bytes = 1 << 20;
  EXPECT_EQ(
      ReasonOf(RunToEnd(Shell("cat /dev/zero"), Pieces({}), limits).status()),
      "graph_too_large");
  limits.deadline = std::chrono::milliseconds(50);
  EXPECT_EQ(
      ReasonOf(RunToEnd(Shell("exec sleep 600"), Pieces({}), limits).status()),
      "too_slow");
}

TEST(ChildProcessTest, IsEndedIfItsInputFails) {
  const auto end =
      RunToEnd({"/bin/cat"}, Pieces({"a"}, absl::UnavailableError("gone")));
  EXPECT_EQ(end.status().message(), "gone");
}

TEST(ChildProcessTest, SaysWhichProgramIsNotThere) {
  const auto end = RunToEnd({"/no/such/program"}, Pieces({}));
  EXPECT_EQ(ReasonOf(end.status()), "cannot_start");
  EXPECT_NE(end.status().message().find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace graphdbg::imports
