#include "agent/core/log.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace graphdbg::agent {

void LogToStderr(absl::string_view line) {
  std::string text = absl::StrCat("graphdbg: ", line);
  std::replace(text.begin(), text.end(), '\n', ' ');
  text += '\n';
  // The program may have closed stderr.
  [[maybe_unused]] ssize_t written =
      write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace graphdbg::agent
