#include "server/jobs/strand_call.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"

namespace graphdbg::jobs {
namespace {

namespace asio = boost::asio;

// Two execution contexts, each with its own thread.
class StrandCallTest : public testing::Test {
 protected:
  StrandCallTest()
      : home_thread_([this] { home_.run(); }),
        away_thread_([this] { away_.run(); }) {}

  ~StrandCallTest() override {
    home_work_.reset();
    away_work_.reset();
    if (home_thread_.joinable()) home_thread_.join();
    away_thread_.join();
  }

  void FinishHome() {
    home_work_.reset();
    home_thread_.join();
  }

  asio::io_context home_;
  asio::io_context away_;
  asio::executor_work_guard<asio::io_context::executor_type> home_work_{
      home_.get_executor()};
  asio::executor_work_guard<asio::io_context::executor_type> away_work_{
      away_.get_executor()};
  std::thread home_thread_;
  std::thread away_thread_;
};

TEST_F(StrandCallTest, RunsWorkThereAndResumesHere) {
  bool worked_away = false;
  bool resumed_at_home = false;
  int result = 0;
  auto task = [&]() -> asio::awaitable<void> {
    auto answer = co_await CallOn<absl::StatusOr<int>>(
        asio::make_strand(away_), [&]() -> absl::StatusOr<int> {
          worked_away = std::this_thread::get_id() == away_thread_.get_id();
          return 7;
        });
    resumed_at_home = std::this_thread::get_id() == home_thread_.get_id();
    result = *answer;
  };
  asio::co_spawn(home_, task(), asio::detached);
  FinishHome();
  EXPECT_TRUE(worked_away);
  EXPECT_TRUE(resumed_at_home);
  EXPECT_EQ(result, 7);
}

TEST_F(StrandCallTest, KeepsTheCallersContextBusyUntilCompletion) {
  int result = 0;
  auto task = [&]() -> asio::awaitable<void> {
    // Completes in a later task of the other context.
    result = co_await StartOn<int>(
        away_.get_executor(), [&](std::function<void(int)> complete) {
          asio::post(away_, [complete = std::move(complete)] { complete(9); });
        });
  };
  asio::co_spawn(home_, task(), asio::detached);
  // The home context has no other work, but must not stop before the result
  // arrives.
  home_work_.reset();
  home_thread_.join();
  EXPECT_EQ(result, 9);
}

}  // namespace
}  // namespace graphdbg::jobs
