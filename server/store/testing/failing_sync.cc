#include "server/store/testing/failing_sync.h"

namespace graphdbg::store {
namespace {

constexpr char kName[] = "failing-sync";

FailingSync* current = nullptr;
// Those of the file system, and the same with Sync().
const sqlite3_io_methods* real_methods = nullptr;
sqlite3_io_methods methods;

sqlite3_vfs* RealVfs() {
  static sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  return vfs;
}

}  // namespace

FailingSync::FailingSync() : vfs_(*RealVfs()) {
  vfs_.zName = kName;
  vfs_.pNext = nullptr;
  vfs_.xOpen = &FailingSync::Open;
  current = this;
  sqlite3_vfs_register(&vfs_, 1);
}

FailingSync::~FailingSync() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(RealVfs(), 1);
  current = nullptr;
}

int FailingSync::Open(sqlite3_vfs*, const char* name, sqlite3_file* file,
                      int flags, int* out_flags) {
  const int result = RealVfs()->xOpen(RealVfs(), name, file, flags, out_flags);
  if (result != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0) return result;
  ++current->opened_;
  real_methods = file->pMethods;
  methods = *real_methods;
  methods.xSync = &FailingSync::Sync;
  file->pMethods = &methods;
  return SQLITE_OK;
}

int FailingSync::Sync(sqlite3_file* file, int flags) {
  if (current->fails_.exchange(false)) return SQLITE_IOERR_FSYNC;
  return real_methods->xSync(file, flags);
}

}  // namespace graphdbg::store
