#include "server/audit/audit_log.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "proto/wire/status_macros.h"
#include "server/audit/log_file.h"
#include "server/base/error.h"

namespace graphdbg::audit {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxPending = 1'000;
constexpr size_t kMaxTextBytes = 1'024;
constexpr size_t kMaxRepeated = 10'000;
constexpr absl::Duration kRepeatInterval = absl::Minutes(1);

std::string Shortened(const std::string& text) {
  return text.size() <= kMaxTextBytes ? text
                                      : text.substr(0, kMaxTextBytes) + "...";
}

std::string LineOf(const Entry& entry, absl::Time now) {
  const Json json = {{"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", now,
                                               absl::UTCTimeZone())},
                     {"who", Shortened(entry.who)},
                     {"role", entry.role},
                     {"from", Shortened(entry.from)},
                     {"action", entry.action},
                     {"job", Shortened(entry.job)},
                     {"detail", Shortened(entry.detail)},
                     {"result", entry.result}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string CursorOf(const LogFile::Position& position) {
  if (position.file == 0) return {};
  return absl::StrCat(position.file, ":", position.offset);
}

absl::StatusOr<LogFile::Position> ParseCursor(std::string_view cursor) {
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(cursor.data(), cursor.size()), ':');
  LogFile::Position position;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &position.file) ||
      !absl::SimpleAtoi(parts[1], &position.offset)) {
    return WithField(Error(absl::StatusCode::kInvalidArgument, "bad_cursor",
                           "the cursor is not one of the audit log's"),
                     "cursor");
  }
  return position;
}

// "10.0.0.7" for "10.0.0.7:40312".
std::string HostOf(const std::string& from) {
  return from.substr(0, from.rfind(':'));
}

}  // namespace

AuditLog::AuditLog(Options options) : options_(std::move(options)) {}

AuditLog::~AuditLog() = default;

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(Options options) {
  if (!options.now) options.now = absl::Now;
  std::unique_ptr<AuditLog> log(new AuditLog(std::move(options)));
  absl::MutexLock lock(&log->mu_);
  ASSIGN_OR_RETURN(
      log->file_, LogFile::Open(log->options_.dir, log->options_.max_file_bytes,
                                log->options_.max_old_files));
  return log;
}

void AuditLog::Record(const Entry& entry) {
  absl::MutexLock lock(&mu_);
  Append(entry);
}

void AuditLog::RecordRefused(Entry entry) {
  absl::MutexLock lock(&mu_);
  AppendWithin(refused_, std::move(entry));
}

void AuditLog::RecordRepeated(Entry entry) {
  absl::MutexLock lock(&mu_);
  const absl::Time now = options_.now();
  // Nobody needs to know for longer whether an entry is a repetition.
  if (repeated_.size() >= kMaxRepeated) repeated_.clear();
  const Subject subject = {entry.who, HostOf(entry.from), entry.action,
                           entry.job,
                           absl::StrCat(entry.detail, "\n", entry.result)};
  absl::Time& last =
      repeated_.try_emplace(subject, absl::InfinitePast()).first->second;
  if (now - last < kRepeatInterval && now >= last) return;
  last = now;
  AppendWithin(repeating_, std::move(entry));
}

void AuditLog::AppendWithin(Quota& quota, Entry entry) {
  const absl::Time now = options_.now();
  if (now - quota.minute >= absl::Minutes(1) || now < quota.minute) {
    quota.minute = now;
    quota.used = 0;
  }
  if (quota.used == quota.per_minute) {
    ++quota.unrecorded;
    return;
  }
  ++quota.used;
  if (const uint64_t others = std::exchange(quota.unrecorded, 0)) {
    absl::StrAppend(&entry.detail, entry.detail.empty() ? "" : "; ", others,
                    " more before this one");
  }
  Append(entry);
}

void AuditLog::Append(const Entry& entry) {
  if (pending_.size() == kMaxPending) {
    ++dropped_;
    return Flush();
  }
  pending_.push_back(LineOf(entry, options_.now()));
  Flush();
}

void AuditLog::Flush() {
  while (!pending_.empty()) {
    const absl::Status written = file_->Append(pending_.front());
    if (!written.ok()) {
      if (!std::exchange(failing_, true) && options_.log) {
        options_.log(absl::StrCat("error: the audit log is not written: ",
                                  std::string(written.message())));
      }
      return;
    }
    pending_.pop_front();
  }
  if (!std::exchange(failing_, false)) return;
  const uint64_t dropped = std::exchange(dropped_, 0);
  if (dropped > 0) {
    Entry entry;
    entry.action = "audit";
    entry.detail =
        absl::StrCat(dropped, " entries before this one are missing");
    entry.result = "not_kept";
    pending_.push_back(LineOf(entry, options_.now()));
    Flush();
  }
  if (options_.log) {
    options_.log(absl::StrCat("the audit log is written again; ", dropped,
                              " entries are missing"));
  }
}

absl::StatusOr<AuditLog::Page> AuditLog::Read(uint32_t limit,
                                              std::string_view cursor) const {
  LogFile::Position position;
  if (!cursor.empty()) {
    ASSIGN_OR_RETURN(position, ParseCursor(cursor));
  }
  absl::MutexLock lock(&mu_);
  const LogFile::Position end = file_->end();
  if (cursor.empty()) position = end;
  if (position.file > end.file) {
    return ParseCursor("").status();
  }
  Page page;
  page.entries = file_->ReadBefore(position, limit);
  page.next_cursor = CursorOf(position);
  return page;
}

}  // namespace graphdbg::audit
