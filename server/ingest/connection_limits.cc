#include "server/ingest/connection_limits.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace graphdbg::ingest {
namespace {

constexpr size_t kMostConnections = 8'192;

// The socket's number in the kernel; 0 if the descriptor is closed.
ino_t InodeOf(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

ConnectionLimits LimitsFor(size_t descriptors) {
  ConnectionLimits limits;
  limits.total = std::clamp<size_t>(descriptors / 5 * 2, 4, kMostConnections);
  limits.per_address = limits.total / 2;
  return limits;
}

size_t DescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1'024;
  return limit.rlim_cur == RLIM_INFINITY ? kMostConnections * 4
                                         : limit.rlim_cur;
}

bool OpenConnections::Add(int fd, std::string address) {
  if (!HasRoomFor(address)) {
    RemoveClosed();
    if (!HasRoomFor(address)) return false;
  }
  connections_.push_back({fd, InodeOf(fd), std::move(address)});
  return true;
}

bool OpenConnections::HasRoomFor(const std::string& address) const {
  if (connections_.size() >= limits_.total) return false;
  if (address.empty()) return true;
  const auto from_there = std::count_if(
      connections_.begin(), connections_.end(),
      [&](const Connection& each) { return each.address == address; });
  return static_cast<size_t>(from_there) < limits_.per_address;
}

void OpenConnections::RemoveClosed() {
  connections_.erase(std::remove_if(connections_.begin(), connections_.end(),
                                    [](const Connection& each) {
                                      return InodeOf(each.fd) != each.inode;
                                    }),
                     connections_.end());
}

}  // namespace graphdbg::ingest
