#include "server/diagnosis/rules.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "server/diagnosis/numbers.h"

namespace graphdbg::diagnosis {
namespace {

using model::EvidenceLink;
using model::EvidenceView;

Operand NumberOperand(double number) {
  Operand operand;
  operand.min = operand.max = number;
  operand.abs_max = std::abs(number);
  operand.zero_count = number == 0 ? 1 : 0;
  return operand;
}

EvidenceLink OwnTensor(const Facts& facts, EvidenceView view,
                       std::string label) {
  const model::Hit& hit = facts.hit;
  return {std::move(label), view, hit.node, hit.slot, hit.step, hit.rank};
}

EvidenceLink InputTensor(const Facts& facts, size_t input, EvidenceView view,
                         std::string label) {
  const InputFacts& from = facts.inputs[input];
  return {std::move(label), view,           from.producer.name,
          from.slot,        facts.hit.step, facts.hit.rank};
}

}  // namespace

bool IsOneOf(std::string_view name,
             std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

uint64_t InfCount(const model::Statistics& values) {
  return values.pos_inf_count + values.neg_inf_count;
}

uint64_t NonFiniteCount(const model::Statistics& values) {
  return values.nan_count + InfCount(values);
}

bool HasNonFinite(const Facts& facts) {
  return NonFiniteCount(facts.hit.statistics) > 0;
}

bool InputsAreFinite(const Facts& facts) {
  const auto finite = [](const InputFacts& input) {
    return input.statistics && NonFiniteCount(*input.statistics) == 0;
  };
  return !facts.inputs.empty() &&
         std::all_of(facts.inputs.begin(), facts.inputs.end(), finite);
}

const model::Statistics* InputStatistics(const Facts& facts, size_t input) {
  if (input >= facts.inputs.size()) return nullptr;
  const auto& statistics = facts.inputs[input].statistics;
  return statistics ? &*statistics : nullptr;
}

std::optional<Operand> InputOf(const Facts& facts, size_t input) {
  const model::Statistics* const values = InputStatistics(facts, input);
  if (values == nullptr || !values->min || !values->max || !values->abs_max) {
    return std::nullopt;
  }
  return Operand{
      &facts.inputs[input], input,         *values->min,      *values->max,
      *values->abs_max,     values->count, values->zero_count};
}

std::optional<Operand> LeftOf(const Facts& facts) {
  // 2 ** x
  if (const auto number = facts.node.Number("self")) {
    return NumberOperand(*number);
  }
  return InputOf(facts, 0);
}

std::optional<Operand> RightOf(const Facts& facts) {
  for (const char* name : {"other", "exponent"}) {
    if (const auto number = facts.node.Number(name)) {
      return NumberOperand(*number);
    }
  }
  return InputOf(facts, facts.node.Number("self") ? 0 : 1);
}

bool IsOverRows(const NodeFacts& softmax, const std::vector<int64_t>& shape) {
  const auto dim = softmax.Number("dim");
  return shape.size() == 2 && shape[0] > 1 && shape[1] > 1 && dim &&
         (*dim == 0 || *dim == -2);
}

bool IsRepeated(const Facts& facts) {
  constexpr uint32_t kFewest = 3;
  return facts.earlier_runs >= kFewest;
}

std::string RepeatedText(const Facts& facts) {
  // Without the phase in front and the label at the end.
  const std::string& name = facts.node.name;
  const size_t begin = name.find('/');
  const size_t end = name.rfind('/');
  const std::string module =
      begin == end ? "The program" : name.substr(begin + 1, end - begin - 1);
  return absl::StrCat(" ", module, " has run this op ",
                      Counted(facts.earlier_runs, "time"),
                      " before in this step, each time on a result of the run "
                      "before.");
}

EvidenceLink ShowCells(const Facts& facts) {
  const uint64_t count = NonFiniteCount(facts.hit.statistics);
  return OwnTensor(facts, EvidenceView::kCells,
                   absl::StrCat("Show ", Counted(count, "cell")));
}

EvidenceLink ShowValues(const Facts& facts) {
  return OwnTensor(facts, EvidenceView::kValues, "Show values");
}

EvidenceLink ShowInput(const Facts& facts, size_t input) {
  return InputTensor(facts, input, EvidenceView::kValues, "Show input");
}

EvidenceLink ShowInputHistory(const Facts& facts, size_t input) {
  return InputTensor(facts, input, EvidenceView::kHistory, "Input over steps");
}

EvidenceLink ShowHistory(const Facts& facts) {
  return OwnTensor(facts, EvidenceView::kHistory, "Over steps");
}

void AddInput(const Facts& facts, size_t input, Cause& cause) {
  if (input >= facts.inputs.size() ||
      facts.inputs[input].producer.name.empty()) {
    return;
  }
  cause.evidence.push_back(ShowInput(facts, input));
  cause.evidence.push_back(ShowInputHistory(facts, input));
}

void AddSibling(const Facts& facts, Cause& cause) {
  if (facts.sibling.empty()) return;
  cause.evidence.push_back(
      {absl::StrCat("Same op in layer ", facts.sibling_layer),
       EvidenceView::kNode, facts.sibling, facts.hit.slot, facts.hit.step,
       facts.hit.rank});
}

}  // namespace graphdbg::diagnosis
