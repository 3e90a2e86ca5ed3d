#include "agent/inject/elf_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::inject {

namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#endif

// Far more than any file has; tables are allocated by what headers claim.
constexpr uint64_t kMaxTableBytes = uint64_t{1} << 30;

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed ELF file: ", what));
}

bool IsInside(uint64_t offset, uint64_t size, uint64_t file_size) {
  return size <= file_size && offset <= file_size - size;
}

bool IsDefined(const Elf64_Sym& symbol) {
  const unsigned char type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF &&
         (type == STT_FUNC || type == STT_OBJECT);
}

// Reads `count` entries of a table.
template <typename T>
absl::StatusOr<std::vector<T>> ReadTable(const ReadBytes& read, uint64_t offset,
                                         uint64_t count, uint64_t file_size,
                                         absl::string_view what) {
  if (count > kMaxTableBytes / sizeof(T) ||
      !IsInside(offset, count * sizeof(T), file_size)) {
    return Malformed(what);
  }
  std::vector<T> table(count);
  if (!read(offset, count * sizeof(T), table.data())) return Malformed(what);
  return table;
}

absl::Status CheckHeader(const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Malformed("no ELF header");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != kMachine) {
    return absl::InvalidArgumentError("ELF file of another architecture");
  }
  return absl::OkStatus();
}

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() { close(descriptor_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

bool ReadFully(int descriptor, uint64_t offset, size_t size, void* out) {
  char* to = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t n = pread(descriptor, to, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

absl::StatusOr<ElfFile> ElfFile::Parse(ReadBytes read, uint64_t file_size) {
  Elf64_Ehdr header;
  if (file_size < sizeof(header) || !read(0, sizeof(header), &header)) {
    return Malformed("no ELF header");
  }
  RETURN_IF_ERROR(CheckHeader(header));
  ElfFile file;
  file.read_ = std::move(read);
  RETURN_IF_ERROR(file.ReadSegments(header, file_size));
  RETURN_IF_ERROR(file.ReadSymbols(header, file_size));
  return file;
}

absl::StatusOr<ElfFile> ElfFile::Open(const std::string& path) {
  const auto descriptor =
      std::make_shared<Descriptor>(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat information;
  if (descriptor->get() < 0 || fstat(descriptor->get(), &information) != 0) {
    return absl::NotFoundError(
        absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  }
  if (!S_ISREG(information.st_mode)) return Malformed("not a regular file");
  return Parse(
      [descriptor](uint64_t offset, size_t size, void* out) {
        return ReadFully(descriptor->get(), offset, size, out);
      },
      static_cast<uint64_t>(information.st_size));
}

absl::Status ElfFile::ReadSegments(const Elf64_Ehdr& header,
                                   uint64_t file_size) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) {
    return Malformed("size of program headers");
  }
  ASSIGN_OR_RETURN(std::vector<Elf64_Phdr> all,
                   ReadTable<Elf64_Phdr>(read_, header.e_phoff, header.e_phnum,
                                         file_size, "program headers"));
  for (const Elf64_Phdr& each : all) {
    if (each.p_type == PT_LOAD) segments_.push_back(each);
  }
  return absl::OkStatus();
}

absl::Status ElfFile::ReadSymbols(const Elf64_Ehdr& header,
                                  uint64_t file_size) {
  if (header.e_shnum == 0) return absl::OkStatus();
  if (header.e_shentsize != sizeof(Elf64_Shdr)) {
    return Malformed("size of section headers");
  }
  ASSIGN_OR_RETURN(const std::vector<Elf64_Shdr> sections,
                   ReadTable<Elf64_Shdr>(read_, header.e_shoff, header.e_shnum,
                                         file_size, "section headers"));
  const auto table = std::find_if(
      sections.begin(), sections.end(),
      [](const Elf64_Shdr& each) { return each.sh_type == SHT_DYNSYM; });
  if (table == sections.end()) return absl::OkStatus();
  if (table->sh_entsize != sizeof(Elf64_Sym) ||
      table->sh_link >= sections.size()) {
    return Malformed("symbol table");
  }
  ASSIGN_OR_RETURN(symbols_,
                   ReadTable<Elf64_Sym>(read_, table->sh_offset,
                                        table->sh_size / sizeof(Elf64_Sym),
                                        file_size, "symbol table"));
  const Elf64_Shdr& names = sections[table->sh_link];
  ASSIGN_OR_RETURN(const std::vector<char> bytes,
                   ReadTable<char>(read_, names.sh_offset, names.sh_size,
                                   file_size, "names of symbols"));
  names_.assign(bytes.begin(), bytes.end());
  symbols_.erase(
      std::remove_if(symbols_.begin(), symbols_.end(),
                     [](const Elf64_Sym& each) { return !IsDefined(each); }),
      symbols_.end());
  return absl::OkStatus();
}

absl::string_view ElfFile::NameOf(const Elf64_Sym& symbol) const {
  if (symbol.st_name >= names_.size()) return "";
  const absl::string_view name =
      absl::string_view(names_).substr(symbol.st_name);
  return name.substr(0, name.find('\0'));
}

std::vector<ElfSymbol> ElfFile::Find(absl::string_view name) const {
  std::vector<ElfSymbol> found;
  for (const Elf64_Sym& each : symbols_) {
    if (NameOf(each) == name) {
      found.push_back({std::string(name), each.st_value, each.st_size});
    }
  }
  return found;
}

std::optional<ElfSymbol> ElfFile::FunctionAt(uint64_t address) const {
  for (const Elf64_Sym& each : symbols_) {
    if (ELF64_ST_TYPE(each.st_info) == STT_FUNC && address >= each.st_value &&
        address - each.st_value < each.st_size) {
      return ElfSymbol{std::string(NameOf(each)), each.st_value, each.st_size};
    }
  }
  return std::nullopt;
}

std::optional<std::string> ElfFile::BytesAt(uint64_t address,
                                            size_t size) const {
  for (const Elf64_Phdr& each : segments_) {
    if (address < each.p_vaddr) continue;
    const uint64_t offset = address - each.p_vaddr;
    if (!IsInside(offset, size, each.p_filesz)) continue;
    std::string bytes(size, '\0');
    if (!read_(each.p_offset + offset, size, bytes.data())) return std::nullopt;
    return bytes;
  }
  return std::nullopt;
}

std::optional<uint64_t> ElfFile::BiasOf(uint64_t offset, uint64_t begin) const {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const Elf64_Phdr& each : segments_) {
    if (each.p_offset / page * page == offset) {
      return begin - each.p_vaddr / page * page;
    }
  }
  return std::nullopt;
}

}  // namespace graphdbg::inject
