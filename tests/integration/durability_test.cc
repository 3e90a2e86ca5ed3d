// Everything that the server has acknowledged survives its being killed and a
// full disk.
//
// GRAPHDBG_KILL_ROUNDS and GRAPHDBG_FULL_ROUNDS set the number of rounds with
// writes under way; the figures are printed.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/integration/patience.h"
#include "tests/integration/real_server.h"
#include "tests/integration/scripted_agent.h"

namespace graphdbg::integration {
namespace {

namespace fs = std::filesystem;
using Json = RealServer::Json;

constexpr char kNan[] = R"({"condition":{"id":"nan"}})";

fs::path FreshDirectory() {
  const fs::path dir =
      fs::path(testing::TempDir()) /
      testing::UnitTest::GetInstance()->current_test_info()->name();
  fs::remove_all(dir);
  return dir;
}

// Sends a request over a connection of its own. Empty if the server is gone.
std::string TryPost(uint16_t port, const std::string& target,
                    const std::string& body) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string reply;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request =
        "POST " + target +
        " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
        "\r\nContent-Type: application/json\r\nConnection: close\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[4096];
    ssize_t size = 0;
    while ((size = recv(fd, buffer, sizeof buffer, 0)) > 0) {
      reply.append(buffer, static_cast<size_t>(size));
    }
  }
  close(fd);
  return reply;
}

// 0 if there is no answer.
int StatusOf(const std::string& reply) {
  return reply.size() < 12 ? 0 : std::atoi(reply.c_str() + 9);
}

v1::AgentMessage HitMessage(uint64_t number) {
  v1::AgentMessage message;
  v1::Hit& hit = *message.mutable_hit();
  hit.set_number(number);
  hit.set_watchpoint(1);
  hit.set_revision(1);
  hit.set_step(number);
  hit.set_node_id(3);
  hit.set_order(2);
  return message;
}

// A job with two sources of writes: a client that sets watchpoints and an agent
// that reports hits.
class BusyJob {
 public:
  BusyJob(RealServer& server, const std::string& name)
      : server_(server), name_(name), agent_(server.debugger_port()) {
    agent_.Join(ScriptedAgent::MakeHello(name));
    agent_.SendGraph(SmallGraph());
    agent_.SendPaused(v1::PAUSE_REASON_START, 0);
    server_.GetUntil("/api/v1/jobs/" + name, [](const Json& job) {
      return job.value("state", "") == "paused";
    });
    SetWatchpoint();
    threads_.emplace_back([this] {
      while (!stop_ && SetWatchpoint()) {
      }
    });
    threads_.emplace_back([this] {
      for (uint64_t number = 1; number <= 20'000 && !stop_; ++number) {
        if (!agent_.Send(HitMessage(number))) return;
        sent_ = number;
      }
    });
    threads_.emplace_back([this] {
      while (true) {
        const v1::ServerMessage message = agent_.Receive();
        if (message.has_hits_recorded()) {
          confirmed_ = message.hits_recorded().through();
        }
        if (message.message_case() == v1::ServerMessage::MESSAGE_NOT_SET) {
          return;
        }
      }
    });
  }
  ~BusyJob() { Join(); }

