// Notices the end of another process.
#ifndef SERVER_MAIN_PARENT_WATCH_H_
#define SERVER_MAIN_PARENT_WATCH_H_

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <functional>

namespace graphdbg {

// Calls `gone` on `executor`, once, when the process has ended; at once if
// there is none.
void WatchProcess(boost::asio::any_io_executor executor, pid_t process,
                  std::function<void()> gone);

}  // namespace graphdbg

#endif  // SERVER_MAIN_PARENT_WATCH_H_
