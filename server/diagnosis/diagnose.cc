#include "server/diagnosis/diagnose.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agent/conditions/advice.h"
#include "server/diagnosis/rules.h"

namespace graphdbg::diagnosis {
namespace {

Found FirstOf(const std::vector<Rule>& rules, const Facts& facts) {
  for (const Rule rule : rules) {
    if (Found found = rule(facts)) return found;
  }
  return std::nullopt;
}

Found FindCause(const Facts& facts) {
  if (!HasNonFinite(facts)) return FirstOf(TrainingRules(), facts);
  for (const auto* rules :
       {&SpreadRules(), &DomainRules(), &ReductionRules(), &RangeRules()}) {
    if (Found found = FirstOf(*rules, facts)) return found;
  }
  return std::nullopt;
}

conditions::Advice AdviceFor(const model::Hit& hit) {
  if (hit.condition == nullptr) return {};
  const auto& texts = hit.condition->text_params;
  if (const auto it = texts.find("expression"); it != texts.end()) {
    return conditions::AdviceForExpression(it->second);
  }
  return conditions::AdviceFor(hit.condition->id, hit.op_type,
                               model::DTypeName(hit.type));
}

}  // namespace

model::Diagnosis Diagnose(const Facts& facts) {
  model::Diagnosis diagnosis;
  diagnosis.hit = facts.hit.id;
  conditions::Advice advice = AdviceFor(facts.hit);
  diagnosis.causes = std::move(advice.causes);
  if (Found cause = FindCause(facts)) {
    diagnosis.rule = std::move(cause->rule);
    diagnosis.title = std::move(cause->title);
    diagnosis.text = std::move(cause->text);
    diagnosis.evidence = std::move(cause->evidence);
    diagnosis.next = std::move(cause->next);
  }
  for (std::string& next : advice.next) {
    const bool known = std::find(diagnosis.next.begin(), diagnosis.next.end(),
                                 next) != diagnosis.next.end();
    if (!known) diagnosis.next.push_back(std::move(next));
  }
  return diagnosis;
}

}  // namespace graphdbg::diagnosis
