#include "server/ingest/capabilities.h"

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "proto/wire/capabilities.h"
#include "proto/wire/error.h"

namespace graphdbg::ingest {

const std::vector<std::string>& OwnCapabilities() {
  static const auto* names = [] {
    std::vector<std::string> conditions;
    for (const auto& condition : conditions::Catalogue()) {
      conditions.push_back(condition.id);
    }
    return new std::vector<std::string>(wire::OwnCapabilities(conditions));
  }();
  return *names;
}

absl::Status CheckCapabilities(const v1::Hello& hello,
                               const std::string& server_version) {
  const std::vector<std::string> theirs(hello.capabilities().begin(),
                                        hello.capabilities().end());
  absl::Status common = wire::CheckCommon(OwnCapabilities(), theirs);
  if (common.ok()) return common;
  return wire::MakeError(
      common.code(), wire::ReasonOf(common),
      absl::StrCat(common.message(), " (server ", server_version, ", agent ",
                   hello.agent_version().empty() ? "version unknown"
                                                 : hello.agent_version(),
                   "): install the same graphdbg on both sides"));
}

}  // namespace graphdbg::ingest
