// Tests the program as users and scripts start it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/http/testing/client.h"

namespace graphdbg {
namespace {

namespace fs = std::filesystem;
using http::testing::Fetch;
using nlohmann::json;

constexpr char kProgram[] = "server/main/graphdbg_server";

// A child process whose output goes to pipes.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    int out[2], err[2];
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(err, O_CLOEXEC), 0);
    arguments.insert(arguments.begin(), kProgram);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      execv(kProgram, argv.data());
      _exit(127);
    }
    close(out[1]);
    close(err[1]);
    out_ = fdopen(out[0], "r");
    err_ = fdopen(err[0], "r");
  }
  ~Program() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    fclose(out_);
    fclose(err_);
  }

  std::string Line() {
    std::string line;
    for (int c = getc(out_); c != EOF && c != '\n'; c = getc(out_)) {
      line.push_back(static_cast<char>(c));
    }
    return line;
  }
  std::string Errors() {
    std::string text;
    for (int c = getc(err_); c != EOF; c = getc(err_)) {
      text.push_back(static_cast<char>(c));
    }
    return text;
  }
  pid_t pid() const { return pid_; }
  void Signal(int signal) { kill(pid_, signal); }
  int ExitCode() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  FILE* out_ = nullptr;
  FILE* err_ = nullptr;
};

uint16_t PortOf(const std::string& address) {
  return static_cast<uint16_t>(
      std::stoi(address.substr(address.rfind(':') + 1)));
}

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() {
    data_dir_ = fs::path(::testing::TempDir()) /
                ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(data_dir_);
    runtime_ = data_dir_.string() + "-runtime";
    fs::remove_all(runtime_);
    fs::create_directory(runtime_);
    setenv("XDG_RUNTIME_DIR", runtime_.c_str(), 1);
  }

  std::vector<std::string> Arguments(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"--json", "--port=0",
                                          "--debugger-port=0",
                                          "--data-dir=" + data_dir_.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string Token() {
    std::string token;
    std::ifstream(data_dir_ / "token") >> token;
    return token;
  }

  fs::path data_dir_;
  fs::path runtime_;
};

TEST_F(ProgramTest, TheFirstLineSaysWhereEverythingIs) {
  Program program(Arguments());
  json addresses = json::parse(program.Line());
  EXPECT_EQ(addresses["data_dir"], data_dir_.string());
  uint16_t port = PortOf(addresses["http_address"]);
  EXPECT_EQ(Fetch(port, "GET", "/readyz").status, 200);
  EXPECT_NE(Fetch(port, "GET", "/").body.find("<html"), std::string::npos);
  http::testing::Fields bearer = {{"Authorization", "Bearer " + Token()}};
  json server = json::parse(Fetch(port, "GET", "/api/v1/server", bearer).body);
  EXPECT_EQ(server["http_address"], addresses["http_address"]);
  EXPECT_EQ(server["debugger_address"], addresses["debugger_address"]);
  EXPECT_EQ(Fetch(port, "GET", "/api/v1/jobs", bearer).body, R"({"jobs":[]})");
  EXPECT_EQ(Fetch(port, "GET", "/api/v1/jobs").status, 401);
}

TEST_F(ProgramTest, TheCodeOfTheAddressBuysASession) {
  Program program(Arguments());
  json addresses = json::parse(program.Line());
  std::string url = addresses["url"];
  size_t code = url.find("/#code=");
  ASSERT_NE(code, std::string::npos) << url;
  EXPECT_EQ(url.substr(0, code), addresses["http_address"]);
  json body = {{"code", url.substr(code + 7)}};
  http::testing::Reply reply = Fetch(PortOf(addresses["http_address"]), "POST",
                                     "/api/v1/login", {}, body.dump());
  const std::string session = json::parse(reply.body)["token"];
  EXPECT_NE(session, Token());
  EXPECT_EQ(Fetch(PortOf(addresses["http_address"]), "GET", "/api/v1/jobs",
                  {{"Authorization", "Bearer " + session}})
                .status,
            200);
}

