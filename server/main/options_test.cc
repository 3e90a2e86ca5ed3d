#include "server/main/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace graphdbg {
namespace {

absl::StatusOr<std::optional<Options>> Parse(std::vector<const char*> args) {
  args.insert(args.begin(), "graphdbg_server");
  return ParseOptions(static_cast<int>(args.size()), args.data());
}

TEST(OptionsTest, DefaultsAreThoseOfTheContract) {
  setenv("XDG_DATA_HOME", "/data", 1);
  auto options = Parse({});
  ASSERT_TRUE(options.ok() && options->has_value()) << options.status();
  EXPECT_EQ((*options)->host, "127.0.0.1");
  EXPECT_EQ((*options)->port, 8080);
  EXPECT_EQ((*options)->debugger_port, 50051);
  EXPECT_EQ((*options)->data_dir, "/data/graphdbg");
  EXPECT_TRUE((*options)->auth);
  EXPECT_FALSE((*options)->json);
  EXPECT_FALSE((*options)->parent.has_value());
  EXPECT_EQ((*options)->attach_program, "");
}

TEST(OptionsTest, AgesAreDays) {
  EXPECT_EQ((*Parse({"--data-dir=/d"}))->max_age_days, 0u);
  EXPECT_EQ((*Parse({"--data-dir=/d", "--max-age=30"}))->max_age_days, 30u);
  for (const char* wrong : {"--max-age=-1", "--max-age=1e9", "--max-age=x"}) {
    EXPECT_FALSE(Parse({"--data-dir=/d", wrong}).ok()) << wrong;
  }
}

TEST(OptionsTest, RunsAreInSeveralDirectories) {
  EXPECT_TRUE((*Parse({"--data-dir=/d"}))->runs.empty());
  auto options = Parse({"--data-dir=/d", "--runs=/a", "--runs", "/b c"});
  ASSERT_TRUE(options.ok() && options->has_value()) << options.status();
  EXPECT_EQ((*options)->runs, (std::vector<std::string>{"/a", "/b c"}));
}

TEST(OptionsTest, TunnelsMayHaveOtherPorts) {
  auto options = Parse({"--data-dir=/d", "--forwarded-port=9000,443"});
  ASSERT_TRUE(options.ok() && options->has_value()) << options.status();
  EXPECT_EQ((*options)->forwarded_ports, (std::vector<uint16_t>{9000, 443}));
  EXPECT_FALSE(Parse({"--data-dir=/d", "--forwarded-port=x"}).ok());
}

TEST(OptionsTest, FrameAncestorsAreOrigins) {
  auto options = Parse(
      {"--data-dir=/d", "--frame-ancestors=http://localhost:8888,https://a.b"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ((*options)->frame_ancestors,
            (std::vector<std::string>{"http://localhost:8888", "https://a.b"}));
  for (const char* wrong :
       {"*", "http://*", "http://a;script-src *", "http://a b", "'none'",
        "http://a/path", "localhost:8888"}) {
    const std::string option = std::string("--frame-ancestors=") + wrong;
    EXPECT_FALSE(Parse({"--data-dir=/d", option.c_str()}).ok()) << wrong;
  }
}

TEST(OptionsTest, MachinesWhoseMindSporeJobsMayCome) {
  EXPECT_FALSE((*Parse({"--data-dir=/d"}))->mindspore_allow.has_value());
  auto options = Parse(
      {"--data-dir=/d", "--mindspore-allow=10.1.0.0/16", "--mindspore-port=0"});
  ASSERT_TRUE(options.ok() && options->has_value()) << options.status();
  EXPECT_TRUE((*options)->mindspore_allow->Allows("10.1.2.3"));
  EXPECT_EQ((*options)->mindspore_port, 0);
  const auto wrong = Parse({"--data-dir=/d", "--mindspore-allow=node7"});
  const std::string message(wrong.status().message());
  EXPECT_NE(message.find("--mindspore-allow: 'node7'"), std::string::npos);
  // A port that would accept no connections.
  EXPECT_FALSE(Parse({"--data-dir=/d", "--mindspore-port=0"}).ok());
}

TEST(OptionsTest, ReadsAllFlags) {
  auto options = Parse(
      {"--port=0", "--debugger-port", "0", "--host=localhost", "--data-dir=/d",
       "--no-auth", "--json", "--parent-pid=12", "--enable-debugger", "True",
       "--debugger-socket=/d/agent.sock", "--attach-program=/bin/graphdbg"});
  ASSERT_TRUE(options.ok() && options->has_value()) << options.status();
  EXPECT_EQ((*options)->host, "127.0.0.1");
  EXPECT_EQ((*options)->port, 0);
  EXPECT_EQ((*options)->debugger_port, 0);
  EXPECT_EQ((*options)->data_dir, "/d");
  EXPECT_FALSE((*options)->auth);
  EXPECT_TRUE((*options)->json);
  EXPECT_EQ((*options)->parent, 12);
  EXPECT_EQ((*options)->debugger_socket, "/d/agent.sock");
  EXPECT_EQ((*options)->attach_program, "/bin/graphdbg");
}

TEST(OptionsTest, BeyondThisMachineItTakesTlsAndTokens) {
  const auto refusal = [](std::vector<const char*> args) {
    return std::string(Parse(std::move(args)).status().message());
  };
  EXPECT_NE(refusal({"--host=0.0.0.0"}).find("--tls-cert"), std::string::npos);
  EXPECT_NE(refusal({"--host=0.0.0.0", "--tls-cert=c"}).find("--tls-key"),
            std::string::npos);
  EXPECT_NE(refusal({"--tls-client-ca=a"}).find("--tls-cert"),
            std::string::npos);
  EXPECT_NE(
      refusal({"--host=0.0.0.0", "--tls-cert=c", "--tls-key=k", "--no-auth"})
          .find("--no-auth"),
      std::string::npos);
  auto options = Parse({"--host=0.0.0.0", "--tls-cert=c", "--tls-key=k",
                        "--tls-client-ca=a", "--data-dir=/d"});
  ASSERT_TRUE(options.ok() && options->has_value()) << options.status();
  EXPECT_EQ((*options)->host, "0.0.0.0");
  EXPECT_EQ((*options)->tls_certificate, "c");
  EXPECT_EQ((*options)->tls_key, "k");
  EXPECT_EQ((*options)->tls_client_authority, "a");
}

TEST(OptionsTest, OfAFlagThatComesTwiceTheLastCounts) {
  auto options = Parse({"--data-dir=/d", "--port=1", "--port=2"});
  ASSERT_TRUE(options.ok() && options->has_value()) << options.status();
  EXPECT_EQ((*options)->port, 2);
}

TEST(OptionsTest, TheDataDirectoryFallsBackToHome) {
  unsetenv("XDG_DATA_HOME");
  setenv("HOME", "/home/anna", 1);
  EXPECT_EQ(DefaultDataDir(), "/home/anna/.local/share/graphdbg");
  unsetenv("HOME");
  EXPECT_EQ(Parse({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Parse({"--data-dir=/d"}).ok());
}

TEST(OptionsTest, WrongUsageIsOneLineThatNamesTheFlag) {
  const std::pair<const char*, const char*> cases[] = {
      {"--port=x", "--port"},
      {"--port=70000", "--port"},
      {"--port=-1", "--port"},
      {"--debugger-port=x", "--debugger-port"},
      {"--enable-debugger=False", "--enable-debugger"},
      {"--parent-pid=0", "--parent-pid"},
      {"--host=0.0.0.0", "--host"},
      {"--colour", "--colour"},
  };
  for (const auto& [argument, flag] : cases) {
    absl::Status status = Parse({"--data-dir=/d", argument}).status();
    std::string message(status.message());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << argument;
    EXPECT_NE(message.find(flag), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(OptionsTest, AnAddressBeyondThisMachineIsRefusedForWantOfTls) {
  for (const char* host : {"0.0.0.0", "::", "192.168.0.2", "example.com"}) {
    absl::Status status =
        Parse({"--data-dir=/d", "--host", host, "--no-auth"}).status();
    EXPECT_NE(std::string(status.message()).find("TLS"), std::string::npos);
  }
}

}  // namespace
}  // namespace graphdbg
