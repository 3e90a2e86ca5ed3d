#include "agent/core/config.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Config Read(const std::map<std::string, std::string>& variables) {
  return ReadConfig(
      [&](const char* name) {
        auto it = variables.find(name);
        return it == variables.end() ? nullptr : it->second.c_str();
      },
      {"/usr/bin/python3", "-u", "dir/train.py", "--lr", "1"});
}

TEST(ConfigTest, IsOffUnlessEnabled) {
  EXPECT_FALSE(Read({}).enabled);
  EXPECT_FALSE(Read({{"GRAPHDBG_ENABLE", "0"}}).enabled);
  EXPECT_TRUE(Read({{"GRAPHDBG_ENABLE", "true"}}).enabled);
  EXPECT_TRUE(Read({{"ENABLE_MS_DEBUGGER", "1"}}).enabled);
  EXPECT_FALSE(
      Read({{"GRAPHDBG_ENABLE", "0"}, {"ENABLE_MS_DEBUGGER", "1"}}).enabled);
}

TEST(ConfigTest, TheOverheadLimitsWhatIsRecorded) {
  const std::string on = "1", place = "/tmp";
  EXPECT_EQ(Read({{"GRAPHDBG_ENABLE", on}}).overhead, std::nullopt);
  const Config c = Read({{"GRAPHDBG_ENABLE", on},
                         {"GRAPHDBG_RECORD", place},
                         {"GRAPHDBG_OVERHEAD", "0.04"}});
  EXPECT_EQ(c.overhead, 0.04);
  EXPECT_EQ(c.record.overhead, 0.02);
  EXPECT_EQ(Read({{"GRAPHDBG_RECORD", place},
                  {"GRAPHDBG_RECORD_OVERHEAD", "0.01"},
                  {"GRAPHDBG_OVERHEAD", "0.04"}})
                .record.overhead,
            0.01);
  // A black box has no limit of its own.
  EXPECT_EQ(Read({{"GRAPHDBG_BLACK_BOX", place}, {"GRAPHDBG_OVERHEAD", "0.04"}})
                .record.overhead,
            0.02);
  for (const char* wrong : {"0", "-1", "2", "nan", "5%"}) {
    const Config ignored =
        Read({{"GRAPHDBG_ENABLE", on}, {"GRAPHDBG_OVERHEAD", wrong}});
    EXPECT_EQ(ignored.overhead, std::nullopt) << wrong;
    EXPECT_THAT(ignored.problems, ElementsAre(HasSubstr("GRAPHDBG_OVERHEAD")));
  }
}

TEST(ConfigTest, HasTheDocumentedDefaults) {
  const Config c = Read({{"GRAPHDBG_ENABLE", "1"}});
  EXPECT_EQ(c.host, "127.0.0.1");
  EXPECT_EQ(c.port, 50051);
  EXPECT_EQ(c.tensor_budget_bytes, int64_t{2} << 30);
  EXPECT_TRUE(c.wait);
  EXPECT_FALSE(c.partial_memory);
  EXPECT_EQ(c.connect_timeout, milliseconds(10000));
  EXPECT_EQ(c.grace, milliseconds(60000));
  EXPECT_EQ(c.on_disconnect, OnDisconnect::kResume);
  EXPECT_THAT(c.job, StartsWith("train.py-"));
  EXPECT_THAT(c.problems, IsEmpty());
}

TEST(ConfigTest, ReadsAliasesAndPrefersOwnNames) {
  const Config c = Read({{"ENABLE_MS_DEBUGGER", "1"},
                         {"MS_DEBUGGER_HOST", "127.0.0.2"},
                         {"GRAPHDBG_HOST", "127.0.0.3"},
                         {"MS_DEBUGGER_PORT", "1234"},
                         {"MS_DEBUGGER_PARTIAL_MEM", "1"}});
  EXPECT_EQ(c.host, "127.0.0.3");
  EXPECT_EQ(c.port, 1234);
  EXPECT_TRUE(c.partial_memory);
}