  // To be called after the server was killed.
  void Join() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  // Waits until the counter has grown.
  static void AwaitMore(const std::atomic<uint64_t>& counter) {
    const uint64_t before = counter;
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (counter == before) {
      if (std::chrono::steady_clock::now() > until) {
        ADD_FAILURE() << "nothing more happened";
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  const std::atomic<uint64_t>& acknowledged() const { return acknowledged_; }
  const std::atomic<uint64_t>& refused() const { return refused_; }
  const std::atomic<uint64_t>& confirmed() const { return confirmed_; }
  const std::string& name() const { return name_; }
  const std::set<uint64_t>& ids() const { return ids_; }

 private:
  // Returns false if the server is gone.
  bool SetWatchpoint() {
    // A job can have 1,000.
    if (ids_.size() >= 900) return false;
    const std::string reply = TryPost(
        server_.http_port(), "/api/v1/jobs/" + name_ + "/watchpoints", kNan);
    const int status = StatusOf(reply);
    const size_t body = reply.find("\r\n\r\n");
    if (status == 201 && body != std::string::npos) {
      const Json made = Json::parse(reply.substr(body + 4), nullptr, false);
      // The connection may have broken in the middle of the answer.
      if (made.is_discarded()) return true;
      ids_.insert(made.at("id").get<uint64_t>());
      ++acknowledged_;
    } else if (status == 503) {
      EXPECT_NE(reply.find("not_kept"), std::string::npos) << reply;
      ++refused_;
    } else {
      EXPECT_EQ(status, 0) << reply;
    }
    return status != 0;
  }

  RealServer& server_;
  const std::string name_;
  ScriptedAgent agent_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> acknowledged_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> sent_{0};
  std::atomic<uint64_t> confirmed_{0};
  // Used by one thread at a time.
  std::set<uint64_t> ids_;
  std::vector<std::thread> threads_;
};

struct Figures {
  uint64_t acknowledged = 0;
  uint64_t lost = 0;

  void Print(const char* what, int rounds) const {
    std::printf("%s: %d rounds, acknowledged %llu, found %llu, lost %llu\n",
                what, rounds, static_cast<unsigned long long>(acknowledged),
                static_cast<unsigned long long>(acknowledged - lost),
                static_cast<unsigned long long>(lost));
  }
};

// Counts what the restarted server has of the job.
void Compare(const RealServer& server, const BusyJob& job, Figures& figures) {
  std::set<uint64_t> found;
  const std::string base = "/api/v1/jobs/" + job.name();
  const Json watchpoints = server.Get(base + "/watchpoints");
  for (const Json& each : watchpoints.at("watchpoints")) {
    found.insert(each.at("id").get<uint64_t>());
  }
  for (uint64_t id : job.ids()) figures.lost += found.count(id) == 0;
  const uint64_t hits = server.Get(base).at("hit_count").get<uint64_t>();
  figures.lost += job.confirmed() > hits ? job.confirmed() - hits : 0;
  figures.acknowledged += job.ids().size() + job.confirmed();
}

int Rounds(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::atoi(value);
}

// The limit of the disk of the server. Without a limit there is room.
void LimitDisk(const RealServer& server, bool full) {
  rlimit limit{};
  ASSERT_EQ(prlimit(server.pid(), RLIMIT_FSIZE, nullptr, &limit), 0);
  limit.rlim_cur = full ? 1 : limit.rlim_max;
  ASSERT_EQ(prlimit(server.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
}

class DurabilityTest : public testing::Test {
 protected:
  // Lets the writers get on for a random while.
  void Mingle() {
    std::this_thread::sleep_for(std::chrono::microseconds(
        std::uniform_int_distribution<int>(0, 30'000)(random_)));
  }

  std::minstd_rand random_{17};
};

TEST_F(DurabilityTest, NothingAcknowledgedIsLostWhenTheServerIsKilled) {
  const int rounds = Rounds("GRAPHDBG_KILL_ROUNDS", 3);
  RealServer server(FreshDirectory());
  Figures figures;
  for (int round = 0; round < rounds; ++round) {
    BusyJob job(server, "job" + std::to_string(round));
    BusyJob::AwaitMore(job.acknowledged());
    Mingle();
    server.Kill();
    job.Join();
    server.StartAgain();
    Compare(server, job, figures);
  }
  figures.Print("kill -9", rounds);
  EXPECT_GT(figures.acknowledged, 0u);
  EXPECT_EQ(figures.lost, 0u);
}

TEST_F(DurabilityTest, NothingAcknowledgedIsLostWhenTheDiskIsFullForAWhile) {
  const int rounds = Rounds("GRAPHDBG_FULL_ROUNDS", 2);
  RealServer server(FreshDirectory());
  Figures figures;
  for (int round = 0; round < rounds; ++round) {
    BusyJob job(server, "job" + std::to_string(round));
    BusyJob::AwaitMore(job.confirmed());
    Mingle();
    LimitDisk(server, true);
    BusyJob::AwaitMore(job.refused());
    EXPECT_EQ(server.Fetch("GET", "/readyz").status, 503);
    EXPECT_EQ(server.Get("/api/v1/server").at("storage").at("state"),
              "failing");
    EXPECT_NE(server.Fetch("GET", "/api/v1/metrics")
                  .body.find("graphdbg_store_failed 1"),
              std::string::npos);
    Mingle();
    LimitDisk(server, false);
    // It recovers by itself.
    BusyJob::AwaitMore(job.acknowledged());
    EXPECT_EQ(server.Fetch("GET", "/readyz").status, 200);
    Mingle();
    server.Kill();
    job.Join();
    server.StartAgain();
    Compare(server, job, figures);
  }
  figures.Print("full disk", rounds);
  EXPECT_GT(figures.acknowledged, 0u);
  EXPECT_EQ(figures.lost, 0u);
}

TEST_F(DurabilityTest, ARefusedWatchpointDoesNotExist) {
  RealServer server(FreshDirectory());
  ScriptedAgent agent(server.debugger_port());
  agent.Join(ScriptedAgent::MakeHello("digits"));
  const std::string target = "/api/v1/jobs/digits/watchpoints";
  ASSERT_EQ(server.Fetch("POST", target, kNan).status, 201);
  LimitDisk(server, true);
  // The first one finds the full disk, the second one a server that knows.
  for (int i = 0; i < 2; ++i) {
    const auto reply = server.Fetch("POST", target, kNan);
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(Json::parse(reply.body).at("code"), "not_kept");
  }
  EXPECT_EQ(server.Fetch("DELETE", target + "/1").status, 503);
  EXPECT_EQ(server.Get(target).at("watchpoints").size(), 1u);
  LimitDisk(server, false);
  server.GetUntil("/api/v1/server", [](const Json& answer) {
    return answer.at("storage").at("state") == "ok";
  });
  EXPECT_EQ(server.Get(target).at("watchpoints").size(), 1u);
  server.Kill();
  server.StartAgain();
  EXPECT_EQ(server.Get(target).at("watchpoints").size(), 1u);
}

// Runs a job to its end, and returns its id.
std::string RunShortJob(RealServer& server, const std::string& name) {
  ScriptedAgent agent(server.debugger_port());
  const std::string id = agent.Join(ScriptedAgent::MakeHello(name)).job();
  agent.SendGraph(SmallGraph());
  agent.SendGoodbye(0, 1);
  EXPECT_TRUE(agent.End().ok());
  server.GetUntil("/api/v1/jobs/" + id, [](const Json& job) {
    return job.value("state", "") == "finished";
  });
  return id;
}

TEST_F(DurabilityTest, RunsOfOneNameMakeRoomForEachOther) {
  RealServer server(FreshDirectory(), {"--max-jobs=4"});
  std::set<std::string> newest;
  for (int run = 1; run <= 12; ++run) {
    const std::string id = RunShortJob(server, "train");
    if (run > 8) newest.insert(id);
  }
  EXPECT_EQ(newest.size(), 4u);
  EXPECT_EQ(server.Fetch("GET", "/readyz").status, 200);
  server.Kill();
  server.StartAgain();
  std::set<std::string> found;
  const Json listed = server.Get("/api/v1/jobs");
  for (const Json& job : listed.at("jobs")) {
    found.insert(job.at("id").get<std::string>());
    EXPECT_EQ(job.at("state"), "finished");
  }
  EXPECT_EQ(found, newest);
}

TEST_F(DurabilityTest, ADamagedJobIsSetAside) {
  RealServer server(FreshDirectory());
  for (const char* name : {"bad", "good"}) RunShortJob(server, name);
  server.Stop();
  sqlite3* db = nullptr;
  ASSERT_EQ(
      sqlite3_open((server.data_dir() / "graphdbg.db").string().c_str(), &db),
      SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db,
                         "UPDATE node SET record = x'ff' WHERE node = 2 AND"
                         " job = (SELECT job FROM job WHERE id = 'bad')",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  server.StartAgain();
  const Json set_aside =
      server.Get("/api/v1/server").at("storage").at("set_aside");
  ASSERT_EQ(set_aside.size(), 1u);
  EXPECT_EQ(set_aside[0].at("job"), "bad");
  const Json bad = server.Get("/api/v1/jobs/bad");
  EXPECT_NE(bad.at("damaged").get<std::string>().find("table node"),
            std::string::npos);
  EXPECT_FALSE(server.Get("/api/v1/jobs/good").contains("damaged"));
  // The nodes before the damage are there.
  EXPECT_EQ(
      server.Get("/api/v1/jobs/bad/graphs").at("graphs")[0].at("node_count"),
      2);
  const auto refused =
      server.Fetch("POST", "/api/v1/jobs/bad/watchpoints", kNan);
  EXPECT_EQ(Json::parse(refused.body).at("code"), "not_kept");
  // Another run is another job.
  EXPECT_EQ(RunShortJob(server, "bad"), "bad-2");
  EXPECT_EQ(server.Fetch("DELETE", "/api/v1/jobs/bad").status, 204);
  EXPECT_EQ(server.Get("/api/v1/server").at("storage").at("set_aside").size(),
            0u);
}

}  // namespace
}  // namespace graphdbg::integration