TEST_F(ProgramTest, SessionsTokensAndAuditEntriesOutliveTheServer) {
  http::testing::Fields bearer;
  std::string session;
  std::string token;
  {
    Program program(Arguments());
    json addresses = json::parse(program.Line());
    const uint16_t port = PortOf(addresses["http_address"]);
    bearer = {{"Authorization", "Bearer " + Token()}};
    const std::string url = addresses["url"];
    const json code = {{"code", url.substr(url.find("code=") + 5)}};
    session = json::parse(
        Fetch(port, "POST", "/api/v1/login", {}, code.dump()).body)["token"];
    const json wanted = {{"name", "alice"}, {"role", "view"}};
    token =
        json::parse(Fetch(port, "POST", "/api/v1/tokens", bearer, wanted.dump())
                        .body)["token"];
    program.Signal(SIGKILL);
  }
  Program program(Arguments());
  const uint16_t port = PortOf(json::parse(program.Line())["http_address"]);
  for (const std::string& credential : {session, token}) {
    EXPECT_EQ(Fetch(port, "GET", "/api/v1/jobs",
                    {{"Authorization", "Bearer " + credential}})
                  .status,
              200);
  }
  const json audit =
      json::parse(Fetch(port, "GET", "/api/v1/audit", bearer).body);
  ASSERT_EQ(audit["entries"].size(), 2u);
  EXPECT_EQ(audit["entries"][0]["action"], "create_token");
  EXPECT_EQ(audit["entries"][1]["action"], "login");
  for (const char* name : {"credentials.json", "audit.jsonl", "server.json"}) {
    struct stat info {};
    ASSERT_EQ(stat((data_dir_ / name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777, 0600u) << name;
  }
}

TEST_F(ProgramTest, ACrashLeavesNoCoreDump) {
  Program program(Arguments());
  program.Line();
  rlimit limit{};
  ASSERT_EQ(prlimit(program.pid(), RLIMIT_CORE, nullptr, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, 0u);
}

TEST_F(ProgramTest, ATokenThatIsAPipeDoesNotHoldUpTheStart) {
  fs::create_directories(data_dir_);
  fs::permissions(data_dir_, fs::perms::owner_all);
  ASSERT_EQ(mkfifo((data_dir_ / "token").c_str(), 0600), 0);
  Program program(Arguments());
  EXPECT_FALSE(program.Line().empty());
  EXPECT_EQ(Token().size(), 43u);
}

TEST_F(ProgramTest, TheDataDirectoryTellsWhereTheServerListens) {
  Program program(Arguments());
  const json addresses = json::parse(program.Line());
  const fs::path file = data_dir_ / "server.json";
  const json running = json::parse(std::ifstream(file));
  EXPECT_EQ(running["http_address"], addresses["http_address"]);
  EXPECT_EQ(running["debugger_address"], addresses["debugger_address"]);
  program.Signal(SIGTERM);
  EXPECT_EQ(program.ExitCode(), 0);
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(ProgramTest, ATemporaryDirectoryEndsWithTheParent) {
  for (const bool temporary : {true, false}) {
    pid_t parent = fork();
    if (parent == 0) {
      pause();
      _exit(0);
    }
    auto arguments = Arguments({"--parent-pid=" + std::to_string(parent)});
    if (temporary) arguments.push_back("--temporary-data-dir");
    Program program(arguments);
    EXPECT_FALSE(program.Line().empty());
    kill(parent, SIGKILL);
    waitpid(parent, nullptr, 0);
    EXPECT_EQ(program.ExitCode(), 0);
    EXPECT_EQ(fs::exists(data_dir_), !temporary);
  }
}

TEST_F(ProgramTest, TokensAreTheOwnersAloneAndOutliveTheServer) {
  std::string token;
  {
    Program program(Arguments());
    program.Line();
    token = Token();
    for (const char* name : {"token", "agent_token"}) {
      struct stat info {};
      ASSERT_EQ(stat((data_dir_ / name).c_str(), &info), 0) << name;
      EXPECT_EQ(info.st_mode & 0777, 0600u) << name;
    }
  }
  Program program(Arguments());
  program.Line();
  EXPECT_EQ(Token(), token);
}

TEST_F(ProgramTest, ItIsListedWhileItRuns) {
  const fs::path list = runtime_ / "graphdbg";
  fs::path leftover;
  {
    Program program(Arguments());
    program.Line();
    leftover = list / (std::to_string(program.pid()) + ".json");
    // It is killed.
  }
  EXPECT_TRUE(fs::exists(leftover));
  Program program(Arguments());
  const json addresses = json::parse(program.Line());
  EXPECT_FALSE(fs::exists(leftover));
  const fs::path file = list / (std::to_string(program.pid()) + ".json");
  struct stat info {};
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const json listed = json::parse(std::ifstream(file));
  EXPECT_EQ(listed["pid"], program.pid());
  EXPECT_EQ(listed["http_address"], addresses["http_address"]);
  EXPECT_EQ(listed["data_dir"], data_dir_.string());
  program.Signal(SIGTERM);
  EXPECT_EQ(program.ExitCode(), 0);
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(ProgramTest, OthersCannotListServers) {
  fs::create_directory(runtime_ / "graphdbg");
  fs::permissions(runtime_ / "graphdbg", fs::perms::all);
  Program program(Arguments());
  EXPECT_FALSE(program.Line().empty());
  EXPECT_TRUE(fs::is_empty(runtime_ / "graphdbg"));
}

TEST_F(ProgramTest, SignalsStopItInGoodOrder) {
  for (int signal : {SIGINT, SIGTERM}) {
    Program program(Arguments());
    program.Line();
    program.Signal(signal);
    EXPECT_EQ(program.ExitCode(), 0);
  }
}

TEST_F(ProgramTest, APortInUseIsOneLineThatNamesPortAndFlag) {
  Program first(Arguments());
  json addresses = json::parse(first.Line());
  const std::pair<const char*, const char*> ports[] = {
      {"--port", "http_address"}, {"--debugger-port", "debugger_address"}};
  for (const auto& [flag, address] : ports) {
    std::string port = std::to_string(PortOf(addresses[address]));
    Program second(Arguments({std::string(flag) + "=" + port,
                              "--data-dir=" + data_dir_.string() + "2"}));
    std::string errors = second.Errors();
    EXPECT_EQ(second.ExitCode(), 3);
    EXPECT_NE(errors.find(port), std::string::npos) << errors;
    EXPECT_NE(errors.find(flag), std::string::npos) << errors;
    EXPECT_NE(errors.find("another program"), std::string::npos) << errors;
    EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
  }
}

TEST_F(ProgramTest, ADataDirectoryInUseIsOneLineThatNamesIt) {
  Program first(Arguments());
  first.Line();
  Program second(Arguments());
  std::string errors = second.Errors();
  EXPECT_EQ(second.ExitCode(), 3);
  EXPECT_NE(errors.find(data_dir_.string()), std::string::npos) << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
}

TEST_F(ProgramTest, ARefusedStartLeavesTheTokenOfTheRunningServer) {
  Program first(Arguments());
  first.Line();
  const std::string token = Token();
  // A server replaces a token that others could have read.
  fs::permissions(data_dir_ / "token", fs::perms::others_read,
                  fs::perm_options::add);
  Program second(Arguments());
  EXPECT_NE(second.Errors().find("another server"), std::string::npos);
  EXPECT_EQ(second.ExitCode(), 3);
  EXPECT_EQ(Token(), token);
}

TEST_F(ProgramTest, ADamagedDatabaseIsOneLineThatNamesItAndStaysAsItIs) {
  fs::create_directories(data_dir_);
  const fs::path file = data_dir_ / "graphdbg.db";
  std::ofstream(file) << "this is not a database";
  Program program(Arguments());
  std::string errors = program.Errors();
  EXPECT_EQ(program.ExitCode(), 3);
  EXPECT_NE(errors.find(file.string()), std::string::npos) << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
  std::string content;
  std::getline(std::ifstream(file), content);
  EXPECT_EQ(content, "this is not a database");
}

TEST_F(ProgramTest, WrongUsageIsOneLine) {
  Program program({"--port=x"});
  std::string errors = program.Errors();
  EXPECT_EQ(program.ExitCode(), 2);
  EXPECT_EQ(errors.rfind("graphdbg: ", 0), 0u) << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
}

TEST_F(ProgramTest, ADataDirectoryThatCannotBeMadeIsNamed) {
  Program program({"--port=0", "--debugger-port=0", "--data-dir=/proc/none"});
  std::string errors = program.Errors();
  EXPECT_EQ(program.ExitCode(), 3);
  EXPECT_NE(errors.find("/proc/none"), std::string::npos) << errors;
}

TEST_F(ProgramTest, ItEndsWithItsParent) {
  pid_t parent = fork();
  if (parent == 0) {
    pause();
    _exit(0);
  }
  Program program(Arguments({"--parent-pid=" + std::to_string(parent)}));
  EXPECT_FALSE(program.Line().empty());
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(program.ExitCode(), 0);
}

TEST_F(ProgramTest, WithoutAuthenticationTheAddressHasNoCode) {
  Program program(Arguments({"--no-auth"}));
  json addresses = json::parse(program.Line());
  EXPECT_EQ(addresses["url"].get<std::string>().find("code"),
            std::string::npos);
  EXPECT_EQ(
      Fetch(PortOf(addresses["http_address"]), "GET", "/api/v1/jobs").status,
      200);
}

}  // namespace
}  // namespace graphdbg
