#include "agent/inject/elf_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace graphdbg::inject {
namespace {

ReadBytes ReaderOf(const std::string& bytes) {
  return [bytes](uint64_t offset, size_t size, void* out) {
    if (size > bytes.size() || offset > bytes.size() - size) return false;
    std::memcpy(out, bytes.data() + offset, size);
    return true;
  };
}

absl::StatusOr<ElfFile> ParseBytes(const std::string& bytes) {
  return ElfFile::Parse(ReaderOf(bytes), bytes.size());
}

// An executable file with one function, `answer`, of 16 bytes at 0x401010.
std::string SmallFile() {
  std::string bytes(0x600, '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
#if defined(__x86_64__)
  header.e_machine = EM_X86_64;
#else
  header.e_machine = EM_AARCH64;
#endif
  header.e_phoff = 0x40;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shoff = 0x100;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  std::memcpy(&bytes[0], &header, sizeof(header));
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_vaddr = 0x401000;
  segment.p_filesz = segment.p_memsz = bytes.size();
  std::memcpy(&bytes[0x40], &segment, sizeof(segment));
  Elf64_Shdr sections[3] = {};
  sections[1].sh_type = SHT_DYNSYM;
  sections[1].sh_offset = 0x300;
  sections[1].sh_size = 2 * sizeof(Elf64_Sym);
  sections[1].sh_entsize = sizeof(Elf64_Sym);
  sections[1].sh_link = 2;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = 0x400;
  sections[2].sh_size = 8;
  std::memcpy(&bytes[0x100], sections, sizeof(sections));
  Elf64_Sym symbol{};
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = 1;
  symbol.st_value = 0x401010;
  symbol.st_size = 16;
  std::memcpy(&bytes[0x300 + sizeof(Elf64_Sym)], &symbol, sizeof(symbol));
  std::memcpy(&bytes[0x400], "\0answer\0", 8);
  return bytes;
}

void Exercise(const ElfFile& file) {
  file.Find("answer");
  file.FunctionAt(0x401010);
  file.FunctionAt(~uint64_t{0});
  file.BytesAt(0x401010, 64);
  file.BytesAt(~uint64_t{0}, 64);
  file.BiasOf(0, 0x7f0000000000);
}

TEST(ElfFileTest, FindsFunctions) {
  const absl::StatusOr<ElfFile> file = ParseBytes(SmallFile());
  ASSERT_TRUE(file.ok()) << file.status();
  const std::vector<ElfSymbol> found = file->Find("answer");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].value, 0x401010u);
  EXPECT_EQ(found[0].size, 16u);
  EXPECT_TRUE(file->Find("answe").empty());
  EXPECT_EQ(file->FunctionAt(0x40101f)->name, "answer");
  EXPECT_FALSE(file->FunctionAt(0x401020).has_value());
  EXPECT_FALSE(file->FunctionAt(0x40100f).has_value());
}

TEST(ElfFileTest, KnowsWhereItIsMapped) {
  const absl::StatusOr<ElfFile> file = ParseBytes(SmallFile());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->BiasOf(0, 0x401000), 0u);
  EXPECT_EQ(file->BiasOf(0, 0x7f0000401000), 0x7f0000000000u);
  EXPECT_FALSE(file->BiasOf(0x10000, 0x401000).has_value());
  EXPECT_EQ(file->BytesAt(0x401401, 6), "answer");
  EXPECT_FALSE(file->BytesAt(0x4015ff, 2).has_value());
}

TEST(ElfFileTest, ReadsTheProgramThatRuns) {
  const absl::StatusOr<ElfFile> file = ElfFile::Open("/proc/self/exe");
  ASSERT_TRUE(file.ok()) << file.status();
}

TEST(ElfFileTest, RefusesOtherFiles) {
  EXPECT_FALSE(ParseBytes("").ok());
  EXPECT_FALSE(ParseBytes("#!/bin/sh\n").ok());
  EXPECT_FALSE(ParseBytes(std::string(4096, '\0')).ok());
  EXPECT_FALSE(ElfFile::Open("/proc").ok());
  EXPECT_FALSE(ElfFile::Open("/nothing/there").ok());
  std::string other = SmallFile();
  other[EI_CLASS] = ELFCLASS32;
  EXPECT_FALSE(ParseBytes(other).ok());
}

TEST(ElfFileTest, RefusesWhatIsCutOff) {
  const std::string whole = SmallFile();
  // Up to the end of the names, each byte is needed.
  for (size_t size = 0; size < 0x408; ++size) {
    EXPECT_FALSE(ParseBytes(whole.substr(0, size)).ok()) << size;
  }
}

TEST(ElfFileTest, RefusesTablesBeyondTheFile) {
  for (const size_t at : {0x20, 0x28}) {  // e_phoff, e_shoff
    for (const uint64_t offset : {uint64_t{0x5f0}, ~uint64_t{0} - 0x10}) {
      std::string bytes = SmallFile();
      std::memcpy(&bytes[at], &offset, sizeof(offset));
      EXPECT_FALSE(ParseBytes(bytes).ok()) << at << " " << offset;
    }
  }
}

// With sanitizers this also finds accesses out of bounds.
TEST(ElfFileTest, SurvivesDamage) {
  std::mt19937 random(7);
  const std::string whole = SmallFile();
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = whole;
    for (int changes = 1 + static_cast<int>(random() % 4); changes > 0;
         --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    bytes.resize(random() % 4 == 0 ? random() % bytes.size() : bytes.size());
    const absl::StatusOr<ElfFile> file = ParseBytes(bytes);
    if (!file.ok()) continue;
    ++parsed;
    Exercise(*file);
  }
  EXPECT_GT(parsed, 1000);
}

}  // namespace
}  // namespace graphdbg::inject
