#include "server/imports/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::imports {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr size_t kMaxErrorBytes = 4096;
constexpr int kStandardDescriptors = 3;

auto Into(error_code& ec) {
  return asio::redirect_error(asio::use_awaitable, ec);
}

absl::Status CannotStart(const std::string& program, int error) {
  return Error(
      absl::StatusCode::kUnavailable, "cannot_start",
      absl::StrCat("cannot start ", program, ": ", std::strerror(error)));
}

// As exec takes them; valid as long as the texts.
std::vector<char*> PointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Sockets instead of pipes, because writing to a closed socket raises no
// signal.
struct SocketPair {
  int ours = -1;
  int theirs = -1;

  bool Open() {
    int both[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0) {
      return false;
    }
    ours = both[0];
    theirs = both[1];
    return true;
  }
  ~SocketPair() {
    for (int end : {ours, theirs}) {
      if (end >= 0) close(end);
    }
  }
  int TakeOurs() { return std::exchange(ours, -1); }
};

class Child : public std::enable_shared_from_this<Child> {
 public:
  using Socket = asio::local::stream_protocol::socket;

  Child(asio::any_io_executor executor, ChildLimits limits)
      : limits_(limits),
        input_(executor),
        output_(executor),
        errors_(executor),
        ended_(executor),
        timer_(executor) {}

  ~Child() {
    if (pid_ <= 0) return;
    Kill();
    waitpid(pid_, nullptr, 0);
  }

  absl::Status Start(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment) {
    SocketPair pairs[3];
    for (SocketPair& pair : pairs) {
      if (!pair.Open()) return CannotStart(command[0], errno);
    }
    std::vector<char*> arguments = PointersTo(command);
    std::vector<char*> variables = PointersTo(environment);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < kStandardDescriptors; ++i) {
      posix_spawn_file_actions_adddup2(&actions, pairs[i].theirs, i);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, kStandardDescriptors);
    const int error = posix_spawn(&pid_, arguments[0], &actions, nullptr,
                                  arguments.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      pid_ = -1;
      return CannotStart(command[0], error);
    }
    Socket* ours[] = {&input_, &output_, &errors_};
    for (int i = 0; i < kStandardDescriptors; ++i) {
      ours[i]->assign(asio::local::stream_protocol(), pairs[i].TakeOurs());
    }
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    if (handle < 0) return CannotStart(command[0], errno);
    ended_.assign(handle);
    StartTimer();
    return absl::OkStatus();
  }

  asio::awaitable<absl::StatusOr<ChildEnd>> Run(http::NextPiece input) {
    using asio::experimental::awaitable_operators::operator&&;
    co_await (Feed(std::move(input)) && Collect(output_, end_.output, true) &&
              Collect(errors_, end_.errors, false));
    error_code ec;
    co_await ended_.async_wait(asio::posix::descriptor_base::wait_read,
                               Into(ec));
    timer_.cancel();
    if (ec) Kill();
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    if (!failure_.ok()) co_return failure_;
    end_.exit_code =
        WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    co_return std::move(end_);
  }

 private:
  void StartTimer() {
    timer_.expires_after(limits_.deadline);
    timer_.async_wait([weak = weak_from_this()](error_code ec) {
      auto self = weak.lock();
      if (ec || self == nullptr) return;
      self->Fail(Error(absl::StatusCode::kDeadlineExceeded, "too_slow",
                       absl::StrCat("the program took more than ",
                                    self->limits_.deadline.count(), " ms")));
    });
  }

  void Fail(absl::Status why) {
    if (failure_.ok()) failure_ = std::move(why);
    Kill();
    // A process that the program started may hold the other ends open.
    error_code ignored;
    output_.close(ignored);
    errors_.close(ignored);
  }

  void Kill() {
    if (pid_ > 0) kill(pid_, SIGKILL);
  }

  asio::awaitable<void> Feed(http::NextPiece next) {
    error_code ec;
    absl::StatusOr<std::string> piece = co_await next();
    while (piece.ok() && !piece->empty()) {
      co_await asio::async_write(input_, asio::buffer(*piece), Into(ec));
      if (ec) break;
      piece = co_await next();
    }
    if (!piece.ok()) Fail(piece.status());
    input_.close(ec);
  }

  // Output beyond the limit is an error; error text beyond its limit is
  // dropped.
  asio::awaitable<void> Collect(Socket& from, std::string& to, bool is_output) {
    const uint64_t most = is_output ? limits_.max_output_bytes : kMaxErrorBytes;
    std::string piece(size_t{64} << 10, '\0');
    error_code ec;
    while (true) {
      const size_t got =
          co_await from.async_read_some(asio::buffer(piece), Into(ec));
      if (ec) co_return;
      if (to.size() + got <= most) {
        to.append(piece, 0, got);
      } else if (is_output) {
        Fail(Error(
            absl::StatusCode::kResourceExhausted, "graph_too_large",
            absl::StrCat("the program's output exceeds ", most, " bytes")));
      }
    }
  }

  const ChildLimits limits_;
  pid_t pid_ = -1;
  Socket input_, output_, errors_;
  // Becomes readable when the process ends.
  asio::posix::stream_descriptor ended_;
  asio::steady_timer timer_;
  absl::Status failure_;
  ChildEnd end_;
};

}  // namespace

asio::awaitable<absl::StatusOr<ChildEnd>> RunChild(
    std::vector<std::string> command, http::NextPiece input, ChildLimits limits,
    std::vector<std::string> environment) {
  auto child =
      std::make_shared<Child>(co_await asio::this_coro::executor, limits);
  const absl::Status started = child->Start(command, environment);
  if (!started.ok()) co_return started;
  co_return co_await child->Run(std::move(input));
}

}  // namespace graphdbg::imports