TEST(ConfigTest, ReadsSizesAndTimes) {
  const auto budget = [](const char* text) {
    return Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_TENSOR_BUDGET", text}})
        .tensor_budget_bytes;
  };
  EXPECT_EQ(budget("1000"), 1000);
  EXPECT_EQ(budget("512MiB"), int64_t{512} << 20);
  EXPECT_EQ(budget("1.5 GB"), 1500000000);
  EXPECT_EQ(budget("0"), 0);
  EXPECT_EQ(Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_GRACE", "0.25"}}).grace,
            milliseconds(250));
}

TEST(ConfigTest, BadValuesKeepTheDefaultAndAreNamedOnce) {
  const Config c = Read({{"GRAPHDBG_ENABLE", "1"},
                         {"GRAPHDBG_PORT", "70000"},
                         {"GRAPHDBG_WAIT", "maybe"},
                         {"GRAPHDBG_TENSOR_BUDGET", "much"},
                         {"GRAPHDBG_CONNECT_TIMEOUT", "-1"},
                         {"GRAPHDBG_ON_DISCONNECT", "panic"}});
  EXPECT_EQ(c.port, 50051);
  EXPECT_TRUE(c.wait);
  EXPECT_EQ(c.problems.size(), 5u);
  EXPECT_THAT(c.problems[0], HasSubstr("ignored GRAPHDBG_PORT=70000"));
}

TEST(ConfigTest, RankAndSizeComeFromOneLauncher) {
  Config c = Read({{"GRAPHDBG_ENABLE", "1"},
                   {"RANK", "3"},
                   {"WORLD_SIZE", "4"},
                   {"SLURM_PROCID", "1"},
                   {"SLURM_NTASKS", "2"}});
  EXPECT_EQ(c.rank, 3u);
  EXPECT_EQ(c.world_size, 4u);
  c = Read({{"GRAPHDBG_ENABLE", "1"},
            {"RANK", "9"},
            {"WORLD_SIZE", "4"},
            {"SLURM_PROCID", "1"},
            {"SLURM_NTASKS", "2"}});
  EXPECT_EQ(c.rank, 1u);
  EXPECT_EQ(c.place_problems.size(), 1u);
}

