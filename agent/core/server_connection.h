// The state of the agent's connection to its server.
#ifndef AGENT_CORE_SERVER_CONNECTION_H_
#define AGENT_CORE_SERVER_CONNECTION_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "agent/base/mutex.h"
#include "agent/core/host.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::agent {

//              OnWelcome              OnStreamEnded
//   kNever ---------------> kUp ----------------------> kLost
//                            ^                            |
//                            '-------- OnWelcome ---------'
//
// The transport's threads report events, training threads wait for the server
// before the first step, and the agent's thread checks how long the server has
// been lost. All functions are safe on any thread; only WaitUntilReady blocks.
class ServerConnection {
 public:
  enum class Readiness {
    // Connected with all watchpoints, or lost again since; or abandoned.
    kReady,
    kNoServer,
    kInterrupted,
  };

  // `address` is "host:port", for log lines.
  explicit ServerConnection(std::string address)
      : address_(std::move(address)) {}

  const std::string& address() const { return address_; }

  // --- Events of the transport.

  // The server accepted a stream.
  void OnWelcome(const v1::Welcome& welcome) GRAPHDBG_EXCLUDES(mu_);
  // One of the watchpoints that the welcome announced has arrived, whether or
  // not it was valid.
  void OnWatchpoint() GRAPHDBG_EXCLUDES(mu_);
  // Returns the delay until the next attempt; absent once closed. Logs the
  // first loss of a server.
  std::optional<std::chrono::milliseconds> OnStreamEnded()
      GRAPHDBG_EXCLUDES(mu_);

  // --- The program's start.

  // Waits until the server is connected and has sent its watchpoints. `host`
  // is called back around and during the wait, without a lock held.
  Readiness WaitUntilReady(std::chrono::steady_clock::time_point deadline,
                           const Host& host) GRAPHDBG_EXCLUDES(mu_);
  // The program does not wait any longer for its first server: attempts to
  // connect become less frequent.
  void SearchInBackground() GRAPHDBG_EXCLUDES(mu_);
  // Whether the server wants the program to start without a pause.
  bool start_running() const GRAPHDBG_EXCLUDES(mu_);
  // The address of the server's page; empty if it did not send one.
  std::string page_address() const GRAPHDBG_EXCLUDES(mu_);
  // Whether the server lets a program end that stopped at an exception while
  // nobody looks at it.
  bool releases_unattended_errors() const GRAPHDBG_EXCLUDES(mu_);

  // --- The agent's life.

  // Whether a server has accepted a stream so far.
  bool was_accepted() const GRAPHDBG_EXCLUDES(mu_);
  // When the server was lost; absent unless it is lost now.
  std::optional<std::chrono::steady_clock::time_point> lost_since() const
      GRAPHDBG_EXCLUDES(mu_);
  // The agent detaches. Wakes threads that wait for the server.
  void Abandon() GRAPHDBG_EXCLUDES(mu_);
  // The program ends: no further attempts to connect. Returns whether the
  // server is connected.
  bool Close() GRAPHDBG_EXCLUDES(mu_);

 private:
  enum class State { kNever, kUp, kLost };

  // Nothing more to wait for.
  bool Settled() const GRAPHDBG_REQUIRES(mu_);
  // Waits for at most `limit`. Returns whether it is settled.
  bool WaitUntilSettled(std::chrono::milliseconds limit) GRAPHDBG_EXCLUDES(mu_);

  const std::string address_;

  mutable Mutex mu_;
  CondVar changed_;
  State state_ GRAPHDBG_GUARDED_BY(mu_) = State::kNever;
  bool abandoned_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool closed_ GRAPHDBG_GUARDED_BY(mu_) = false;
  std::chrono::steady_clock::time_point lost_since_ GRAPHDBG_GUARDED_BY(mu_);
  bool reported_loss_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool searches_in_background_ GRAPHDBG_GUARDED_BY(mu_) = false;
  std::chrono::milliseconds retry_delay_ GRAPHDBG_GUARDED_BY(mu_){0};
  // From the newest welcome.
  bool start_running_ GRAPHDBG_GUARDED_BY(mu_) = false;
  std::string page_address_ GRAPHDBG_GUARDED_BY(mu_);
  bool releases_unattended_errors_ GRAPHDBG_GUARDED_BY(mu_) = false;
  // Watchpoints that were announced and have not arrived yet.
  uint32_t awaited_watchpoints_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_SERVER_CONNECTION_H_
