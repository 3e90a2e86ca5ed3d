// Measures the latency of commands and hits while many ranks report to a server
// and many pages are connected. Prints one JSON object for server_speed.py,
// which starts the server.
//
//   server_load --http-port N --agents ADDRESS --token T [--ranks N]
//       [--nodes N] [--readers N] [--rate N] [--rounds N]
#include <algorithm>
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

constexpr char kJob[] = "load";
constexpr std::chrono::seconds kTimeout(120);

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "server_load: %s\n", why.c_str());
  std::_Exit(1);
}

double Milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

Json Quantiles(std::vector<double> values) {
  if (values.empty()) Fail("no measurements");
  std::sort(values.begin(), values.end());
  const auto at = [&](double q) {
    return values[static_cast<size_t>(q *
                                      static_cast<double>(values.size() - 1))];
  };
  return {{"p50", at(0.5)},
          {"p90", at(0.9)},
          {"p99", at(0.99)},
          {"max", values.back()},
          {"count", values.size()}};
}

// A page that receives all events of the job.
class Page {
 public:
  Page(uint16_t port, const std::string& token)
      : socket_(port, "/api/v1/events",
                {{"Authorization", "Bearer " + token}}) {
    socket_.Send(Json{{"subscribe", {{"job", kJob}}}}.dump());
  }

  // Returns the next event. The end of the stream is an error.
  std::string Next() {
    std::optional<std::string> text = socket_.Receive();
    if (!text) Fail("the server closed a page's stream");
    return *std::move(text);
  }

 private:
  http::testing::WebSocketClient socket_;
};

// The times at which one page received events.
class EventTimes {
 public:
  void Record(const std::string& text) {
    const auto now = Clock::now();
    const Json event = Json::parse(text);
    absl::MutexLock lock(&mu_);
    if (event["type"] == "hit") {
      times_["hit/" + std::to_string(event["hit"]["order"].get<int>())] = now;
    } else if (event["type"] == "state") {
      for (const Json& rank : event["info"]["ranks"]) {
        if (rank["rank"] != event["rank"]) continue;
        times_["rank/" + std::to_string(event["rank"].get<int>()) + "/" +
               rank["state"].get<std::string>()] = now;
      }
    }
  }

  void Clear(const std::string& what) {
    absl::MutexLock lock(&mu_);
    times_.erase(what);
  }

  Clock::time_point WaitFor(const std::string& what) {
    absl::MutexLock lock(&mu_);
    const auto received = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return times_.count(what) > 0;
    };
    if (!mu_.AwaitWithTimeout(absl::Condition(&received),
                              absl::FromChrono(kTimeout))) {
      Fail("timeout: the page did not receive " + what);
    }
    return times_[what];
  }

 private:
  absl::Mutex mu_;
  std::map<std::string, Clock::time_point> times_ ABSL_GUARDED_BY(mu_);
};

class Load {
 public:
  explicit Load(Options options)
      : options_(std::move(options)),
        port_(static_cast<uint16_t>(Number("http-port", 0))),
        client_(port_) {}

  Json Run() {
    const auto start = Clock::now();
    const auto log = [&](const char* what) {
      std::fprintf(stderr, "%6.1f s: %s\n",
                   Milliseconds(Clock::now() - start) / 1000, what);
    };
    StartRanks();
    log("all ranks are connected");
    Post("/watchpoints",
         {{"condition", {{"id", "nan"}, {"params", Json::object()}}}});
    StartPages();
    WaitForAllRanks();
    log("all graphs are received");
    const double graph_ms = Milliseconds(Clock::now() - start);
    for (const auto& rank : ranks_) rank->StartReporting();
    const uint64_t sent_before = Sent();
    const auto load_start = Clock::now();
    Measure();
    const double seconds = Milliseconds(Clock::now() - load_start) / 1000;
    return {{"graphs_received_ms", graph_ms},
            {"control_answer_ms", Quantiles(answers_)},
            {"control_effect_ms", Quantiles(effects_)},
            {"hit_to_page_ms", Quantiles(hits_)},
            {"scope_answer_ms", Quantiles(scopes_)},
            {"statistics_per_second",
             static_cast<double>(Sent() - sent_before) / seconds}};
  }

