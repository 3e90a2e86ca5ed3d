#include "server/api/run_reference.h"

#include <utility>
#include <vector>

#include "server/api/tensor_arguments.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

// A reading of a reference.
struct Reading {
  std::string run;
  std::optional<uint32_t> rank;
  std::optional<uint64_t> step;
};

// The number behind the last `separator`, which is cut off.
std::optional<uint64_t> CutNumber(char separator, std::string* text) {
  const size_t at = text->rfind(separator);
  if (at == std::string::npos) return std::nullopt;
  const auto number = ParseNumber(text->substr(at + 1));
  if (number) text->resize(at);
  return number;
}

std::optional<Reading> WithRank(Reading reading) {
  const auto rank = CutNumber(':', &reading.run);
  if (!rank || *rank > UINT32_MAX) return std::nullopt;
  reading.rank = static_cast<uint32_t>(*rank);
  return reading;
}

// Those that take more of the text for the name come first.
std::vector<Reading> ReadingsOf(const std::string& text) {
  const Reading whole = {text, std::nullopt, std::nullopt};
  std::vector<Reading> readings = {whole};
  if (auto ranked = WithRank(whole)) readings.push_back(*ranked);
  Reading at_step = whole;
  at_step.step = CutNumber('@', &at_step.run);
  if (!at_step.step) return readings;
  readings.push_back(at_step);
  if (auto ranked = WithRank(at_step)) readings.push_back(*ranked);
  return readings;
}

}  // namespace

jobs::Task<RunReference> FindRunReference(const Services& services,
                                          std::string text, std::string field) {
  absl::Status problem;
  for (Reading& reading : ReadingsOf(text)) {
    auto found = co_await services.runs->Find(reading.run);
    if (found.ok()) {
      co_return RunReference{*std::move(found), reading.rank, reading.step};
    }
    problem = found.status();
    if (!absl::IsNotFound(problem)) break;
  }
  co_return WithField(problem, field);
}

}  // namespace graphdbg::api
