#pragma once

#include <chrono>

namespace graphdbg::integration {

// How long a test waits for what must come. Threads that ThreadSanitizer
// watches take ten times as long, and a graph of 100,000 nodes half a minute.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr std::chrono::seconds kPatience(300);
#else
inline constexpr std::chrono::seconds kPatience(30);
#endif

// gRPC's threads are not watched, so that ThreadSanitizer takes each byte that
// they hand over for a race. It passes over those, but looks at each first.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kMegabytesTakeMinutes = true;
#else
inline constexpr bool kMegabytesTakeMinutes = false;
#endif

}  // namespace graphdbg::integration