 private:
  uint32_t Number(const std::string& name, uint32_t fallback) const {
    const auto it = options_.find(name);
    return it == options_.end() ? fallback
                                : static_cast<uint32_t>(std::stoul(it->second));
  }

  void StartRanks() {
    const uint32_t world = Number("ranks", 64);
    std::vector<std::thread> starting;
    ranks_.resize(world);
    for (uint32_t rank = 0; rank < world; ++rank) {
      starting.emplace_back([this, rank, world] {
        ranks_[rank] = std::make_unique<ScriptedRank>(ScriptedRank::Options{
            options_.at("agents"), kJob, rank, world, Number("nodes", 20'000),
            Number("rate", 1'000)});
      });
    }
    for (std::thread& thread : starting) thread.join();
    const uint32_t nodes = Number("nodes", 20'000);
    const auto deadline = Clock::now() + kTimeout;
    while (Get("/graphs")["graphs"][0]["node_count"] != nodes ||
           Get("")["ranks"].size() != world) {
      if (Clock::now() > deadline)
        Fail("timeout: not all ranks have connected");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  // A rank sends results of commands after its graph.
  void WaitForAllRanks() {
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      Control("pause", rank, "paused");
      Control("continue", rank, "running");
    }
    answers_.clear();
    effects_.clear();
  }

  void StartPages() {
    const std::string token = options_.at("token");
    for (uint32_t i = 0; i < Number("readers", 32); ++i) {
      std::thread([this, i, token] {
        Page page(port_, token);
        for (;;) {
          const std::string event = page.Next();
          if (i == 0) event_times_.Record(event);
        }
      }).detach();
    }
  }

  void Measure() {
    std::mt19937 random(1);
    const uint32_t rounds = Number("rounds", 100);
    for (uint32_t round = 1; round <= rounds; ++round) {
      const auto rank = static_cast<uint32_t>(random() % ranks_.size());
      Control("pause", rank, "paused");
      Control("continue", rank, "running");
      const auto hit = Clock::now();
      ranks_[rank]->Hit(1 + static_cast<uint32_t>(random() % 1000), round);
      hits_.push_back(Milliseconds(
          event_times_.WaitFor("hit/" + std::to_string(round)) - hit));
      const auto asked = Clock::now();
      Get("/graph/scope?name=forward/layer_" + std::to_string(random() % 400));
      scopes_.push_back(Milliseconds(Clock::now() - asked));
    }
  }

  void Control(const std::string& command, uint32_t rank,
               const std::string& state) {
    const std::string what = "rank/" + std::to_string(rank) + "/" + state;
    event_times_.Clear(what);
    const auto start = Clock::now();
    Post("/control", {{"command", command}, {"rank", rank}});
    answers_.push_back(Milliseconds(Clock::now() - start));
    effects_.push_back(Milliseconds(event_times_.WaitFor(what) - start));
  }

  uint64_t Sent() const {
    uint64_t sent = 0;
    for (const auto& rank : ranks_) sent += rank->sent();
    return sent;
  }

  Json Get(const std::string& path) { return Fetch("GET", path, {}); }
  Json Post(const std::string& path, const Json& body) {
    return Fetch("POST", path, body.dump());
  }
  Json Fetch(const std::string& method, const std::string& path,
             const std::string& body) {
    const auto reply = client_.Fetch(
        method, std::string("/api/v1/jobs/") + kJob + path,
        {{"Authorization", "Bearer " + options_.at("token")}}, body);
    if (reply.status >= 300) Fail(path + ": " + reply.body);
    return Json::parse(reply.body);
  }

  const Options options_;
  const uint16_t port_;
  http::testing::Client client_;
  std::vector<std::unique_ptr<ScriptedRank>> ranks_;
  EventTimes event_times_;
  std::vector<double> answers_;
  std::vector<double> effects_;
  std::vector<double> hits_;
  std::vector<double> scopes_;
};

}  // namespace
}  // namespace graphdbg::bench

int main(int argc, char** argv) {
  graphdbg::bench::Options options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i] + 2] = argv[i + 1];
  graphdbg::bench::Load load(options);
  std::printf("%s\n", load.Run().dump().c_str());
  std::fflush(stdout);
  // The pages' threads read until the server exits.
  std::_Exit(0);
}
