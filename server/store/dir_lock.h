// Ensures that only one server uses a data directory.
#ifndef SERVER_STORE_DIR_LOCK_H_
#define SERVER_STORE_DIR_LOCK_H_

#include <string>

#include "absl/status/statusor.h"

namespace graphdbg::store {

// Held until the object is destroyed or the process ends, in whatever way.
class DirLock {
 public:
  // FAILED_PRECONDITION, naming the process, if another one holds the lock.
  static absl::StatusOr<DirLock> Take(const std::string& dir);

  DirLock(DirLock&& other) noexcept;
  DirLock& operator=(DirLock&&) = delete;
  ~DirLock();

 private:
  explicit DirLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace graphdbg::store

#endif  // SERVER_STORE_DIR_LOCK_H_
