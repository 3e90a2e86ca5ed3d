// Detects the end of another process.
#ifndef SERVER_MAIN_PARENT_WATCH_H_
#define SERVER_MAIN_PARENT_WATCH_H_

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <functional>

namespace graphdbg {

// Calls `on_exit` once, on `executor`, when the process ends, or immediately if
// it does not exist.
void WatchProcess(boost::asio::any_io_executor executor, pid_t process,
                  std::function<void()> on_exit);

}  // namespace graphdbg

#endif  // SERVER_MAIN_PARENT_WATCH_H_
