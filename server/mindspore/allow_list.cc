#include "server/mindspore/allow_list.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::mindspore {
namespace {

constexpr int kBits = 128;
constexpr int kMappedBits = 96;

struct Address {
  in6_addr bytes;
  bool is_v4;
};

std::optional<Address> Read(std::string_view text) {
  const std::string word(text);
  Address address{};
  if (inet_pton(AF_INET6, word.c_str(), &address.bytes) == 1) return address;
  in_addr v4{};
  if (inet_pton(AF_INET, word.c_str(), &v4) != 1) return std::nullopt;
  address.is_v4 = true;
  address.bytes.s6_addr[10] = address.bytes.s6_addr[11] = 0xff;
  std::memcpy(address.bytes.s6_addr + 12, &v4, sizeof(v4));
  return address;
}

bool IsIn(const in6_addr& host, const in6_addr& network, int bits) {
  for (int bit = 0; bit < bits; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if ((host.s6_addr[bit / 8] ^ network.s6_addr[bit / 8]) & mask) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<AllowList::Network> AllowList::ParseEntry(
    std::string_view entry) {
  const size_t slash = entry.find('/');
  const auto address = Read(entry.substr(0, slash));
  if (!address) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(entry),
                     "' is neither an address such as 192.168.7.5 nor a "
                     "network such as 10.1.0.0/16"));
  }
  const int before = address->is_v4 ? kMappedBits : 0;
  Network network{address->bytes, kBits};
  if (slash == std::string_view::npos) return network;
  int bits = 0;
  const std::string length(entry.substr(slash + 1));
  if (!absl::SimpleAtoi(length, &bits) || bits < 0 || bits > kBits - before) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(entry),
                     "' has an invalid prefix length; "
                     "the length must be from 0 to ",
                     kBits - before));
  }
  network.bits = before + bits;
  return network;
}

absl::StatusOr<AllowList> AllowList::Parse(std::string_view text) {
  AllowList list;
  for (absl::string_view entry :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ',')) {
    ASSIGN_OR_RETURN(const Network network,
                     ParseEntry({entry.data(), entry.size()}));
    list.networks_.push_back(network);
  }
  return list;
}

bool AllowList::Allows(std::string_view host) const {
  const auto address = Read(host);
  if (!address) return false;
  static const Network kLoopback[] = {{Read("127.0.0.0")->bytes, 104},
                                      {Read("::1")->bytes, kBits}};
  const auto has = [&](const Network& network) {
    return IsIn(address->bytes, network.address, network.bits);
  };
  return std::any_of(std::begin(kLoopback), std::end(kLoopback), has) ||
         std::any_of(networks_.begin(), networks_.end(), has);
}

}  // namespace graphdbg::mindspore
