#include "server/http/message.h"

#include "server/http/text.h"

namespace graphdbg::http {

void Headers::Set(std::string_view name, std::string_view value) {
  for (auto& [key, old] : fields_) {
    if (EqualsIgnoreCase(key, name)) {
      old = value;
      return;
    }
  }
  fields_.emplace_back(name, value);
}

std::string_view Headers::Get(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (EqualsIgnoreCase(key, name)) return value;
  }
  return {};
}

bool Headers::Has(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (EqualsIgnoreCase(key, name)) return true;
  }
  return false;
}

}  // namespace graphdbg::http
