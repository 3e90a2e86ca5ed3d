#include "agent/core/server_connection.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "agent/core/log.h"
#include "proto/wire/capabilities.h"

namespace graphdbg::agent {
namespace {

constexpr auto kFirstRetry = std::chrono::milliseconds(200);
constexpr auto kLastRetry = std::chrono::milliseconds(5000);
// While the program waits for its server at the start, and afterwards.
constexpr auto kSearchRetry = std::chrono::milliseconds(200);
constexpr auto kBackgroundSearchRetry = std::chrono::milliseconds(3000);
constexpr auto kInterruptPoll = std::chrono::milliseconds(50);

}  // namespace

void ServerConnection::OnWelcome(const v1::Welcome& welcome) {
  MutexLock lock(&mu_);
  start_running_ = welcome.start_running();
  page_address_ = welcome.page_address();
  releases_unattended_errors_ =
      absl::c_linear_search(welcome.capabilities(), wire::kUnattendedErrors);
  awaited_watchpoints_ = welcome.watchpoint_count();
  retry_delay_ = kFirstRetry;
  state_ = State::kUp;
  if (std::exchange(reported_loss_, false)) {
    LogToStderr("reconnected to the server");
  }
  if (std::exchange(searches_in_background_, false)) {
    LogToStderr(absl::StrCat("found a server at ", address_));
  }
  changed_.NotifyAll();
}

void ServerConnection::OnWatchpoint() {
  MutexLock lock(&mu_);
  if (awaited_watchpoints_ == 0 || --awaited_watchpoints_ > 0) return;
  changed_.NotifyAll();
}

std::optional<std::chrono::milliseconds> ServerConnection::OnStreamEnded() {
  MutexLock lock(&mu_);
  if (closed_) return std::nullopt;
  if (state_ == State::kNever) {
    return searches_in_background_ ? kBackgroundSearchRetry : kSearchRetry;
  }
  if (state_ == State::kUp) {
    state_ = State::kLost;
    lost_since_ = std::chrono::steady_clock::now();
    retry_delay_ = kFirstRetry;
    changed_.NotifyAll();
    if (!std::exchange(reported_loss_, true)) {
      LogToStderr(absl::StrCat("lost the connection to the server at ",
                               address_,
                               "; the program continues while graphdbg tries "
                               "to reconnect"));
    }
  }
  return std::exchange(retry_delay_, std::min(retry_delay_ * 2, kLastRetry));
}

bool ServerConnection::Settled() const {
  return (state_ == State::kUp && awaited_watchpoints_ == 0) ||
         state_ == State::kLost || abandoned_ || closed_;
}

bool ServerConnection::WaitUntilSettled(std::chrono::milliseconds limit) {
  MutexLock lock(&mu_);
  if (!Settled()) changed_.WaitFor(&mu_, limit);
  return Settled();
}

ServerConnection::Readiness ServerConnection::WaitUntilReady(
    std::chrono::steady_clock::time_point deadline, const Host& host) {
  if (!WaitUntilSettled(std::chrono::milliseconds(0))) {
    void* const token = host.BeginWait();
    bool interrupted = false;
    while (!interrupted && std::chrono::steady_clock::now() < deadline &&
           !WaitUntilSettled(kInterruptPoll)) {
      interrupted = host.Interrupted(token);
    }
    host.EndWait(token);
    if (interrupted) return Readiness::kInterrupted;
  }
  MutexLock lock(&mu_);
  return state_ == State::kNever && !abandoned_ ? Readiness::kNoServer
                                                : Readiness::kReady;
}

void ServerConnection::SearchInBackground() {
  MutexLock lock(&mu_);
  searches_in_background_ = state_ == State::kNever;
}

bool ServerConnection::start_running() const {
  MutexLock lock(&mu_);
  return start_running_;
}

bool ServerConnection::releases_unattended_errors() const {
  MutexLock lock(&mu_);
  return releases_unattended_errors_;
}

std::string ServerConnection::page_address() const {
  MutexLock lock(&mu_);
  return page_address_;
}

bool ServerConnection::was_accepted() const {
  MutexLock lock(&mu_);
  return state_ != State::kNever;
}

std::optional<std::chrono::steady_clock::time_point>
ServerConnection::lost_since() const {
  MutexLock lock(&mu_);
  if (state_ != State::kLost) return std::nullopt;
  return lost_since_;
}

void ServerConnection::Abandon() {
  MutexLock lock(&mu_);
  abandoned_ = true;
  changed_.NotifyAll();
}

bool ServerConnection::Close() {
  MutexLock lock(&mu_);
  closed_ = true;
  changed_.NotifyAll();
  return state_ == State::kUp;
}

}  // namespace graphdbg::agent
