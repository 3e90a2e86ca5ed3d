// Runs a fuzz target on the files given on the command line, so that a corpus
// is also an ordinary test under any compiler. An input that takes more than a
// second of CPU time fails the test: from a stranger it would be an attack.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

// Sanitizers make programs slower by about this factor.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlowdown = 10;
#else
constexpr double kSlowdown = 1;
#endif
constexpr double kMaxCpuSeconds = 1 * kSlowdown;

// The CPU time of all threads of the process.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "missing corpus files\n");
    return 1;
  }
  // The first call includes a target's one-time initialization.
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(""), 0);
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", argv[i]);
      return 1;
    }
    const std::string input(std::istreambuf_iterator<char>(file), {});
    const double begin = CpuSeconds();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()),
                           input.size());
    const double seconds = CpuSeconds() - begin;
    if (seconds <= kMaxCpuSeconds) continue;
    std::fprintf(stderr, "%s took %.1f s of CPU time, more than %.0f s\n",
                 argv[i], seconds, kMaxCpuSeconds);
    return 1;
  }
  return 0;
}
