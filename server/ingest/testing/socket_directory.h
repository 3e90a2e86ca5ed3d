// A directory for the sockets of a test.
#ifndef SERVER_INGEST_TESTING_SOCKET_DIRECTORY_H_
#define SERVER_INGEST_TESTING_SOCKET_DIRECTORY_H_

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace graphdbg::ingest::testing {

// Has mode 0700, and a short path: that of the test's own directory is too long
// for the address of a socket. Removed with its contents.
class SocketDirectory {
 public:
  SocketDirectory() {
    char path[] = "/tmp/graphdbg-XXXXXX";
    path_ = mkdtemp(path);
  }
  ~SocketDirectory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Returns -1 if that fails.
inline int ConnectToUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) ==
      0) {
    return fd;
  }
  close(fd);
  return -1;
}

}  // namespace graphdbg::ingest::testing

#endif  // SERVER_INGEST_TESTING_SOCKET_DIRECTORY_H_
