#include "server/http/places.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace graphdbg::http {
namespace {

class PlacesTest : public ::testing::Test {
 protected:
  // Takes a place under this name, which must not be in use.
  bool Take(const std::string& name, const std::string& address = "a") {
    auto place =
        places_->Take(address, [this, name] { closed_.push_back(name); });
    if (place == nullptr) return false;
    return taken_.emplace(name, std::move(place)).second;
  }
  // A connection with a request under way.
  bool TakeBusy(const std::string& name, const std::string& address = "a") {
    return Take(name, address) && taken_.at(name)->SetIdle(false);
  }

  std::shared_ptr<Places> places_ = std::make_shared<Places>(
      PlaceLimits{.all = 6, .reserved = 2, .per_address = 3});
  std::vector<std::string> closed_;
  std::map<std::string, std::unique_ptr<Places::Place>> taken_;
};

using Names = std::vector<std::string>;

TEST_F(PlacesTest, AnAddressOverItsShareGivesUpItsOwnOldestIdleConnection) {
  ASSERT_TRUE(Take("other", "b"));
  ASSERT_TRUE(TakeBusy("1"));
  ASSERT_TRUE(Take("2"));
  ASSERT_TRUE(Take("3"));
  EXPECT_EQ(closed_, Names());
  EXPECT_TRUE(Take("4"));
  EXPECT_EQ(closed_, Names{"2"});
}

TEST_F(PlacesTest, AnAddressWhoseConnectionsAreBusyIsRefused) {
  for (const char* name : {"1", "2", "3"}) ASSERT_TRUE(TakeBusy(name));
  EXPECT_FALSE(Take("4"));
  EXPECT_TRUE(Take("other", "b"));
  EXPECT_EQ(closed_, Names());
}

TEST_F(PlacesTest, StrangersLeaveTheReservedPlacesFree) {
  for (const char* name : {"1", "2", "3", "4"}) {
    ASSERT_TRUE(TakeBusy(name, name));
  }
  EXPECT_FALSE(Take("5", "e"));
  // A client with a credential frees a stranger's place.
  taken_.at("1")->MarkAuthenticated();
  EXPECT_TRUE(TakeBusy("5", "e"));
  taken_.at("2")->MarkAuthenticated();
  EXPECT_TRUE(TakeBusy("6", "f"));
  taken_.at("3")->MarkAuthenticated();
  // Now all places are taken.
  EXPECT_FALSE(Take("7", "g"));
  taken_.erase("4");
  EXPECT_TRUE(Take("7", "g"));
}

TEST_F(PlacesTest, StrangersMakeRoomBeforeKnownClients) {
  for (const char* name : {"1", "2", "3", "4"}) ASSERT_TRUE(Take(name, name));
  taken_.at("1")->MarkAuthenticated();
  ASSERT_TRUE(Take("5", "e"));
  EXPECT_TRUE(Take("6", "f"));
  EXPECT_EQ(closed_, Names{"2"});
  // It no longer counts, although it has not closed yet.
  EXPECT_FALSE(taken_.at("2")->SetIdle(false));
  EXPECT_TRUE(Take("7", "g"));
  EXPECT_EQ(closed_, (Names{"2", "3"}));
}

TEST_F(PlacesTest, ARequestMakesAConnectionYoung) {
  ASSERT_TRUE(Take("1"));
  ASSERT_TRUE(Take("2"));
  EXPECT_TRUE(taken_.at("1")->SetIdle(false));
  EXPECT_TRUE(taken_.at("1")->SetIdle(true));
  places_->CloseOne();
  places_->CloseOne();
  // Nobody is left.
  places_->CloseOne();
  EXPECT_EQ(closed_, (Names{"2", "1"}));
}

TEST_F(PlacesTest, KnownClientsDoNotCountInTheShareOfTheirAddress) {
  for (const char* name : {"1", "2", "3", "4"}) {
    ASSERT_TRUE(TakeBusy(name)) << name;
    taken_.at(name)->MarkAuthenticated();
  }
  EXPECT_TRUE(Take("5"));
  EXPECT_EQ(closed_, Names());
}

}  // namespace
}  // namespace graphdbg::http
