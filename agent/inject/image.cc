#include "agent/inject/image.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/inject/failure.h"
#include "agent/inject/process.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::inject {

namespace {

// Enough to tell one build of a function from another.
constexpr uint64_t kComparedBytes = 64;

// Opens the file of a mapping. Its path means another file in a container, and
// a removed file is found only by the mapping itself, which needs privileges.
absl::StatusOr<ElfFile> OpenMapped(pid_t pid, const Mapping& mapping) {
  if (!mapping.deleted) {
    return ElfFile::Open(absl::StrCat("/proc/", pid, "/root", mapping.path));
  }
  absl::StatusOr<ElfFile> file = ElfFile::Open(absl::StrFormat(
      "/proc/%d/map_files/%x-%x", pid, mapping.begin, mapping.end));
  if (file.ok()) return file;
  return FileReplaced(pid, mapping.path);
}

}  // namespace

absl::Status FileReplaced(pid_t pid, absl::string_view path) {
  return Failure("file_replaced",
                 absl::StrCat(path, " was replaced since process ", pid,
                              " has loaded it; restart the process"));
}

absl::StatusOr<Image> Image::Load(pid_t pid,
                                  const std::vector<Mapping>& mappings,
                                  const std::string& path) {
  const auto first =
      std::find_if(mappings.begin(), mappings.end(),
                   [&](const Mapping& each) { return each.path == path; });
  if (first == mappings.end()) {
    return absl::NotFoundError(absl::StrCat(path, " is not loaded"));
  }
  ASSIGN_OR_RETURN(ElfFile file, OpenMapped(pid, *first));
  const std::optional<uint64_t> bias = file.BiasOf(first->offset, first->begin);
  if (!bias.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not mapped as its headers say"));
  }
  return Image(path, std::move(file), *bias);
}

std::vector<AddressRange> Image::Find(absl::string_view symbol) const {
  std::vector<AddressRange> found;
  for (const ElfSymbol& each : file_.Find(symbol)) {
    const uint64_t begin = each.value + bias_;
    found.push_back({begin, begin + each.size});
  }
  return found;
}

std::optional<std::string> Image::FunctionAt(uint64_t address) const {
  const std::optional<ElfSymbol> found = file_.FunctionAt(address - bias_);
  if (!found.has_value()) return std::nullopt;
  return found->name;
}

bool Image::DiffersFrom(pid_t pid, AddressRange code) const {
  const size_t size = std::min(code.end - code.begin, kComparedBytes);
  const std::optional<std::string> expected =
      file_.BytesAt(code.begin - bias_, size);
  std::string actual(size, '\0');
  return ReadMemory(pid, code.begin, size, actual.data()) &&
         (!expected.has_value() || actual != *expected);
}

std::string DescribeAddress(pid_t pid, const std::vector<Mapping>& mappings,
                            uint64_t address) {
  const Mapping* const mapping = FindMapping(mappings, address);
  if (mapping == nullptr || mapping->path.empty()) return "code without a file";
  const std::string file(BaseName(mapping->path));
  const absl::StatusOr<Image> image = Image::Load(pid, mappings, mapping->path);
  if (!image.ok()) return file;
  const std::optional<std::string> function = image->FunctionAt(address);
  return function.has_value() ? absl::StrCat(*function, " in ", file) : file;
}

}  // namespace graphdbg::inject
