#include "server/http/message.h"

#include "absl/strings/match.h"
#include "server/base/string_views.h"

namespace graphdbg::http {
namespace {

bool SameName(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(ToAbsl(a), ToAbsl(b));
}

}  // namespace

void Headers::Set(std::string_view name, std::string_view value) {
  for (auto& [key, old] : fields_) {
    if (SameName(key, name)) {
      old = value;
      return;
    }
  }
  fields_.emplace_back(name, value);
}

std::string_view Headers::Get(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (SameName(key, name)) return value;
  }
  return {};
}

bool Headers::Has(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (SameName(key, name)) return true;
  }
  return false;
}

std::string_view AddressOf(std::string_view peer) {
  return peer.substr(0, peer.rfind(':'));
}

}  // namespace graphdbg::http
