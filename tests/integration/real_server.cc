#include "tests/integration/real_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>

#include "tests/integration/patience.h"

namespace graphdbg::integration {
namespace {

using Json = RealServer::Json;

constexpr char kProgram[] = "server/main/graphdbg_server";

// Starts the program with its standard output connected to the pipe `out`.
pid_t Spawn(std::vector<std::string> arguments, int out, size_t descriptors) {
  arguments.insert(arguments.begin(), kProgram);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  dup2(out, STDOUT_FILENO);
  if (descriptors > 0) {
    const rlimit limit = {descriptors, descriptors};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  execv(kProgram, argv.data());
  _exit(127);
}

std::string ReadLine(int fd) {
  std::string line;
  char c = 0;
  while (read(fd, &c, 1) == 1 && c != '\n') line.push_back(c);
  return line;
}

uint16_t PortOf(const std::string& address) {
  return static_cast<uint16_t>(
      std::stoi(address.substr(address.rfind(':') + 1)));
}

}  // namespace

RealServer::RealServer(std::filesystem::path data_dir,
                       std::vector<std::string> more, size_t descriptors)
    : data_dir_(std::move(data_dir)),
      more_(std::move(more)),
      descriptors_(descriptors) {
  StartAgain();
}

RealServer::~RealServer() { Kill(); }

void RealServer::Signal(int signal) const { EXPECT_EQ(kill(pid_, signal), 0); }

void RealServer::Kill() { End(SIGKILL); }

void RealServer::Stop() { End(SIGTERM); }

void RealServer::End(int signal) {
  if (pid_ < 0) return;
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RealServer::StartAgain() {
  std::vector<std::string> arguments = {
      "--json", "--no-auth", "--data-dir=" + data_dir_.string(),
      "--port=" + std::to_string(http_port_),
      "--debugger-port=" + std::to_string(debugger_port_)};
  arguments.insert(arguments.end(), more_.begin(), more_.end());
  int pipe[2] = {};
  ASSERT_EQ(pipe2(pipe, O_CLOEXEC), 0);
  pid_ = Spawn(std::move(arguments), pipe[1], descriptors_);
  close(pipe[1]);
  const std::string line = ReadLine(pipe[0]);
  close(pipe[0]);
  ASSERT_FALSE(line.empty()) << "the server did not start";
  const Json addresses = Json::parse(line);
  http_port_ = PortOf(addresses.at("http_address"));
  debugger_port_ = PortOf(addresses.at("debugger_address"));
  if (addresses.contains("mindspore_address")) {
    mindspore_port_ = PortOf(addresses.at("mindspore_address"));
  }
}

http::testing::Reply RealServer::Fetch(const std::string& method,
                                       const std::string& target,
                                       const std::string& body) const {
  return http::testing::Fetch(http_port_, method, target, {}, body);
}

Json RealServer::Get(const std::string& target) const {
  const http::testing::Reply reply = Fetch("GET", target);
  EXPECT_EQ(reply.status, 200) << target << ": " << reply.body;
  return Json::parse(reply.body);
}

Json RealServer::GetUntil(
    const std::string& target,
    const std::function<bool(const Json&)>& passes) const {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    Json answer = Json::parse(Fetch("GET", target).body);
    if (passes(answer)) return answer;
    if (std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << target << " stays " << answer.dump();
      return answer;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::string UrlEncoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_') {
      encoded.push_back(c);
      continue;
    }
    char escaped[4];
    std::snprintf(escaped, sizeof(escaped), "%%%02X", byte);
    encoded += escaped;
  }
  return encoded;
}

}  // namespace graphdbg::integration
