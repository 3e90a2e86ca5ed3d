#include "server/base/error.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"

namespace graphdbg {
namespace {

constexpr char kReasonUrl[] = "graphdbg/reason";
constexpr char kFieldUrl[] = "graphdbg/field";
constexpr char kColumnUrl[] = "graphdbg/column";

}  // namespace

absl::Status Error(absl::StatusCode code, std::string_view reason,
                   std::string_view message) {
  absl::Status status(code, {message.data(), message.size()});
  status.SetPayload(
      kReasonUrl, absl::Cord(absl::string_view(reason.data(), reason.size())));
  return status;
}

std::string ReasonOf(const absl::Status& status) {
  if (auto reason = status.GetPayload(kReasonUrl)) {
    return std::string(*reason);
  }
  std::string name = absl::StatusCodeToString(status.code());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return name;
}

absl::Status WithField(absl::Status status, std::string_view field) {
  status.SetPayload(kFieldUrl,
                    absl::Cord(absl::string_view(field.data(), field.size())));
  return status;
}

std::string FieldOf(const absl::Status& status) {
  auto field = status.GetPayload(kFieldUrl);
  return field ? std::string(*field) : std::string();
}

std::optional<int> ColumnOf(const absl::Status& status) {
  const auto text = status.GetPayload(kColumnUrl);
  int column;
  if (!text || !absl::SimpleAtoi(std::string(*text), &column)) {
    return std::nullopt;
  }
  return column;
}

}  // namespace graphdbg
