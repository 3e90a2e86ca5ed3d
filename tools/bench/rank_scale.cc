// One job of many ranks that step together, with pages that watch it: how long
// it takes to connect, to pause, to step, to stop for a hit and to come back
// after a restart of the server. For scale_speed.py, which starts the server
// and measures what it uses. Prints one JSON object.
//
//   rank_scale --http-port N --agents ADDRESS [--ranks N] [--nodes N]
//       [--pages N] [--seconds N] [--pid N]
//
// After "restart" on the standard output, it waits for a line on the standard
// input, and then for all ranks.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/http/testing/client.h"
#include "tools/bench/scripted_rank.h"

namespace graphdbg::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
using Options = std::map<std::string, std::string>;

constexpr char kJob[] = "scale";
// Training at 10 steps a second.
constexpr std::chrono::milliseconds kStep(100);
constexpr std::chrono::milliseconds kPoll(20);
constexpr std::chrono::milliseconds kBetweenRequests(100);
constexpr std::chrono::seconds kTimeout(120);
constexpr uint32_t kHitsOfEachRank = 10;
constexpr int kRounds = 3;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "rank_scale: %s\n", why.c_str());
  std::_Exit(1);
}

double Seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

double At(std::vector<double> values, double quantile) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(quantile *
                                    static_cast<double>(values.size() - 1))];
}

