#include "agent/recording/ring_place.h"

#include <gtest/gtest.h>
#include <linux/magic.h>

#include <map>
#include <string>
#include <vector>

namespace graphdbg::recording {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kFuse = 0x65735546;

class RingPlaceTest : public testing::Test {
 protected:
  RingPlaceTest() {
    places_.rank_directory = "/runs/a/rank-00000";
    places_.temporary = "/tmp";
    places_.unique_name = "x";
    systems_["/runs/a/rank-00000"] = {NFS_SUPER_MAGIC, 1000 * kMiB, 0};
    systems_["/dev/shm"] = {TMPFS_MAGIC, 128 * kMiB, 0};
    systems_["/tmp"] = {EXT4_SUPER_MAGIC, 1000 * kMiB, 0};
  }

  std::vector<std::string> Paths(uint64_t bytes = 32 * kMiB) {
    return RingPaths(places_, bytes, [this](const std::string& path) {
      return systems_[path];
    });
  }

  RingPlaces places_;
  std::map<std::string, FileSystem> systems_;
};

using Texts = std::vector<std::string>;

TEST_F(RingPlaceTest, IsNotOnANetwork) {
  EXPECT_EQ(Paths(), (Texts{"/dev/shm/graphdbg-x-ring.gdbr",
                            "/tmp/graphdbg-x-ring.gdbr"}));
}

TEST_F(RingPlaceTest, IsBesideTheLogIfThatIsSafe) {
  for (const uint64_t type : {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, TMPFS_MAGIC,
                              OVERLAYFS_SUPER_MAGIC}) {
    systems_["/runs/a/rank-00000"].type = type;
    EXPECT_EQ(Paths().front(), "/runs/a/rank-00000/ring.gdbr");
  }
}

TEST_F(RingPlaceTest, IsNotWhereAllocatingPromisesNothing) {
  for (const uint64_t type :
       {uint64_t{BTRFS_SUPER_MAGIC}, kFuse, uint64_t{0}}) {
    systems_["/runs/a/rank-00000"].type = type;
    EXPECT_EQ(Paths().front(), "/dev/shm/graphdbg-x-ring.gdbr");
  }
}

TEST_F(RingPlaceTest, TakesAQuarterOfSharedMemoryAtMost) {
  EXPECT_EQ(Paths(32 * kMiB + 1), (Texts{"/tmp/graphdbg-x-ring.gdbr"}));
}

TEST_F(RingPlaceTest, IsWhereTheUserChose) {
  places_.chosen = "/fast";
  systems_["/fast"] = {XFS_SUPER_MAGIC, 32 * kMiB, 0};
  EXPECT_EQ(Paths().front(), "/fast/graphdbg-x-ring.gdbr");
  EXPECT_NE(Paths(32 * kMiB + 1).front(), "/fast/graphdbg-x-ring.gdbr");
}

TEST_F(RingPlaceTest, MayBeNowhere) {
  systems_.clear();
  EXPECT_EQ(Paths(), Texts());
  EXPECT_EQ(PossibleRingPaths(places_).size(), 3u);
}

TEST(FileSystem, IsThatOfTheDirectory) {
  const FileSystem here = FileSystemOf(testing::TempDir());
  EXPECT_NE(here.type, 0u);
  EXPECT_GE(here.total_bytes, here.free_bytes);
  EXPECT_EQ(FileSystemOf("/no/such/directory").type, 0u);
}

}  // namespace
}  // namespace graphdbg::recording
