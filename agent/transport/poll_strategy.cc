// Has gRPC wait for its descriptors with poll().
//
// Its other way, epoll, keeps two descriptors for the life of the process, even
// after grpc_shutdown(), which a program that the agent has left would find in
// its table. And a forked child would share the set of its parent.
//
// gRPC takes the choice from the environment only, which belongs to the
// program, and must not change while its threads may read it. Therefore the
// linker has gRPC call this file instead of its own GetEnv (BUILD.bazel).
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

extern "C" {

// grpc_core::GetEnv, which is in no public header.
absl::optional<std::string> __real__ZN9grpc_core6GetEnvB5cxx11EPKc(
    const char* name);
absl::optional<std::string> __wrap__ZN9grpc_core6GetEnvB5cxx11EPKc(
    const char* name);

absl::optional<std::string> __wrap__ZN9grpc_core6GetEnvB5cxx11EPKc(
    const char* name) {
  if (absl::string_view(name) == "GRPC_POLL_STRATEGY") return "poll";
  return __real__ZN9grpc_core6GetEnvB5cxx11EPKc(name);
}

}  // extern "C"
