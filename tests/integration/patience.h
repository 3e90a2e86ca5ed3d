#pragma once

#include <chrono>

namespace graphdbg::integration {

// How long tests wait for expected events. Under ThreadSanitizer everything
// takes ten times as long, and a graph of 100,000 nodes takes half a minute.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr std::chrono::seconds kPatience(300);
#else
inline constexpr std::chrono::seconds kPatience(30);
#endif

// gRPC is not instrumented, so ThreadSanitizer considers each byte that its
// threads pass on to be a race. These reports are suppressed, but checking them
// takes time.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kMegabytesTakeMinutes = true;
#else
inline constexpr bool kMegabytesTakeMinutes = false;
#endif

}  // namespace graphdbg::integration
