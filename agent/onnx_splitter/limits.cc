#include "agent/onnx_splitter/limits.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <utility>

namespace graphdbg::onnx_splitter {
namespace {

constexpr rlim_t kMemoryBytes = rlim_t{6} << 30;
constexpr rlim_t kSeconds = 120;
// Standard input, output and error.
constexpr rlim_t kOpenFiles = 3;

}  // namespace

bool ConfineProcess() {
  const std::pair<decltype(RLIMIT_AS), rlim_t> limits[] = {
      {RLIMIT_AS, kMemoryBytes},
      {RLIMIT_CPU, kSeconds},
      {RLIMIT_NOFILE, kOpenFiles},
      {RLIMIT_FSIZE, 0},
      {RLIMIT_CORE, 0}};
  for (const auto& [resource, value] : limits) {
    const rlimit limit = {value, value};
    if (setrlimit(resource, &limit) != 0) return false;
  }
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

}  // namespace graphdbg::onnx_splitter
