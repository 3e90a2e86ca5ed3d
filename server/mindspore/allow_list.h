// Which machines may send MindSpore's jobs: its wire has no other means to tell
// friends.
#ifndef SERVER_MINDSPORE_ALLOW_LIST_H_
#define SERVER_MINDSPORE_ALLOW_LIST_H_

#include <netinet/in.h>

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace graphdbg::mindspore {

// Constant; any thread.
class AllowList {
 public:
  // Addresses and networks, as "10.1.0.0/16,192.168.7.5,fd00::/8".
  // INVALID_ARGUMENT names the entry that is neither.
  static absl::StatusOr<AllowList> Parse(std::string_view text);

  // Whether a host, as "192.168.7.5" or "fd00::1", is among them. This machine
  // by its loopback addresses always is.
  bool Allows(std::string_view host) const;

 private:
  // IPv4 as IPv6 has it, ::ffff:192.168.7.5.
  struct Network {
    in6_addr address;
    // Bits that count.
    int bits;
  };

  static absl::StatusOr<Network> ParseEntry(std::string_view entry);

  std::vector<Network> networks_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_ALLOW_LIST_H_
