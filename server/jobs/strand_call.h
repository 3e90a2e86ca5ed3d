// Lets a coroutine run work on another executor and resume on its own.
#ifndef SERVER_JOBS_STRAND_CALL_H_
#define SERVER_JOBS_STRAND_CALL_H_

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <utility>

namespace graphdbg::jobs {

// Runs `start(complete)` on `executor`. The coroutine resumes on its own
// executor once any thread has called `complete(result)`. Until then the
// coroutine's executor counts as busy.
template <class R, class Executor, class Start>
boost::asio::awaitable<R> StartOn(Executor executor, Start start) {
  namespace asio = boost::asio;
  auto initiate = [](auto handler, Executor executor, Start start) {
    auto caller = asio::get_associated_executor(handler, executor);
    // Shared because std::function must be copyable.
    struct Waiting {
      decltype(handler) resume;
      asio::executor_work_guard<decltype(caller)> busy;
    };
    auto waiting = std::make_shared<Waiting>(
        Waiting{std::move(handler), asio::make_work_guard(caller)});
    std::function<void(R)> complete = [waiting](R result) {
      auto where = waiting->busy.get_executor();
      asio::dispatch(where, [waiting, result = std::move(result)]() mutable {
        auto resume = std::move(waiting->resume);
        waiting->busy.reset();
        std::move(resume)(std::move(result));
      });
    };
    asio::post(executor, [start = std::move(start),
                          complete = std::move(complete)]() mutable {
      start(std::move(complete));
    });
  };
  return asio::async_initiate<const asio::use_awaitable_t<>, void(R)>(
      std::move(initiate), asio::use_awaitable, std::move(executor),
      std::move(start));
}

// Runs `work()` on `executor` and returns its result to the coroutine.
template <class R, class Executor, class Work>
boost::asio::awaitable<R> CallOn(Executor executor, Work work) {
  return StartOn<R>(
      std::move(executor),
      [work = std::move(work)](std::function<void(R)> complete) mutable {
        complete(work());
      });
}

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_STRAND_CALL_H_