// Seconds of a processor that a process has used.
double ProcessorTime(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string word;
  double ticks = 0;
  for (int field = 1; file >> word && field <= 15; ++field) {
    if (field == 14 || field == 15) ticks += std::stod(word);
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// The ranks of the job. A rank begins a step when all have ended the one
// before, as collectives have it.
class Ranks {
 public:
  Ranks(const std::string& server, uint32_t count, uint32_t nodes) {
    ranks_.resize(count);
    // Each waits for the server's answers.
    constexpr uint32_t kThreads = 32;
    std::vector<std::thread> threads;
    for (uint32_t first = 0; first < kThreads; ++first) {
      threads.emplace_back([=, this] {
        for (uint32_t rank = first; rank < count; rank += kThreads) {
          ranks_[rank] = std::make_unique<ScriptedRank>(
              ScriptedRank::Options{.server = server,
                                    .job = kJob,
                                    .rank = rank,
                                    .world_size = count,
                                    .nodes = nodes,
                                    .steps_itself = true,
                                    .returns = true});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Steps until the process ends.
  void Start() {
    std::thread([this] { Run(); }).detach();
  }

  size_t size() const { return ranks_.size(); }
  ScriptedRank& operator[](size_t rank) { return *ranks_[rank]; }
  // Steps that all ranks have ended.
  uint64_t steps() const { return steps_; }
  uint64_t furthest() const {
    uint64_t step = 0;
    for (const auto& rank : ranks_) step = std::max(step, rank->steps_ended());
    return step;
  }
  // When the first rank began the step.
  Clock::time_point BeginOf(uint64_t step) {
    absl::MutexLock lock(&mu_);
    const auto found = begins_.find(step);
    return found == begins_.end() ? Clock::now() : found->second;
  }

 private:
  void Run() {
    auto next = Clock::now();
    for (;;) {
      uint64_t least = UINT64_MAX;
      for (const auto& rank : ranks_) {
        least = std::min(least, rank->steps_ended());
      }
      steps_ = least;
      next = std::max(next + kStep, Clock::now());
      std::this_thread::sleep_until(next);
      {
        // The ranks that end this step begin the next but one of those that all
        // have ended.
        absl::MutexLock lock(&mu_);
        begins_.emplace(least + 2, Clock::now());
      }
      for (const auto& rank : ranks_) {
        if (rank->steps_ended() == least) rank->Step();
      }
    }
  }

  std::vector<std::unique_ptr<ScriptedRank>> ranks_;
  std::atomic<uint64_t> steps_{0};
  absl::Mutex mu_;
  std::map<uint64_t, Clock::time_point> begins_ ABSL_GUARDED_BY(mu_);
};

class Scale {
 public:
  explicit Scale(Options options)
      : options_(std::move(options)),
        port_(static_cast<uint16_t>(Number("http-port", 0))) {}

  Json Run() {
    const auto start = Clock::now();
    ranks_ = std::make_unique<Ranks>(options_.at("agents"), Number("ranks", 64),
                                     Number("nodes", 3000));
    AwaitAll("running");
    Record("told_s", Seconds(Clock::now() - start));
    Request("POST", Job("/watchpoints"),
            Json{{"condition", {{"id", "nan"}, {"params", Json::object()}}}});
    for (uint32_t page = 0; page < Number("pages", 3); ++page) StartPage(page);
    StartRequests();
    ranks_->Start();
    MeasureRunning(std::chrono::seconds(Number("seconds", 4)));
    for (int round = 0; round < kRounds; ++round) {
      Record("pause_s", Control("pause"));
      Record("step_s", Step());
      Resume();
      Record("hit_s", Hit(/*all=*/false));
      Resume();
    }
    Record("hits_of_all_s", Hit(/*all=*/true));
    Resume();
    // The longer a job has run, the more could wait.
    std::this_thread::sleep_for(std::chrono::seconds(Number("seconds", 4) * 3));
    Record("pause_later_s", Control("pause"));
    MeasureRestart();
    Record("list_p99_s", At(listed_, 0.99));
    Json medians;
    for (const auto& [name, values] : figures_) medians[name] = At(values, 0.5);
    return medians;
  }

 private:
  uint32_t Number(const std::string& name, uint32_t fallback) const {
    const auto it = options_.find(name);
    return it == options_.end() ? fallback
                                : static_cast<uint32_t>(std::stoul(it->second));
  }

  void Record(const std::string& name, double value) {
    std::fprintf(stderr, "%-16s %.3f\n", name.c_str(), value);
    figures_[name].push_back(value);
  }

  static std::string Job(const std::string& path) {
    return std::string("/api/v1/jobs/") + kJob + path;
  }

  std::optional<Json> TryRequest(const std::string& method,
                                 const std::string& path,
                                 const Json& body = nullptr) const {
    const auto reply = http::testing::Fetch(
        port_, method, path, {}, body.is_null() ? std::string() : body.dump());
    if (reply.status == 0 || reply.status >= 300) return std::nullopt;
    return Json::parse(reply.body);
  }

  Json Request(const std::string& method, const std::string& path,
               const Json& body = nullptr) const {
    auto answer = TryRequest(method, path, body);
    if (!answer) Fail(method + " " + path + " was refused");
    return *std::move(answer);
  }

  // Waits until the job and all its ranks are in this state.
  void AwaitAll(const std::string& state) const {
    const auto deadline = Clock::now() + kTimeout;
    for (; Clock::now() < deadline; std::this_thread::sleep_for(kPoll)) {
      const auto job = TryRequest("GET", Job(""));
      if (!job || (*job)["ranks"].size() != ranks_->size()) continue;
      const auto& ranks = (*job)["ranks"];
      if (std::all_of(ranks.begin(), ranks.end(), [&](const Json& rank) {
            return rank["state"] == state;
          })) {
        return;
      }
    }
    Fail("timeout: not all ranks are " + state);
  }

  // Waits until the server shows the job in this state, and that its ranks have
  // not moved on. Cheap, so that it does not disturb.
  void Await(const std::string& state) const {
    const auto deadline = Clock::now() + kTimeout;
    for (; Clock::now() < deadline; std::this_thread::sleep_for(kPoll)) {
      const Json jobs = Request("GET", "/api/v1/jobs");
      if (jobs["jobs"][0]["state"] == state) return;
    }
    Fail("timeout: the job is not " + state);
  }

  double Control(const std::string& command) const {
    const auto start = Clock::now();
    Request("POST", Job("/control"), {{"command", command}});
    Await("paused");
    return Seconds(Clock::now() - start);
  }

  double Step() const {
    const uint64_t step = ranks_->furthest() + 1;
    const auto start = Clock::now();
    Request("POST", Job("/control"), {{"command", "step"}});
    while (ranks_->steps() < step) {
      if (Clock::now() > start + kTimeout) Fail("timeout: no step");
      std::this_thread::sleep_for(kPoll);
    }
    Await("paused");
    return Seconds(Clock::now() - start);
  }

  void Resume() const {
    Request("POST", Job("/control"), {{"command", "continue"}});
    const uint64_t step = ranks_->furthest();
    const auto deadline = Clock::now() + kTimeout;
    // It runs indeed, and goes on running.
    while (ranks_->steps() < step + 3) {
      if (Clock::now() > deadline) Fail("timeout: the job does not continue");
      std::this_thread::sleep_for(kPoll);
    }
    Await("running");
  }

  double Hit(bool all) {
    const auto start = Clock::now();
    const size_t ranks = all ? ranks_->size() : 1;
    for (size_t rank = 0; rank < ranks; ++rank) {
      for (uint32_t hit = all ? 1 : kHitsOfEachRank; hit <= kHitsOfEachRank;
           ++hit) {
        (*ranks_)[rank].Hit(hit, hit);
      }
    }
    // Within a step: one that stopped for others would stop again later.
    for (size_t rank = 0; rank < ranks; ++rank) (*ranks_)[rank].StopAtHit();
    Await("paused");
    return Seconds(Clock::now() - start);
  }

  void MeasureRunning(Clock::duration duration) {
    // Without what happens at the start.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const std::string pid = options_.at("pid");
    const auto start = Clock::now();
    const double used = ProcessorTime(pid);
    const uint64_t step = ranks_->steps();
    const uint64_t received = received_;
    {
      absl::MutexLock lock(&mu_);
      lags_.clear();
    }
    std::this_thread::sleep_for(duration);
    const double seconds = Seconds(Clock::now() - start);
    Record("cores", (ProcessorTime(pid) - used) / seconds);
    Record("steps_per_s",
           static_cast<double>(ranks_->steps() - step) / seconds);
    Record("page_mib_per_s",
           static_cast<double>(received_ - received) / (1 << 20) / seconds);
    absl::MutexLock lock(&mu_);
    Record("lag_p99_s", At(lags_, 0.99));
  }

  // The job is paused.
  void MeasureRestart() {
    const uint64_t step = ranks_->furthest();
    restarting_ = true;
    std::printf("restart\n");
    std::fflush(stdout);
    std::string line;
    std::getline(std::cin, line);
    const auto start = Clock::now();
    AwaitAll("paused");
    Record("back_s", Seconds(Clock::now() - start));
    Record("moved_by_restart", static_cast<double>(ranks_->furthest() - step));
  }

  // A page that shows the job. The first one's events are looked at.
  void StartPage(uint32_t number) {
    std::thread([this, number] {
      http::testing::WebSocketClient socket(port_, "/api/v1/events");
      socket.Send(Json{{"subscribe", {{"job", kJob}}}}.dump());
      while (const auto text = socket.Receive()) {
        if (number > 0) continue;
        received_ += text->size();
        const Json event = Json::parse(*text);
        if (event["type"] != "state") continue;
        const double lag = Seconds(
            Clock::now() - ranks_->BeginOf(event["info"]["step"].get<int>()));
        absl::MutexLock lock(&mu_);
        lags_.push_back(lag);
      }
      if (!restarting_) Fail("the server closed a page's stream");
    }).detach();
  }

  void StartRequests() {
    std::thread([this] {
      while (!restarting_) {
        const auto start = Clock::now();
        TryRequest("GET", "/api/v1/jobs");
        const double seconds = Seconds(Clock::now() - start);
        if (!restarting_) listed_.push_back(seconds);
        std::this_thread::sleep_for(kBetweenRequests);
      }
    }).detach();
  }

  const Options options_;
  const uint16_t port_;
  std::unique_ptr<Ranks> ranks_;
  std::map<std::string, std::vector<double>> figures_;
  std::atomic<bool> restarting_{false};
  std::atomic<uint64_t> received_{0};
  // Read when the thread that writes it has been told to end.
  std::vector<double> listed_;
  absl::Mutex mu_;
  std::vector<double> lags_ ABSL_GUARDED_BY(mu_);
};

}  // namespace
}  // namespace graphdbg::bench

int main(int argc, char** argv) {
  graphdbg::bench::Options options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i] + 2] = argv[i + 1];
  graphdbg::bench::Scale scale(options);
  std::printf("%s\n", scale.Run().dump().c_str());
  std::fflush(stdout);
  // The ranks' and the pages' threads run until the process ends.
  std::_Exit(0);
}
