#include "server/auth/credential_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/base/error.h"

namespace graphdbg::auth {
namespace {

namespace fs = std::filesystem;

class CredentialStoreTest : public ::testing::Test {
 protected:
  CredentialStoreTest() {
    dir_ = fs::path(::testing::TempDir()) /
           (std::string("credentials.") +
            ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    file_ = (dir_ / "credentials.json").string();
  }

  static Principal Token(std::string name) {
    Principal holder;
    holder.name = std::move(name);
    holder.role = Role::kControl;
    return holder;
  }
  Principal Session(std::string parent = {}) {
    Principal holder = Token("page");
    holder.is_session = true;
    holder.parent = std::move(parent);
    holder.expires_at = now_ + absl::Hours(12);
    return holder;
  }
  std::unique_ptr<CredentialStore> Open(std::string owner = "owner-token") {
    return std::make_unique<CredentialStore>(file_, owner, now_);
  }
  std::string Content() {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path dir_;
  std::string file_;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
};

TEST_F(CredentialStoreTest, TheFileHasHashesOnlyAndIsPrivate) {
  auto store = Open();
  const IssuedToken issued = *store->Issue(Token("alice"), now_);
  EXPECT_EQ(store->Find(issued.token, now_)->name, "alice");
  const std::string content = Content();
  EXPECT_NE(content.find("alice"), std::string::npos);
  EXPECT_EQ(content.find(issued.token), std::string::npos);
  EXPECT_EQ(content.find("owner-token"), std::string::npos);
  struct stat info {};
  ASSERT_EQ(stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(CredentialStoreTest, TokensAndSessionsOutliveTheServer) {
  std::string token;
  std::string session;
  {
    auto store = Open();
    token = store->Issue(Token("alice"), now_)->token;
    session = store->Issue(Session(), now_)->token;
  }
  auto store = Open();
  EXPECT_EQ(store->warning(), "");
  EXPECT_EQ(store->Find(token, now_)->role, Role::kControl);
  EXPECT_TRUE(store->Find(session, now_)->is_session);
  EXPECT_FALSE(store->Find("other", now_));
  EXPECT_EQ(store->List(now_).size(), 2u);
}

TEST_F(CredentialStoreTest, AnotherOwnersTokenEndsTheOwnersSessions) {
  auto store = Open();
  const std::string token = store->Issue(Token("alice"), now_)->token;
  const IssuedToken session = *store->Issue(Session(), now_);
  const std::string child =
      store->Issue(Session(session.credential.holder.id), now_)->token;
  store = Open("another-token");
  EXPECT_TRUE(store->Find(token, now_));
  EXPECT_FALSE(store->Find(session.token, now_));
  EXPECT_FALSE(store->Find(child, now_));
}

TEST_F(CredentialStoreTest, RevokingEndsEverythingBelow) {
  auto store = Open();
  const IssuedToken alice = *store->Issue(Token("alice"), now_);
  const IssuedToken page =
      *store->Issue(Session(alice.credential.holder.id), now_);
  const IssuedToken tab =
      *store->Issue(Session(page.credential.holder.id), now_);
  const IssuedToken other = *store->Issue(Session(), now_);
  EXPECT_EQ(ReasonOf(store->Revoke("nothing")), "unknown_token");
  // The parent of the owner's sessions.
  EXPECT_EQ(ReasonOf(store->Revoke("")), "unknown_token");
  ASSERT_TRUE(store->Revoke(alice.credential.holder.id).ok());
  for (const IssuedToken* ended : {&alice, &page, &tab}) {
    EXPECT_FALSE(store->Find(ended->token, now_));
    EXPECT_FALSE(store->IsValid(ended->credential.holder.id, now_));
  }
  EXPECT_TRUE(store->Find(other.token, now_));
  store = Open();
  EXPECT_FALSE(store->Find(tab.token, now_));
  EXPECT_TRUE(store->Find(other.token, now_));
}

TEST_F(CredentialStoreTest, CredentialsExpire) {
  auto store = Open();
  const IssuedToken session = *store->Issue(Session(), now_);
  const absl::Time end = now_ + absl::Hours(12);
  EXPECT_TRUE(store->Find(session.token, end - absl::Seconds(1)));
  EXPECT_FALSE(store->Find(session.token, end));
  EXPECT_FALSE(store->IsValid(session.credential.holder.id, end));
  EXPECT_TRUE(store->List(end).empty());
  now_ = end;
  EXPECT_TRUE(Open()->List(end).empty());
}

TEST_F(CredentialStoreTest, ATokenThatCannotBeKeptIsNotIssued) {
  file_ = (dir_ / "missing" / "credentials.json").string();
  auto store = Open();
  EXPECT_EQ(ReasonOf(store->Issue(Token("alice"), now_).status()), "not_kept");
  EXPECT_TRUE(store->List(now_).empty());
  // Users must be able to log in while the disk is full.
  EXPECT_TRUE(store->Issue(Session(), now_).ok());
}

TEST_F(CredentialStoreTest, AFileThatCannotBeUsedIsAWarning) {
  for (const char* content :
       {"", "[]", "{}", "{\"version\": 2}",
        "{\"version\": 1, \"owner_sha256\": \"\", \"credentials\": [{}]}"}) {
    std::ofstream(file_) << content;
    fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
    auto store = Open();
    EXPECT_NE(store->warning().find(file_), std::string::npos) << content;
    EXPECT_TRUE(store->List(now_).empty());
  }
  fs::remove(file_);
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  auto store = Open();
  EXPECT_NE(store->warning(), "");
  EXPECT_TRUE(store->Issue(Token("alice"), now_).ok());
  EXPECT_TRUE(fs::is_regular_file(file_));
}

TEST_F(CredentialStoreTest, TheOldestSessionGivesWay) {
  CredentialStore store("", "owner-token", now_);
  const IssuedToken token = *store.Issue(Token("alice"), now_);
  const IssuedToken first = *store.Issue(Session(), now_);
  const IssuedToken second = *store.Issue(Session(), now_);
  for (int i = 0; i < 999; ++i) ASSERT_TRUE(store.Issue(Session(), now_).ok());
  EXPECT_FALSE(store.Find(first.token, now_));
  EXPECT_TRUE(store.Find(second.token, now_));
  EXPECT_TRUE(store.Find(token.token, now_));
}

TEST_F(CredentialStoreTest, TheNumberOfTokensIsLimited) {
  CredentialStore store("", "owner-token", now_);
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(store.Issue(Token("alice"), now_).ok());
  }
  EXPECT_EQ(ReasonOf(store.Issue(Token("alice"), now_).status()),
            "too_many_tokens");
}

}  // namespace
}  // namespace graphdbg::auth
