#include "server/api/tensor_arguments.h"

#include <charconv>
#include <limits>

namespace graphdbg::api {
namespace {

using model::TensorQuery;

void ReadName(Arguments& arguments, TensorQuery& query) {
  const std::string name = arguments.RequiredText("name");
  if (!ParseTensorName(name, query)) {
    arguments.Fail("name", "'" + name + "' is not in the form NODE:SLOT");
  }
}

void ReadStep(Arguments& arguments, TensorQuery& query) {
  const std::string step = arguments.Text("step");
  if (step.empty() || ParseStep(step, query)) return;
  arguments.Fail("step",
                 "'" + step + "' is not 'current', 'previous' or a number");
}

}  // namespace

TensorQuery ReadTensorQuery(Arguments& arguments) {
  TensorQuery query;
  ReadName(arguments, query);
  ReadStep(arguments, query);
  query.rank = arguments.Integer32("rank").value_or(0);
  return query;
}

bool ParseTensorName(const std::string& name, TensorQuery& query) {
  const size_t colon = name.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  const std::optional<uint64_t> slot = ParseNumber(name.substr(colon + 1));
  if (!slot || *slot > std::numeric_limits<uint32_t>::max()) return false;
  query.node = name.substr(0, colon);
  query.slot = static_cast<uint32_t>(*slot);
  return true;
}

bool ParseStep(const std::string& text, TensorQuery& query) {
  const std::optional<uint64_t> number = ParseNumber(text);
  if (text == "current") {
    query.version = TensorQuery::Version::kCurrent;
  } else if (text == "previous") {
    query.version = TensorQuery::Version::kPrevious;
  } else if (number) {
    query.version = TensorQuery::Version::kStep;
    query.step = *number;
  } else {
    return false;
  }
  return true;
}

std::optional<uint64_t> ParseNumber(const std::string& text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace graphdbg::api
