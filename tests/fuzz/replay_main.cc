// Runs a fuzz target on the files given on the command line, so that a corpus
// is also an ordinary test under any compiler. An input that takes more than a
// second of processor time is a fault like a crash (libFuzzer: -timeout=1).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr std::clock_t kMaxSeconds = 1;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "missing corpus files\n");
    return 1;
  }
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", argv[i]);
      return 1;
    }
    const std::string input(std::istreambuf_iterator<char>(file), {});
    const std::clock_t start = std::clock();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()),
                           input.size());
    const std::clock_t ticks = std::clock() - start;
    if (ticks > kMaxSeconds * CLOCKS_PER_SEC) {
      std::fprintf(stderr, "%s took %.1f s\n", argv[i],
                   static_cast<double>(ticks) / CLOCKS_PER_SEC);
      return 1;
    }
  }
  return 0;
}
