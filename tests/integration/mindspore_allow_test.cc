// MindSpore jobs from other machines. This machine acts as one by connecting to
// its own network address.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <optional>
#include <string>

#include "tests/integration/mindspore_fixture.h"

namespace graphdbg::integration {
namespace {

// Absent if the machine has no network address.
std::optional<std::string> OwnAddress() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return std::nullopt;
  std::optional<std::string> found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET ||
        (each->ifa_flags & IFF_LOOPBACK) != 0) {
      continue;
    }
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET,
              &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr,
              text, sizeof(text));
    found = text;
  }
  freeifaddrs(all);
  return found;
}

class MindSporeAllowTest : public MindSporeFixture {
 protected:
  explicit MindSporeAllowTest(const std::string& allowed)
      : MindSporeFixture(
            {"--mindspore-port=0", "--mindspore-allow=" + allowed}) {}

  void SetUp() override {
    if (!OwnAddress()) GTEST_SKIP() << "this machine has no network address";
  }
  MindSporeClient ClientFromAfar() {
    return MindSporeClient(server().mindspore_port(), "1.2.0", "Ascend", "0:1",
                           *OwnAddress());
  }
};

class AllowedTest : public MindSporeAllowTest {
 protected:
  AllowedTest() : MindSporeAllowTest(OwnAddress().value_or("10.0.0.1")) {}
};

TEST_F(AllowedTest, JobsOfMachinesThatAreNamedMayCome) {
  MindSporeClient client = ClientFromAfar();
  const std::string job = "mindspore-0@" + *OwnAddress();
  auto asking = Begin(client, job);
  EXPECT_EQ(Job(job).at("ranks").at(0).at("host"), *OwnAddress());
  Control({{"command", "terminate"}}, job);
  EXPECT_TRUE(asking.get().exit());
}

TEST_F(AllowedTest, JobsOfThisMachineMayComeToo) {
  MindSporeClient client(server().mindspore_port(), "1.2.0", "Ascend");
  auto asking = Begin(client);
  Control({{"command", "terminate"}});
  EXPECT_TRUE(asking.get().exit());
}

class NotAllowedTest : public MindSporeAllowTest {
 protected:
  // A network reserved for documentation, which contains no machine.
  NotAllowedTest() : MindSporeAllowTest("203.0.113.0/24") {}
};

TEST_F(NotAllowedTest, OtherMachinesGetAHelpfulError) {
  MindSporeClient client = ClientFromAfar();
  const grpc::Status refused = client.TryMetadata();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(refused.error_message().find(*OwnAddress()), std::string::npos);
  EXPECT_NE(refused.error_message().find("--mindspore-allow"),
            std::string::npos);
  EXPECT_FALSE(client.SendGraph(LeNet()));
  EXPECT_TRUE(server().Get("/api/v1/jobs").at("jobs").empty());
}

}  // namespace
}  // namespace graphdbg::integration
