// Whether a server can store what happens.
#ifndef SERVER_MODEL_STORAGE_H_
#define SERVER_MODEL_STORAGE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace graphdbg::model {

// A job that could not be restored completely.
struct SetAside {
  std::string job;
  std::string reason;
};

struct Storage {
  // Writing fails at present; the next two fields are the cause and the time of
  // the first failure.
  bool failing = false;
  std::string reason;
  int64_t since_unix_nano = 0;
  // Memory that holds what is not written yet.
  uint64_t waiting_bytes = 0;
  // Statistics that were not stored because too much was waiting.
  uint64_t dropped_statistics = 0;
  std::vector<SetAside> set_aside;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_STORAGE_H_
