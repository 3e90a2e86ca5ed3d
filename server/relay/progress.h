// Which of a rank's messages may stand for those before them.
#ifndef SERVER_RELAY_PROGRESS_H_
#define SERVER_RELAY_PROGRESS_H_

#include <grpcpp/support/byte_buffer.h>

#include <string>

namespace graphdbg::relay {

// What a message says about the state of its rank.
struct Progress {
  enum class Kind {
    // No state: leaves the current one as it is.
    kOther,
    // A change of state, which has to be passed on.
    kChange,
    // The rank runs. If `what` is that of the state passed on last, only the
    // step and the overhead are newer.
    kRunning,
  };
  Kind kind = Kind::kOther;
  // The state without these.
  std::string what;
};

// Reads small messages only: those with tensors or graphs are kOther. A message
// that cannot be read is kOther as well, and refused by the server.
Progress ProgressOf(const grpc::ByteBuffer& message);

}  // namespace graphdbg::relay

#endif  // SERVER_RELAY_PROGRESS_H_
