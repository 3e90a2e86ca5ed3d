#include "server/ingest/listening_socket.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "server/ingest/testing/socket_directory.h"

namespace graphdbg::ingest {
namespace {

using testing::ConnectToUnix;
using testing::SocketDirectory;

TEST(ListeningSocketTest, ListensOnAFreePortOfEachAddress) {
  const auto sockets = ListeningSocket::OpenTcp("127.0.0.1", 0);
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  ASSERT_EQ(sockets->size(), 1u);
  const uint16_t port = sockets->at(0).port();
  EXPECT_GT(port, 0);
  EXPECT_FALSE(sockets->at(0).is_unix());
  const absl::Status taken =
      ListeningSocket::OpenTcp("127.0.0.1", port).status();
  EXPECT_NE(taken.message().find("another program uses the port"),
            std::string::npos)
      << taken;
  EXPECT_FALSE(ListeningSocket::OpenTcp("192.0.2.1", 0).ok());
}

TEST(ListeningSocketTest, ASocketIsForItsUserAloneAndGoesWithItsServer) {
  const SocketDirectory directory;
  const std::string path = directory.path() + "/new/agent.sock";
  {
    const auto listening = ListeningSocket::OpenUnix(path);
    ASSERT_TRUE(listening.ok()) << listening.status();
    EXPECT_TRUE(listening->is_unix());
    struct stat status;
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    ASSERT_EQ(stat((directory.path() + "/new").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    const int client = ConnectToUnix(path);
    EXPECT_GE(client, 0);
    close(client);
    const absl::Status taken = ListeningSocket::OpenUnix(path).status();
    EXPECT_NE(taken.message().find("another program uses it"),
              std::string::npos)
        << taken;
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ListeningSocketTest, ReplacesTheSocketOfAServerThatWasKilled) {
  const SocketDirectory directory;
  const std::string path = directory.path() + "/agent.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int left = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(left, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  close(left);
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(ListeningSocket::OpenUnix(path).ok());
}

TEST(ListeningSocketTest, RefusesPathsThatOthersCouldUse) {
  const SocketDirectory directory;
  const std::string open = directory.path() + "/open";
  ASSERT_EQ(mkdir(open.c_str(), 0700), 0);
  for (const mode_t mode : {0755, 0710, 0777}) {
    ASSERT_EQ(chmod(open.c_str(), mode), 0);
    const absl::Status status =
        ListeningSocket::OpenUnix(open + "/agent.sock").status();
    EXPECT_NE(status.message().find("other users can enter " + open),
              std::string::npos)
        << status;
  }
  std::filesystem::create_directory_symlink(directory.path(),
                                            directory.path() + "/link");
  EXPECT_FALSE(ListeningSocket::OpenUnix(directory.path() + "/link/s").ok());
  EXPECT_FALSE(ListeningSocket::OpenUnix("agent.sock").ok());
  EXPECT_FALSE(ListeningSocket::OpenUnix("/tmp/" + std::string(200, 'x')).ok());
}

TEST(ListeningSocketTest, LeavesFilesThatAreNoSocket) {
  const SocketDirectory directory;
  const std::string path = directory.path() + "/file";
  std::ofstream(path) << "text";
  EXPECT_FALSE(ListeningSocket::OpenUnix(path).ok());
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

}  // namespace
}  // namespace graphdbg::ingest
