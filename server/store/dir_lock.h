// One server for a data directory.
#ifndef SERVER_STORE_DIR_LOCK_H_
#define SERVER_STORE_DIR_LOCK_H_

#include <string>

#include "absl/status/statusor.h"

namespace graphdbg::store {

// Held until destroyed, or until the process ends, however it does.
class DirLock {
 public:
  // FAILED_PRECONDITION, with the process, if another one holds it.
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
