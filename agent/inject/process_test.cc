#include "agent/inject/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <string>

#include "agent/inject/failure.h"
#include "agent/inject/mappings.h"

namespace graphdbg::inject {
namespace {

TEST(MappingsTest, ParsesLines) {
  const auto mappings = ParseMappings(
      "00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus daemon\n"
      "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
      "7ffd1000-7ffd2000 rw-s 00000000 00:00 0           [stack]\n"
      "8000000000-8000001000 ---p 00000000 08:02 5   /lib/libc.so.6 (deleted)");
  ASSERT_TRUE(mappings.ok()) << mappings.status();
  ASSERT_EQ(mappings->size(), 4u);
  const Mapping& program = (*mappings)[0];
  EXPECT_EQ(program.begin, 0x400000u);
  EXPECT_EQ(program.end, 0x452000u);
  EXPECT_EQ(program.offset, 0x1000u);
  EXPECT_TRUE(program.readable && !program.writable && program.executable);
  EXPECT_EQ(program.path, "/usr/bin/dbus daemon");
  EXPECT_FALSE(program.deleted);
  EXPECT_EQ((*mappings)[1].path, "");
  EXPECT_EQ((*mappings)[2].path, "[stack]");
  EXPECT_EQ((*mappings)[3].path, "/lib/libc.so.6");
  EXPECT_TRUE((*mappings)[3].deleted);
  EXPECT_FALSE((*mappings)[3].readable);
}

TEST(MappingsTest, RefusesOtherText) {
  for (const char* const line :
       {"x", "00400000 r-xp 0 08:02 1 /a", "2-1 r-xp 0 08:02 1 /a",
        "1-2 r-x 0 08:02 1 /a", "1-2 r-xp g 08:02 1 /a", "1-2 r-xp 0 08:02",
        "1-2-3 r-xp 0 08:02 1 /a"}) {
    EXPECT_FALSE(ParseMappings(line).ok()) << line;
  }
  EXPECT_TRUE(ParseMappings("").ok());
}

TEST(MappingsTest, FindsAddresses) {
  const auto mappings = ParseMappings("1000-2000 r--p 0 0:0 0 a\n");
  ASSERT_TRUE(mappings.ok());
  EXPECT_NE(FindMapping(*mappings, 0x1000), nullptr);
  EXPECT_NE(FindMapping(*mappings, 0x1fff), nullptr);
  EXPECT_EQ(FindMapping(*mappings, 0x2000), nullptr);
  EXPECT_EQ(FindMapping(*mappings, 0xfff), nullptr);
}

TEST(MappingsTest, ReadsTheProgramThatRuns) {
  const auto mappings = ReadMappings(getpid());
  ASSERT_TRUE(mappings.ok()) << mappings.status();
  const auto address = reinterpret_cast<uint64_t>(&ReadMappings);
  const Mapping* const mapping = FindMapping(*mappings, address);
  ASSERT_NE(mapping, nullptr);
  EXPECT_TRUE(mapping->executable);
}

TEST(MappingsTest, TakesTheLastPartOfPaths) {
  EXPECT_EQ(BaseName("/usr/lib/libc.so.6"), "libc.so.6");
  EXPECT_EQ(BaseName("[vdso]"), "[vdso]");
  EXPECT_EQ(BaseName(""), "");
}

TEST(StatusTest, ParsesFields) {
  const auto status = ParseStatus(
      "Name:\tState: Z\nState:\tS (sleeping)\nTgid:\t12\nTracerPid:\t34\n"
      "Uid:\t1000\t1001\t1002\t1003\nx86_Thread_features:\tshstk wrss \n");
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->state, 'S');
  EXPECT_EQ(status->process, 12);
  EXPECT_EQ(status->tracer, 34);
  EXPECT_EQ(status->user, 1000u);
  EXPECT_TRUE(status->has_shadow_stack);
}

TEST(StatusTest, RefusesOtherText) {
  EXPECT_FALSE(ParseStatus("").ok());
  EXPECT_FALSE(ParseStatus("State:\nTgid:\t1\n").ok());
  EXPECT_FALSE(ParseStatus("State:\tS\nTgid:\tx\n").ok());
}

TEST(StatusTest, NamesAProcessThatDoesNotExist) {
  EXPECT_EQ(FailureCode(ReadStatus(INT_MAX).status()), "no_process");
  EXPECT_TRUE(ReadStatus(getpid()).ok());
}

TEST(MemoryTest, CopiesAllOrNothing) {
  std::string text = "before";
  const auto address = reinterpret_cast<uint64_t>(text.data());
  EXPECT_TRUE(WriteMemory(getpid(), address, "behind"));
  EXPECT_EQ(text, "behind");
  std::string copy(6, '\0');
  EXPECT_TRUE(ReadMemory(getpid(), address, 6, copy.data()));
  EXPECT_EQ(copy, "behind");
  EXPECT_FALSE(ReadMemory(getpid(), 8, 6, copy.data()));
  EXPECT_FALSE(WriteMemory(getpid(), 8, "text"));
}

TEST(FailureTest, KeepsItsCode) {
  const absl::Status failure =
      Failure("no_python", "process 1 runs no CPython");
  EXPECT_EQ(FailureCode(failure), "no_python");
  EXPECT_EQ(failure.message(), "process 1 runs no CPython");
  EXPECT_EQ(FailureCode(absl::InternalError("x")), "internal");
}

}  // namespace
}  // namespace graphdbg::inject
