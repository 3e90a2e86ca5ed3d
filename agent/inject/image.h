// A program or library that a process has loaded.
#ifndef AGENT_INJECT_IMAGE_H_
#define AGENT_INJECT_IMAGE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/inject/elf_file.h"
#include "agent/inject/mappings.h"

namespace graphdbg::inject {

// A range of addresses in a process, `end` excluded.
struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  bool Contains(uint64_t address) const {
    return begin <= address && address < end;
  }
};

class Image {
 public:
  // Reads the file with this path in the process's mount namespace.
  static absl::StatusOr<Image> Load(pid_t pid,
                                    const std::vector<Mapping>& mappings,
                                    const std::string& path);

  const std::string& path() const { return path_; }

  // Returns the definitions of a symbol, in the process.
  std::vector<AddressRange> Find(absl::string_view symbol) const;

  // Returns the name of the function that contains an address of the process.
  std::optional<std::string> FunctionAt(uint64_t address) const;

  // Whether the process has other code at this address than the file, which
  // then is not the one that was loaded. False if its memory cannot be read.
  bool DiffersFrom(pid_t pid, AddressRange code) const;

 private:
  Image(std::string path, ElfFile file, uint64_t bias)
      : path_(std::move(path)), file_(std::move(file)), bias_(bias) {}

  std::string path_;
  ElfFile file_;
  uint64_t bias_;
};

// The error of code "file_replaced".
absl::Status FileReplaced(pid_t pid, absl::string_view path);

// Describes where a thread is, as "clock_nanosleep in libc.so.6".
std::string DescribeAddress(pid_t pid, const std::vector<Mapping>& mappings,
                            uint64_t address);

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_IMAGE_H_
