#include "server/api/tensor_side.h"

#include <string_view>

#include "server/api/tensor_arguments.h"

namespace graphdbg::api {
namespace {

using model::TensorQuery;

constexpr std::string_view kRun = "run:";
constexpr std::string_view kRank = "rank:";
constexpr std::string_view kStep = "step:";
constexpr std::string_view kTensor = "tensor:";
constexpr std::string_view kAndTensor = ",tensor:";

bool CutPrefix(std::string_view prefix, std::string& text) {
  if (!text.starts_with(prefix)) return false;
  text.erase(0, prefix.size());
  return true;
}

// Moves "@STEP" at the end of the text, if there is one, to the side.
void CutStep(std::string& text, TensorSide& side) {
  const size_t at = text.rfind('@');
  if (at == std::string::npos || !ParseStep(text.substr(at + 1), side.query)) {
    return;
  }
  text.resize(at);
  side.has_step = true;
}

// Moves ",tensor:NODE:SLOT" and what follows to the side. False if it is not in
// this form.
bool CutTensor(std::string& text, TensorSide& side) {
  const size_t at = text.find(kAndTensor);
  if (at == std::string::npos) return true;
  const std::string name = text.substr(at + kAndTensor.size());
  text.resize(at);
  return ParseTensorName(name, side.query);
}

bool ReadRank(const std::string& text, TensorQuery& query) {
  const auto number = ParseNumber(text);
  if (!number || *number > UINT32_MAX) return false;
  query.rank = static_cast<uint32_t>(*number);
  return true;
}

bool Read(std::string text, TensorSide& side) {
  if (text == "previous") return ParseStep(text, side.query);
  if (CutPrefix(kStep, text)) {
    return ParseNumber(text) && ParseStep(text, side.query);
  }
  const bool of_run = text.starts_with(kRun);
  // The name of a run may end like a step, that of a tensor cannot.
  if (!of_run || text.find(kAndTensor) != std::string::npos) {
    CutStep(text, side);
  }
  if (CutPrefix(kTensor, text)) return ParseTensorName(text, side.query);
  if (!CutTensor(text, side)) return false;
  if (CutPrefix(kRank, text)) return ReadRank(text, side.query);
  if (!CutPrefix(kRun, text) || text.empty()) return false;
  side.run = text;
  return true;
}

}  // namespace

TensorSide ReadTensorSide(Arguments& arguments, const std::string& with,
                          const TensorQuery& first) {
  TensorSide side{first, "", false};
  if (!Read(with, side)) {
    arguments.Fail(
        "with",
        "'" + with +
            "' is not one of previous, step:N, rank:R[,TENSOR][@STEP], "
            "TENSOR[@STEP], run:RUN[:RANK][,TENSOR][@STEP], where TENSOR is "
            "tensor:NODE:SLOT");
  }
  return side;
}

}  // namespace graphdbg::api
