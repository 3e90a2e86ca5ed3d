#include "server/api/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

std::string UnknownParameter(const std::string& name,
                             const std::vector<std::string_view>& known) {
  std::string list;
  for (std::string_view word : known) {
    list += (list.empty() ? "" : ", ") + std::string(word);
  }
  return "unknown parameter '" + name + "'; this request accepts " +
         (list.empty() ? "no parameters" : list);
}

}  // namespace

absl::Status CheckQueryNames(const http::Request& request,
                             const std::vector<std::string_view>& known) {
  std::set<std::string_view> seen;
  for (const auto& [name, value] : request.query) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return WithField(
          Error(absl::StatusCode::kInvalidArgument, "unknown_parameter",
                UnknownParameter(name, known)),
          name);
    }
    if (!seen.insert(name).second) {
      return WithField(
          Error(absl::StatusCode::kInvalidArgument, "invalid_parameter",
                "parameter '" + name + "' occurs more than once"),
          name);
    }
  }
  return absl::OkStatus();
}

std::string Arguments::Text(std::string_view name) {
  for (const auto& [key, value] : request_.query) {
    if (key == name) return value;
  }
  return {};
}

std::string Arguments::RequiredText(std::string_view name) {
  std::string text = Text(name);
  if (text.empty()) Fail(name, "a value is required");
  return text;
}

std::optional<uint64_t> Arguments::Integer(std::string_view name, uint64_t min,
                                           uint64_t max) {
  std::string text = Text(name);
  if (text.empty()) return std::nullopt;
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < min || value > max) {
    Fail(name, "'" + text + "' is not an integer from " + std::to_string(min) +
                   " to " + std::to_string(max));
    return std::nullopt;
  }
  return value;
}

std::optional<double> Arguments::Real(std::string_view name, double min) {
  const std::string text = Text(name);
  if (text.empty()) return std::nullopt;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) ||
      value < min) {
    Fail(name, absl::StrCat("'", text, "' is not a finite number that is at ",
                            "least ", min));
    return std::nullopt;
  }
  return value;
}

std::optional<uint32_t> Arguments::Integer32(std::string_view name) {
  auto value = Integer(name, 0, std::numeric_limits<uint32_t>::max());
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

bool Arguments::Flag(std::string_view name) {
  std::string text = Text(name);
  if (text == "1" || text == "true") return true;
  if (!text.empty() && text != "0" && text != "false") {
    Fail(name, "'" + text + "' is neither 'true' nor 'false'");
  }
  return false;
}

void Arguments::Fail(std::string_view name, const std::string& what) {
  if (!status_.ok()) return;
  std::string field(name);
  status_ =
      WithField(Error(absl::StatusCode::kInvalidArgument, "invalid_parameter",
                      "parameter '" + field + "': " + what),
                field);
}

}  // namespace graphdbg::api
