// Findings that a run has already.
#ifndef SERVER_RULES_KNOWN_FINDINGS_H_
#define SERVER_RULES_KNOWN_FINDINGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "server/model/rules.h"

namespace graphdbg::rules {

// A rule that looks at a run again finds the same. Not thread-safe.
class KnownFindings {
 public:
  KnownFindings() = default;
  // `lines` is the text of findings.jsonl. Lines that cannot be read are passed
  // over.
  explicit KnownFindings(std::string_view lines);

  // Whether the run has this finding. Each of its findings is taken once.
  bool Take(const model::Finding& finding);

 private:
  // How many there are, by rule and place.
  std::map<std::string, uint32_t> counts_;
};

}  // namespace graphdbg::rules

#endif  // SERVER_RULES_KNOWN_FINDINGS_H_
