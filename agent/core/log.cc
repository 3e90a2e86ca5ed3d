#include "agent/core/log.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/wire/visible_text.h"

namespace graphdbg::agent {

void LogToStderr(absl::string_view line) {
  std::string one_line(line.data(), line.size());
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  // Parts of the line may come from the server.
  const std::string text =
      absl::StrCat("graphdbg: ", wire::VisibleText(one_line), "\n");
  // The program may have closed stderr.
  [[maybe_unused]] ssize_t written =
      write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace graphdbg::agent
