// Propagation of absl::Status, for agent and server.
#ifndef PROTO_WIRE_STATUS_MACROS_H_
#define PROTO_WIRE_STATUS_MACROS_H_

#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Evaluates `expr`, an absl::Status, and returns it from the enclosing function
// unless it is OK. The function returns absl::Status or absl::StatusOr.
//
//   RETURN_IF_ERROR(file.Sync());
#define RETURN_IF_ERROR(expr)                         \
  do {                                                \
    absl::Status graphdbg_status_ = (expr);           \
    if (ABSL_PREDICT_FALSE(!graphdbg_status_.ok())) { \
      return graphdbg_status_;                        \
    }                                                 \
  } while (false)

// Evaluates `expr`, an absl::StatusOr. Assigns its value to `lhs`, which may
// declare a variable, or returns its status from the enclosing function.
//
//   ASSIGN_OR_RETURN(const Shape shape, ParseShape(text));
//   ASSIGN_OR_RETURN(shape_, ParseShape(text));
//
// Expands to several statements, so it cannot be the body of an `if` without
// braces. A `lhs` with a comma, such as a structured binding, needs a `using`
// or a variable of its own.
#define ASSIGN_OR_RETURN(lhs, ...)                                        \
  GRAPHDBG_ASSIGN_OR_RETURN_IMPL_(                                        \
      GRAPHDBG_STATUS_MACROS_CONCAT_(graphdbg_status_or_, __LINE__), lhs, \
      (__VA_ARGS__))

// The same for coroutines, whose result is an absl::Status or absl::StatusOr.
// `expr` may contain co_await.
//
//   CO_ASSIGN_OR_RETURN(const Reply reply, co_await client.Fetch(request));
#define CO_RETURN_IF_ERROR(expr)                      \
  do {                                                \
    absl::Status graphdbg_status_ = (expr);           \
    if (ABSL_PREDICT_FALSE(!graphdbg_status_.ok())) { \
      co_return graphdbg_status_;                     \
    }                                                 \
  } while (false)

#define CO_ASSIGN_OR_RETURN(lhs, ...)                                     \
  GRAPHDBG_CO_ASSIGN_OR_RETURN_IMPL_(                                     \
      GRAPHDBG_STATUS_MACROS_CONCAT_(graphdbg_status_or_, __LINE__), lhs, \
      (__VA_ARGS__))

#define GRAPHDBG_ASSIGN_OR_RETURN_IMPL_(result, lhs, expr) \
  auto result = expr;                                      \
  if (ABSL_PREDICT_FALSE(!result.ok())) {                  \
    return std::move(result).status();                     \
  }                                                        \
  lhs = *std::move(result)

#define GRAPHDBG_CO_ASSIGN_OR_RETURN_IMPL_(result, lhs, expr) \
  auto result = expr;                                         \
  if (ABSL_PREDICT_FALSE(!result.ok())) {                     \
    co_return std::move(result).status();                     \
  }                                                           \
  lhs = *std::move(result)

#define GRAPHDBG_STATUS_MACROS_CONCAT_(a, b) \
  GRAPHDBG_STATUS_MACROS_CONCAT_IMPL_(a, b)
#define GRAPHDBG_STATUS_MACROS_CONCAT_IMPL_(a, b) a##b

#endif  // PROTO_WIRE_STATUS_MACROS_H_
