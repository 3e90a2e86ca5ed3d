// Globally unique ids.
#ifndef SERVER_MINDSPORE_RANDOM_ID_H_
#define SERVER_MINDSPORE_RANDOM_ID_H_

#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace graphdbg::mindspore {

// 128 random bits in hexadecimal.
inline std::string RandomId() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&id, absl::Hex(random(), absl::kZeroPad8));
  }
  return id;
}

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_RANDOM_ID_H_
