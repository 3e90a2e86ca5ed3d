// The machines whose MindSpore jobs may connect. MindSpore's protocol does not
// support authentication.
#ifndef SERVER_MINDSPORE_ALLOW_LIST_H_
#define SERVER_MINDSPORE_ALLOW_LIST_H_

#include <netinet/in.h>

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace graphdbg::mindspore {

// Immutable. Any thread may use it.
class AllowList {
 public:
  // Parses addresses and networks: "10.1.0.0/16,192.168.7.5,fd00::/8".
  // INVALID_ARGUMENT, naming the entry, if one is neither.
  static absl::StatusOr<AllowList> Parse(std::string_view text);

  // Whether a host, such as "192.168.7.5" or "fd00::1", is in the list.
  // Loopback addresses are always allowed.
  bool Allows(std::string_view host) const;

 private:
  struct Network {
    // IPv4 addresses are IPv4-mapped: ::ffff:192.168.7.5.
    in6_addr address;
    // The length of the prefix.
    int bits;
  };

  static absl::StatusOr<Network> ParseEntry(std::string_view entry);

  std::vector<Network> networks_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_ALLOW_LIST_H_
