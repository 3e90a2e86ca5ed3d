#pragma once

#include <chrono>

namespace graphdbg::integration {

// How long a test waits for an expected event. Under ThreadSanitizer threads
// are ten times slower, and a graph of 100,000 nodes takes half a minute.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr std::chrono::seconds kPatience(300);
#else
inline constexpr std::chrono::seconds kPatience(30);
#endif

// gRPC's threads are not instrumented, so ThreadSanitizer reports a race for
// every byte that they pass on. These reports are suppressed, but each costs
// time.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kMegabytesTakeMinutes = true;
#else
inline constexpr bool kMegabytesTakeMinutes = false;
#endif

}  // namespace graphdbg::integration
