#ifndef SERVER_MINDSPORE_CLIENT_FILE_LIMITS_H_
#define SERVER_MINDSPORE_CLIENT_FILE_LIMITS_H_

#include <cstdint>

namespace graphdbg::mindspore {

// Limits for the stored state of clients, in bytes.
struct ClientFileLimits {
  // For the files of one client, and of all clients.
  uint64_t client_bytes = uint64_t{256} << 20;
  uint64_t total_bytes = uint64_t{2} << 30;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_CLIENT_FILE_LIMITS_H_
