// Symbols and segments of an ELF file of this machine's architecture. Files
// come from users: what is malformed is an error, and never read out of bounds.
#ifndef AGENT_INJECT_ELF_FILE_H_
#define AGENT_INJECT_ELF_FILE_H_

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphdbg::inject {

// Copies `size` bytes from `offset` to `out`; false if there are not that many.
using ReadBytes = std::function<bool(uint64_t offset, size_t size, void* out)>;

struct ElfSymbol {
  std::string name;
  // The address before relocation.
  uint64_t value = 0;
  uint64_t size = 0;
};

class ElfFile {
 public:
  // Reads the headers and the dynamic symbols.
  static absl::StatusOr<ElfFile> Parse(ReadBytes read, uint64_t file_size);
  static absl::StatusOr<ElfFile> Open(const std::string& path);

  // Returns the definitions of a symbol. There may be one for each version.
  std::vector<ElfSymbol> Find(absl::string_view name) const;

  // Returns the function that contains an address before relocation.
  std::optional<ElfSymbol> FunctionAt(uint64_t address) const;

  // Returns bytes of a loaded segment as the file has them, or nothing.
  std::optional<std::string> BytesAt(uint64_t address, size_t size) const;

  // Returns what is added to addresses of this file in a process that has
  // mapped its part at `offset` to `begin`; nothing if no segment is there.
  std::optional<uint64_t> BiasOf(uint64_t offset, uint64_t begin) const;

 private:
  absl::Status ReadSegments(const Elf64_Ehdr& header, uint64_t file_size);
  absl::Status ReadSymbols(const Elf64_Ehdr& header, uint64_t file_size);
  absl::string_view NameOf(const Elf64_Sym& symbol) const;

  ReadBytes read_;
  std::vector<Elf64_Phdr> segments_;
  // Defined functions and variables only.
  std::vector<Elf64_Sym> symbols_;
  std::string names_;
};

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_ELF_FILE_H_
