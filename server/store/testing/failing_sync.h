// A disk whose fsync() fails, as SQLite sees it.
#ifndef SERVER_STORE_TESTING_FAILING_SYNC_H_
#define SERVER_STORE_TESTING_FAILING_SYNC_H_

#include <sqlite3.h>

#include <atomic>

namespace graphdbg::store {

// While it exists, databases that are opened use the file system through it.
// There may be one at a time, and databases must be closed before it ends.
class FailingSync {
 public:
  FailingSync();
  ~FailingSync();
  FailingSync(const FailingSync&) = delete;
  FailingSync& operator=(const FailingSync&) = delete;

  // The next fsync() of a database file fails; that of its log does not.
  void FailNextSync() { fails_ = true; }
  // How many database files were opened.
  int opened() const { return opened_; }

 private:
  static int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file,
                  int flags, int* out_flags);
  static int Sync(sqlite3_file* file, int flags);

  sqlite3_vfs vfs_;
  std::atomic<bool> fails_{false};
  std::atomic<int> opened_{0};
};

}  // namespace graphdbg::store

#endif  // SERVER_STORE_TESTING_FAILING_SYNC_H_