TEST(ConfigTest, DerivesTheRankFromThatOnTheMachine) {
  const auto read = [](std::map<std::string, std::string> variables) {
    variables["GRAPHDBG_ENABLE"] = "1";
    return Read(variables);
  };
  Config c = read({{"LOCAL_RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(c.rank, 1u);
  EXPECT_EQ(c.world_size, 2u);
  c = read({{"LOCAL_RANK", "1"},
            {"NODE_RANK", "2"},
            {"LOCAL_WORLD_SIZE", "4"},
            {"WORLD_SIZE", "16"}});
  EXPECT_EQ(c.rank, 9u);
  EXPECT_EQ(c.world_size, 16u);
  c = read({{"RANK", "3"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "4"}});
  EXPECT_EQ(c.rank, 3u);
  // The number of processes on the other machines is not known.
  c = read({{"LOCAL_RANK", "1"}, {"NODE_RANK", "2"}, {"WORLD_SIZE", "16"}});
  EXPECT_EQ(c.world_size, 1u);
  EXPECT_THAT(c.place_problems, ElementsAre(HasSubstr("GRAPHDBG_RANK")));
}

TEST(ConfigTest, TheProgramsOwnPlaceTakesPrecedenceOverTheLaunchers) {
  std::map<std::string, std::string> variables = {
      {"GRAPHDBG_ENABLE", "1"}, {"RANK", "9"}, {"WORLD_SIZE", "4"}};
  const auto get = [&](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  };
  Config c = ReadConfig(get, {"train"});
  ReadPlace(get, Place{1, 2}, &c);
  EXPECT_EQ(c.rank, 1u);
  EXPECT_EQ(c.world_size, 2u);
  EXPECT_THAT(c.place_problems, IsEmpty());
  // Set by the program after its start.
  variables["RANK"] = "2";
  ReadPlace(get, std::nullopt, &c);
  EXPECT_EQ(c.rank, 2u);
  EXPECT_EQ(c.world_size, 4u);
  variables["GRAPHDBG_RANK"] = "5";
  variables["GRAPHDBG_WORLD_SIZE"] = "6";
  ReadPlace(get, Place{1, 2}, &c);
  EXPECT_EQ(c.rank, 5u);
}

TEST(ConfigTest, RanksWithoutAJobNameAgreeOnOne) {
  const std::map<std::string, std::string> common = {{"GRAPHDBG_ENABLE", "1"},
                                                     {"WORLD_SIZE", "2"}};
  auto first = common, second = common;
  first["RANK"] = "0";
  second["RANK"] = "1";
  EXPECT_EQ(Read(first).job, Read(second).job);
}

TEST(ConfigTest, RanksWarnIfTheyCannotAgreeOnAJob) {
  std::map<std::string, std::string> variables = {
      {"GRAPHDBG_ENABLE", "1"},
      {"OMPI_COMM_WORLD_RANK", "3"},
      {"OMPI_COMM_WORLD_SIZE", "8"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
  EXPECT_THAT(Read(variables).place_problems,
              ElementsAre(HasSubstr("GRAPHDBG_JOB")));
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "8";
  EXPECT_THAT(Read(variables).place_problems, IsEmpty());
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "4";
  variables["SLURM_JOB_ID"] = "77";
  EXPECT_THAT(Read(variables).place_problems, IsEmpty());
}

TEST(ConfigTest, RanksOfSeveralMachinesAgreeOnAJob) {
  const std::map<std::string, std::string> common = {{"GRAPHDBG_ENABLE", "1"},
                                                     {"WORLD_SIZE", "8"},
                                                     {"RANK", "5"},
                                                     {"GROUP_WORLD_SIZE", "2"},
                                                     {"MASTER_PORT", "29511"}};
  auto named = common, unnamed = common;
  named["TORCHELASTIC_RUN_ID"] = "night";
  unnamed["TORCHELASTIC_RUN_ID"] = "none";
  EXPECT_THAT(Read(named).job, testing::EndsWith("-night"));
  EXPECT_THAT(Read(unnamed).job, testing::EndsWith("-29511"));
}

TEST(ConfigTest, TheTokenComesFromTheVariableOrTheFile) {
  const std::string path = testing::TempDir() + "/token";
  std::ofstream(path) << "from-file\n";
  EXPECT_EQ(
      Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_TOKEN_FILE", path}}).token,
      "from-file");
  EXPECT_EQ(Read({{"GRAPHDBG_ENABLE", "1"},
                  {"GRAPHDBG_TOKEN_FILE", path},
                  {"GRAPHDBG_TOKEN", "direct"}})
                .token,
            "direct");
  const Config missing =
      Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_TOKEN_FILE", path + ".none"}});
  EXPECT_EQ(missing.token, "");
  EXPECT_THAT(missing.problems, ElementsAre(HasSubstr("cannot read")));
}

TEST(ConfigTest, ReadsTlsFilesOrDebugsNothing) {
  const std::string file = testing::TempDir() + "/ca.pem";
  std::ofstream(file) << "a certificate";
  const Config c = Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_TLS_CA", file}});
  EXPECT_EQ(c.tls.authority, "a certificate");
  EXPECT_TRUE(c.enabled);
  const Config missing =
      Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_TLS_CA", "/nowhere/ca.pem"}});
  EXPECT_FALSE(missing.enabled);
  EXPECT_THAT(missing.problems, ElementsAre(HasSubstr("/nowhere/ca.pem")));
}

TEST(ConfigTest, NothingLeavesThisMachineInPlainText) {
  for (const char* host : {"gpu7", "10.0.0.1", "0.0.0.0", "127.0.0.1.evil"}) {
    const Config c = Read({{"GRAPHDBG_ENABLE", "1"},
                           {"GRAPHDBG_HOST", host},
                           {"GRAPHDBG_TOKEN", "secret"}});
    EXPECT_FALSE(c.enabled) << host;
    EXPECT_THAT(
        c.problems,
        ElementsAre(AllOf(HasSubstr(host), HasSubstr("and the token"),
                          HasSubstr("GRAPHDBG_TLS_CA"), HasSubstr("ssh -L"),
                          HasSubstr("training continues without debugging"),
                          Not(HasSubstr("secret")))));
  }
  // The graph is not for others, either.
  EXPECT_FALSE(
      Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_HOST", "gpu7"}}).enabled);
  EXPECT_FALSE(
      Read({{"ENABLE_MS_DEBUGGER", "1"}, {"MS_DEBUGGER_HOST", "10.0.0.1"}})
          .enabled);
}

TEST(ConfigTest, ConnectsToOtherMachinesByTls) {
  const std::string file = testing::TempDir() + "/remote_ca.pem";
  std::ofstream(file) << "a certificate";
  const Config c = Read({{"GRAPHDBG_ENABLE", "1"},
                         {"GRAPHDBG_HOST", "gpu7"},
                         {"GRAPHDBG_TLS_CA", file}});
  EXPECT_TRUE(c.enabled);
  EXPECT_THAT(c.problems, IsEmpty());
}

TEST(ConfigTest, ACertificateOfItsOwnNeedsThatOfTheServer) {
  const std::string file = testing::TempDir() + "/own.pem";
  std::ofstream(file) << "a certificate";
  for (const char* name : {"GRAPHDBG_TLS_CERT", "GRAPHDBG_TLS_KEY"}) {
    const Config c = Read({{"GRAPHDBG_ENABLE", "1"}, {name, file}});
    EXPECT_FALSE(c.enabled) << name;
    EXPECT_THAT(c.problems, ElementsAre(HasSubstr("GRAPHDBG_TLS_CA")));
  }
}

TEST(ConfigTest, TheHostMayBeASocket) {
  const Config c =
      Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_HOST", "unix:/run/a.sock"}});
  EXPECT_EQ(c.socket, "/run/a.sock");
  EXPECT_TRUE(c.enabled);
  EXPECT_EQ(
      Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_HOST", "unix:///run/a.sock"}})
          .socket,
      "/run/a.sock");
  EXPECT_FALSE(
      Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_HOST", "unix:a.sock"}})
          .enabled);
}

TEST(ConfigTest, ASocketOfThisUserIsPreferredToThePort) {
  // The test's own directory is too deep for the address of a socket.
  char directory[] = "/tmp/graphdbg-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/own.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  const std::map<std::string, std::string> variables = {
      {"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_SOCKET", path}};
  EXPECT_EQ(Read(variables).socket, path);
  // It belongs to the server of this machine.
  auto remote = variables;
  remote["GRAPHDBG_HOST"] = "gpu7";
  EXPECT_EQ(Read(remote).socket, "");
  close(fd);
  unlink(path.c_str());
  EXPECT_EQ(Read(variables).socket, "");
  std::ofstream(path) << "not a socket";
  EXPECT_EQ(Read(variables).socket, "");
  std::filesystem::remove_all(directory);
}

std::string AllowedBy(const char* text) {
  const Allowed allowed =
      Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_ALLOW", text}}).allowed;
  return std::string(allowed.view ? "v" : "") + (allowed.control ? "c" : "") +
         (allowed.terminate ? "t" : "") + (allowed.change ? "x" : "");
}

TEST(ConfigTest, TheOwnerLimitsWhatTheServerMayOrder) {
  EXPECT_TRUE(Read({{"GRAPHDBG_ENABLE", "1"}}).allowed.all());
  EXPECT_EQ(AllowedBy("view,control,terminate,change"), "vctx");
  EXPECT_EQ(AllowedBy(" control , view "), "vc");
  EXPECT_EQ(AllowedBy("none"), "");
  // A mistyped limit is no permission.
  EXPECT_EQ(AllowedBy("view,contro,Terminate"), "v");
  EXPECT_THAT(
      Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_ALLOW", "view,contro"}})
          .problems,
      ElementsAre(HasSubstr("contro")));
}

TEST(ConfigTest, TheOwnerHidesValuesByName) {
  const auto read = [](const std::string& text) {
    return Read({{"GRAPHDBG_ENABLE", "1"}, {"GRAPHDBG_REDACT", text.c_str()}});
  };
  const Config config = read("embedding*, **/token_ids ,");
  EXPECT_TRUE(config.allowed.redacted.Matches("embedding:0"));
  EXPECT_TRUE(config.allowed.redacted.Matches("forward/input/token_ids"));
  EXPECT_FALSE(config.allowed.redacted.Matches("forward/fc/linear:0"));
  EXPECT_FALSE(config.allowed.redacted.Matches(""));
  EXPECT_THAT(config.problems, IsEmpty());
  // A list that is too long hides everything.
  const Config too_long = read(std::string(5'000, 'a'));
  EXPECT_TRUE(too_long.allowed.redacted.Matches("forward/fc/linear:0"));
  EXPECT_THAT(too_long.problems, ElementsAre(HasSubstr("GRAPHDBG_REDACT")));
}

TEST(ConfigTest, ListsNodesWhoseInfinitiesAreIntentional) {
  const auto read = [](const std::string& text) {
    return Read({{"GRAPHDBG_ENABLE", "1"},
                 {"GRAPHDBG_INTENTIONAL_INFINITIES", text.c_str()}});
  };
  const Config config = read("**/mask*, op_type:where ,");
  EXPECT_TRUE(config.intentional.Contains("forward/mask_1", "add"));
  EXPECT_TRUE(config.intentional.Contains("forward/a", "where"));
  EXPECT_TRUE(config.intentional.Contains("forward/a", "aten::where"));
  EXPECT_FALSE(config.intentional.Contains("forward/a", "aten::nowhere"));
  EXPECT_FALSE(config.intentional.Contains("forward/where", "add"));
  EXPECT_THAT(config.problems, IsEmpty());
  // A list that is too long hides nothing.
  const Config too_long = read("**," + std::string(5'000, 'a'));
  EXPECT_FALSE(too_long.intentional.Contains("forward/a", "add"));
  EXPECT_THAT(too_long.problems,
              ElementsAre(HasSubstr("GRAPHDBG_INTENTIONAL_INFINITIES")));
}

TEST(ConfigTest, AProgramThatNobodyMayContinueDoesNotPause) {
  const auto read = [](const char* allowed) {
    return Read({{"GRAPHDBG_ENABLE", "1"},
                 {"GRAPHDBG_STEPS", "2"},
                 {"GRAPHDBG_ALLOW", allowed}});
  };
  EXPECT_FALSE(read("view").wait);
  EXPECT_EQ(read("view").step_limit, 0);
  EXPECT_TRUE(read("control").wait);
  EXPECT_EQ(read("control").step_limit, 2);
}

TEST(ConfigTest, NamesProgramsByTheirScript) {
  EXPECT_EQ(ProgramName({"python3.11", "-u", "a/train.py", "x"}), "train.py");
  EXPECT_EQ(ProgramName({"python", "-W", "ignore", "t.py"}), "t.py");
  EXPECT_EQ(ProgramName({"python", "-m", "pkg.train"}), "pkg.train");
  EXPECT_EQ(ProgramName({"python", "-c", "pass"}), "python");
  EXPECT_EQ(ProgramName({"/opt/bin/trainer", "--x"}), "trainer");
  EXPECT_EQ(ProgramName({}), "program");
}

}  // namespace
}  // namespace graphdbg::agent
