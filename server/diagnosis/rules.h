// The rules, and what they have in common. Included by the room's source files
// only.
//
// A rule is a function that returns a cause if it explains the facts. Its
// sentences state what was measured; where the numbers do not show the cause,
// the rule does not apply.
#ifndef SERVER_DIAGNOSIS_RULES_H_
#define SERVER_DIAGNOSIS_RULES_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/diagnosis/facts.h"
#include "server/model/diagnosis.h"

namespace graphdbg::diagnosis {

// A cause, as in model::Diagnosis.
struct Cause {
  std::string rule;
  std::string title;
  std::string text;
  std::vector<model::EvidenceLink> evidence;
  std::vector<std::string> next;
};

using Found = std::optional<Cause>;
using Rule = Found (*)(const Facts&);

// In the order in which they are tried. Each explains hits of its kind only.
// NaN and infinities that were there before: in the batch, in a weight, on
// another rank; and what arithmetic makes of infinities.
const std::vector<Rule>& SpreadRules();
// Arguments outside of a function's domain.
const std::vector<Rule>& DomainRules();
// Reductions of nothing: masked rows, ignored labels, constant values.
const std::vector<Rule>& ReductionRules();
// Results beyond the range of their type.
const std::vector<Rule>& RangeRules();
// Activations, gradients and weights that are finite and yet wrong.
const std::vector<Rule>& TrainingRules();

// --- facts -------------------------------------------------------------------

bool IsOneOf(std::string_view name,
             std::initializer_list<std::string_view> names);

uint64_t InfCount(const model::Statistics& values);
uint64_t NonFiniteCount(const model::Statistics& values);
// Of the hit's own tensor.
bool HasNonFinite(const Facts& facts);
// Every input was measured, has values, and is finite.
bool InputsAreFinite(const Facts& facts);
// The statistics of an input. Null if it was not measured.
const model::Statistics* InputStatistics(const Facts& facts, size_t input);

// An argument of an op: a tensor or a number.
struct Operand {
  // Null for a number.
  const InputFacts* input = nullptr;
  size_t index = 0;
  // Of the finite values.
  double min = 0;
  double max = 0;
  double abs_max = 0;
  uint64_t count = 1;
  uint64_t zero_count = 0;
};
// The first or second argument of an op such as `a / b` or `a ** 2`. Absent if
// its values are not known.
std::optional<Operand> LeftOf(const Facts& facts);
std::optional<Operand> RightOf(const Facts& facts);
// The only argument, or the first.
std::optional<Operand> InputOf(const Facts& facts, size_t input);

// Whether a softmax with a result of this shape normalizes over the rows of a
// matrix, which are samples in most models.
bool IsOverRows(const NodeFacts& softmax, const std::vector<int64_t>& shape);

// Whether the hit's op has run several times before on results of its own, as
// in a recurrent network.
bool IsRepeated(const Facts& facts);
// " encoder/cell has run this op 57 times before in this step, each time on a
// result of the run before."
std::string RepeatedText(const Facts& facts);

// --- evidence ----------------------------------------------------------------

// The elements of the hit's tensor that matched.
model::EvidenceLink ShowCells(const Facts& facts);
model::EvidenceLink ShowValues(const Facts& facts);
model::EvidenceLink ShowInput(const Facts& facts, size_t input);
// An input, or the hit's tensor, over the steps.
model::EvidenceLink ShowInputHistory(const Facts& facts, size_t input);
model::EvidenceLink ShowHistory(const Facts& facts);
// Appends links to an input and its history, if its producer is known, and to
// the same op of another layer.
void AddInput(const Facts& facts, size_t input, Cause& cause);
void AddSibling(const Facts& facts, Cause& cause);

}  // namespace graphdbg::diagnosis

#endif  // SERVER_DIAGNOSIS_RULES_H_
