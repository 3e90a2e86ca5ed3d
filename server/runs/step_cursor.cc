#include "server/runs/step_cursor.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::recorded {

absl::StatusOr<uint64_t> FirstStepOf(const std::string& cursor) {
  uint64_t from = 0;
  const char* const end = cursor.data() + cursor.size();
  const auto [stop, error] = std::from_chars(cursor.data(), end, from);
  if (cursor.empty() || (error == std::errc() && stop == end)) return from;
  return WithField(
      Error(absl::StatusCode::kInvalidArgument, "invalid_cursor",
            absl::StrCat("'", cursor, "' is not a cursor of this list")),
      "cursor");
}

}  // namespace graphdbg::recorded
