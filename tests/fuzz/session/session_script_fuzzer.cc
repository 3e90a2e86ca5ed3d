// Agents and clients call a job in any order. Whatever they do, commands take
// effect at most once and in order, and no state is shown that was not real.
//
// An input is a script (session_script.h).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/session/session_script.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto result = graphdbg::session::RunScript(data, size);
  if (result.violation.empty()) return 0;
  std::fprintf(stderr, "%s\n", result.violation.c_str());
  std::abort();
}
