#include "server/auth/credential_store.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/auth/private_file.h"
#include "server/auth/tokens.h"
#include "server/base/error.h"

namespace graphdbg::auth {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxTokens = 1'000;
constexpr size_t kMaxSessions = 1'000;
constexpr size_t kMaxFileBytes = 4 << 20;
constexpr int kVersion = 1;
// Stands for a token that does not expire.
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

int64_t ToSeconds(absl::Time time) {
  return time == absl::InfiniteFuture() ? kNever : absl::ToUnixSeconds(time);
}

absl::Time FromSeconds(int64_t seconds) {
  return seconds == kNever ? absl::InfiniteFuture()
                           : absl::FromUnixSeconds(seconds);
}

Json Encode(const Credential& credential, const std::string& hash) {
  const Principal& holder = credential.holder;
  return {{"id", holder.id},
          {"name", holder.name},
          {"role", ToString(holder.role)},
          {"session", holder.is_session},
          {"parent", holder.parent},
          {"created_at", ToSeconds(credential.created_at)},
          {"expires_at", ToSeconds(holder.expires_at)},
          {"sha256", hash}};
}

// Throws nlohmann::json::exception if a field is missing or has another type.
Credential Decode(const Json& json) {
  Credential credential;
  Principal& holder = credential.holder;
  holder.id = json.at("id").get<std::string>();
  holder.name = json.at("name").get<std::string>();
  const auto role = json.at("role").get<std::string>();
  holder.role = ParseRole(role).value_or(Role::kView);
  holder.is_session = json.at("session").get<bool>();
  holder.parent = json.at("parent").get<std::string>();
  credential.created_at = FromSeconds(json.at("created_at").get<int64_t>());
  holder.expires_at = FromSeconds(json.at("expires_at").get<int64_t>());
  return credential;
}

}  // namespace

CredentialStore::CredentialStore(std::string file, std::string_view owner_token,
                                 absl::Time now)
    : file_(std::move(file)), owner_hash_(HashOf(owner_token)) {
  if (file_.empty()) return;
  absl::MutexLock lock(&mu_);
  const absl::Status loaded = Load(now);
  if (loaded.ok() || absl::IsNotFound(loaded)) return;
  records_.clear();
  warning_ =
      absl::StrCat("the named tokens are not valid any more, because their ",
                   "file cannot be used: ", loaded.message());
}

absl::Status CredentialStore::Load(absl::Time now) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadPrivateFile(file_, kMaxFileBytes));
  try {
    const Json json = Json::parse(text);
    if (json.at("version").get<int>() != kVersion) {
      return absl::FailedPreconditionError(file_ +
                                           " was written by another version");
    }
    const bool same_owner =
        SameSecret(json.at("owner_sha256").get<std::string>(), owner_hash_);
    std::set<std::string> ids;
    for (const Json& item : json.at("credentials")) {
      Record record{Decode(item), item.at("sha256").get<std::string>()};
      const Principal& holder = record.credential.holder;
      // Records are in the order of their creation, so a parent is known.
      const bool let_in =
          !holder.is_session ||
          (holder.parent.empty() ? same_owner : ids.count(holder.parent) > 0);
      if (let_in && holder.expires_at > now) {
        ids.insert(holder.id);
        records_.push_back(std::move(record));
      }
    }
  } catch (const Json::exception&) {
    return absl::DataLossError(file_ + " is damaged");
  }
  return absl::OkStatus();
}

absl::Status CredentialStore::Save() const {
  if (file_.empty()) return absl::OkStatus();
  Json credentials = Json::array();
  for (const Record& record : records_) {
    credentials.push_back(Encode(record.credential, record.hash));
  }
  const Json json = {{"version", kVersion},
                     {"owner_sha256", owner_hash_},
                     {"credentials", std::move(credentials)}};
  const absl::Status written = WritePrivateFile(
      file_, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  if (written.ok()) return written;
  return Error(absl::StatusCode::kUnavailable, "not_kept",
               std::string(written.message()));
}

absl::Status CredentialStore::MakeRoom(bool for_session, absl::Time now) {
  std::erase_if(records_, [now](const Record& record) {
    return record.credential.holder.expires_at <= now;
  });
  const auto same_kind = [for_session](const Record& record) {
    return record.credential.holder.is_session == for_session;
  };
  const auto count = static_cast<size_t>(
      std::count_if(records_.begin(), records_.end(), same_kind));
  if (count < (for_session ? kMaxSessions : kMaxTokens)) {
    return absl::OkStatus();
  }
  if (!for_session) {
    return Error(
        absl::StatusCode::kResourceExhausted, "too_many_tokens",
        absl::StrCat("the server has ", kMaxTokens,
                     " named tokens, which is its limit; revoke some first"));
  }
  const auto oldest = std::find_if(records_.begin(), records_.end(), same_kind);
  End(std::string(oldest->credential.holder.id));
  return absl::OkStatus();
}

absl::StatusOr<IssuedToken> CredentialStore::Issue(Principal holder,
                                                   absl::Time now) {
  IssuedToken issued;
  ASSIGN_OR_RETURN(issued.token, RandomToken());
  ASSIGN_OR_RETURN(holder.id, RandomId());
  issued.credential = {std::move(holder), now};
  const bool is_session = issued.credential.holder.is_session;
  absl::MutexLock lock(&mu_);
  RETURN_IF_ERROR(MakeRoom(is_session, now));
  records_.push_back({issued.credential, HashOf(issued.token)});
  const absl::Status saved = Save();
  if (!saved.ok() && !is_session) {
    records_.pop_back();
    return saved;
  }
  return issued;
}

std::optional<Principal> CredentialStore::Find(std::string_view token,
                                               absl::Time now) const {
  const std::string hash = HashOf(token);
  absl::MutexLock lock(&mu_);
  for (const Record& record : records_) {
    const Principal& holder = record.credential.holder;
    if (SameSecret(record.hash, hash)) {
      if (holder.expires_at <= now) return std::nullopt;
      return holder;
    }
  }
  return std::nullopt;
}

bool CredentialStore::IsValid(std::string_view id, absl::Time now) const {
  absl::MutexLock lock(&mu_);
  return std::any_of(records_.begin(), records_.end(),
                     [id, now](const Record& record) {
                       const Principal& holder = record.credential.holder;
                       return holder.id == id && holder.expires_at > now;
                     });
}

std::vector<Credential> CredentialStore::List(absl::Time now) const {
  std::vector<Credential> valid;
  absl::MutexLock lock(&mu_);
  for (const Record& record : records_) {
    if (record.credential.holder.expires_at > now) {
      valid.push_back(record.credential);
    }
  }
  return valid;
}

size_t CredentialStore::End(std::string_view id) {
  size_t ended = 0;
  // Parents come before the sessions that they let in.
  std::set<std::string, std::less<>> ids = {std::string(id)};
  std::erase_if(records_, [&](const Record& record) {
    const Principal& holder = record.credential.holder;
    if (ids.count(holder.id) == 0 && ids.count(holder.parent) == 0) {
      return false;
    }
    ids.insert(holder.id);
    ++ended;
    return true;
  });
  return ended;
}

absl::Status CredentialStore::Revoke(std::string_view id) {
  absl::MutexLock lock(&mu_);
  // The sessions of the data directory's token have an empty parent.
  if (id.empty() || End(id) == 0) {
    return Error(
        absl::StatusCode::kNotFound, "unknown_token",
        absl::StrCat("there is no token or session '", std::string(id), "'"));
  }
  return Save();
}

}  // namespace graphdbg::auth
