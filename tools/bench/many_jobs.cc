// Simulates many jobs and a few pages that are connected to a server for a long
// time: statistics, hits, ranks that come back, users who look around. For
// mixed_load.py, which starts the server. Prints one JSON object at the end.
//
//   many_jobs --http-port N --agents ADDRESS --token T [--jobs N] [--nodes N]
//       [--pages N] [--seconds N]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "server/http/testing/client.h"
#include "tools/bench/scripted_rank.h"

namespace graphdbg::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
using Options = std::map<std::string, std::string>;

constexpr std::chrono::milliseconds kTick(10);
// Sent by all jobs together.
constexpr uint32_t kStatisticsPerTick = 10;
// So few that the histories of all tensors soon have their full length.
constexpr uint64_t kSteps = 2;
constexpr uint32_t kTicksPerHit = 20;
constexpr uint32_t kTicksPerReturn = 100;
constexpr std::chrono::milliseconds kBetweenRequests(100);
// How long a job may take until the server knows it.
constexpr std::chrono::seconds kAppears(60);

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "many_jobs: %s\n", why.c_str());
  std::_Exit(1);
}

class Load {
 public:
  explicit Load(Options options)
      : options_(std::move(options)),
        port_(static_cast<uint16_t>(Number("http-port", 0))),
        jobs_(Number("jobs", 500)) {}

  Json Run() {
    for (uint32_t job = 0; job < jobs_.size(); ++job) Connect(job);
    Watch();
    std::fprintf(stderr, "many_jobs: %zu jobs are connected\n", jobs_.size());
    for (uint32_t page = 0; page < Number("pages", 3); ++page) {
      std::thread([this] { ReadEvents(); }).detach();
      std::thread([this, page] { LookAround(page); }).detach();
    }
    Report(Clock::now() + std::chrono::seconds(Number("seconds", 60)));
    return {{"statistics", statistics_}, {"hits", hits_},
            {"returns", returns_},       {"lost_connections", lost_},
            {"events", events_.load()},  {"page_requests", requests_.load()}};
  }

 private:
  uint32_t Number(const std::string& name, uint32_t fallback) const {
    const auto it = options_.find(name);
    return it == options_.end() ? fallback
                                : static_cast<uint32_t>(std::stoul(it->second));
  }

  static std::string Name(uint32_t job) {
    return "load_" + std::to_string(job);
  }

  http::testing::Fields Authorized() const {
    return {{"Authorization", "Bearer " + options_.at("token")}};
  }

  void Connect(uint32_t job) {
    jobs_[job] = std::make_unique<ScriptedRank>(
        ScriptedRank::Options{.server = options_.at("agents"),
                              .job = Name(job),
                              .nodes = Number("nodes", 300),
                              .steps = kSteps,
                              .may_be_ended = true});
  }

  // Adds watchpoint 1, which the hits refer to, to each job.
  void Watch() {
    http::testing::Client client(port_);
    for (uint32_t job = 0; job < jobs_.size(); ++job) Watch(job, client);
  }

  void Watch(uint32_t job, http::testing::Client& client) {
    const std::string path = "/api/v1/jobs/" + Name(job) + "/watchpoints";
    const std::string body = Json{{"condition", {{"id", "nan"}}}}.dump();
    const auto deadline = Clock::now() + kAppears;
    for (;;) {
      const auto reply = client.Fetch("POST", path, Authorized(), body);
      if (reply.status == 201) return;
      // 404: the server has not read the job's first message yet.
      if (reply.status != 404 || Clock::now() > deadline) {
        Fail(path + ": " + reply.body);
      }
      std::this_thread::sleep_for(kBetweenRequests);
      ReturnEnded();
    }
  }

  void Report(Clock::time_point end) {
    std::mt19937 random(1);
    const auto any = [&] {
      return static_cast<uint32_t>(random() % jobs_.size());
    };
    auto next = Clock::now();
    for (uint32_t tick = 1; next < end; ++tick) {
      jobs_[any()]->SendStatistics(kStatisticsPerTick);
      statistics_ += kStatisticsPerTick;
      if (tick % kTicksPerHit == 0) {
        jobs_[any()]->Hit(1 + random() % Number("nodes", 300), ++hits_);
      }
      if (tick % kTicksPerReturn == 0) {
        Return(any());
        ReturnEnded();
      }
      next = std::max(next + kTick, Clock::now());
      std::this_thread::sleep_until(next);
    }
  }

  void Return(uint32_t job) {
    jobs_[job].reset();
    Connect(job);
    ++returns_;
  }

  // Whose connections were lost, as happens to agents on a busy machine.
  void ReturnEnded() {
    for (uint32_t job = 0; job < jobs_.size(); ++job) {
      if (!jobs_[job]->ended()) continue;
      Return(job);
      ++lost_;
    }
  }

  // A page's list of jobs is kept up to date by events.
  void ReadEvents() {
    http::testing::WebSocketClient socket(port_, "/api/v1/events",
                                          Authorized());
    socket.Send(Json{{"subscribe", {{"job", "*"}}}}.dump());
    while (socket.Receive()) ++events_;
    Fail("the server closed a page's stream");
  }

  // Requests what a page does when its user opens one job after the other.
  void LookAround(uint32_t seed) {
    std::mt19937 random(seed);
    http::testing::Client client(port_);
    for (;;) {
      const std::string job = "/api/v1/jobs/" + Name(random() % jobs_.size());
      const std::string layer = std::to_string(random() % 6);
      for (const std::string& path :
           {std::string(), std::string("/graph/index"),
            "/graph/scope?name=forward/layer_" + layer,
            "/graph/node?name=forward/layer_" + layer + "/op_7",
            "/graph/search?q=op_" + layer, std::string("/watchpoints"),
            std::string("/hits?limit=100"),
            "/tensor/history?name=forward/layer_" + layer + "/op_7:0"}) {
        const auto reply = client.Fetch("GET", job + path, Authorized());
        // 503: the rank is coming back.
        if (reply.status >= 300 && reply.status != 503) {
          Fail(job + path + ": " + reply.body);
        }
        ++requests_;
        std::this_thread::sleep_for(kBetweenRequests);
      }
    }
  }

  const Options options_;
  const uint16_t port_;
  std::vector<std::unique_ptr<ScriptedRank>> jobs_;
  uint64_t statistics_ = 0;
  uint64_t hits_ = 0;
  uint64_t returns_ = 0;
  uint64_t lost_ = 0;
  std::atomic<uint64_t> events_{0};
  std::atomic<uint64_t> requests_{0};
};

}  // namespace
}  // namespace graphdbg::bench

int main(int argc, char** argv) {
  graphdbg::bench::Options options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i] + 2] = argv[i + 1];
  graphdbg::bench::Load load(options);
  std::printf("%s\n", load.Run().dump().c_str());
  std::fflush(stdout);
  // The pages' threads run until the process ends.
  std::_Exit(0);
}
