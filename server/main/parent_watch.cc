#include "server/main/parent_watch.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <utility>

namespace graphdbg {
namespace {

namespace asio = boost::asio;

// Used on kernels without pidfd_open.
constexpr std::chrono::seconds kPollInterval{1};

asio::awaitable<void> Watch(asio::any_io_executor executor, pid_t process,
                            std::function<void()> on_exit) {
  boost::system::error_code ec;
  int fd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (fd >= 0) {
    // The descriptor becomes readable when the process ends.
    asio::posix::stream_descriptor descriptor(executor, fd);
    co_await descriptor.async_wait(
        asio::posix::stream_descriptor::wait_read,
        asio::redirect_error(asio::use_awaitable, ec));
    if (!ec) on_exit();
    co_return;
  }
  asio::steady_timer timer(executor);
  while (kill(process, 0) == 0 || errno == EPERM) {
    timer.expires_after(kPollInterval);
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    if (ec) co_return;
  }
  on_exit();
}

}  // namespace

void WatchProcess(asio::any_io_executor executor, pid_t process,
                  std::function<void()> on_exit) {
  asio::co_spawn(executor, Watch(executor, process, std::move(on_exit)),
                 asio::detached);
}

}  // namespace graphdbg
