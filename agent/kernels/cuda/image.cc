#include "agent/kernels/cuda/image.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" const unsigned char cuda_kernels_fatbin[];
extern "C" const unsigned long cuda_kernels_fatbin_size;

namespace graphdbg::cuda {
namespace {

// Format written by nvcc's fatbinary, little endian.
constexpr uint32_t kMagic = 0xBA55ED50;
constexpr uint16_t kPtx = 1;
constexpr uint16_t kMachineCode = 2;

struct FileHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_size;
  uint64_t size;
};

struct EntryHeader {
  uint16_t kind;
  uint16_t version;
  uint32_t header_size;
  uint64_t size;
  uint32_t compressed_size;
  uint32_t unknown;
  uint16_t minor;
  uint16_t major;
  uint32_t architecture;
};

template <class T>
bool Read(const Image& image, size_t at, T* out) {
  if (at > image.size || image.size - at < sizeof(T)) return false;
  std::memcpy(out, static_cast<const char*>(image.data) + at, sizeof(T));
  return true;
}

}  // namespace

Image KernelImage() { return {cuda_kernels_fatbin, cuda_kernels_fatbin_size}; }

const char* ToolkitVersion() { return GRAPHDBG_CUDA_TOOLKIT; }

std::vector<std::string> Architectures(const Image& image) {
  std::vector<std::string> found;
  FileHeader file;
  if (!Read(image, 0, &file) || file.magic != kMagic) return found;
  EntryHeader entry;
  for (size_t at = file.header_size; Read(image, at, &entry);
       at += entry.header_size + entry.size) {
    if (entry.header_size < sizeof(entry) || entry.size > image.size) break;
    const std::string number = std::to_string(entry.architecture);
    if (entry.kind == kMachineCode) found.push_back("sm_" + number);
    if (entry.kind == kPtx) found.push_back("compute_" + number);
  }
  return found;
}

bool RunsOn(const std::vector<std::string>& architectures, int capability) {
  for (const std::string& name : architectures) {
    const bool machine_code = name.rfind("sm_", 0) == 0;
    const int built_for = std::atoi(name.c_str() + name.find('_') + 1);
    if (built_for > capability) continue;
    if (!machine_code || built_for / 10 == capability / 10) return true;
  }
  return false;
}

}  // namespace graphdbg::cuda
