// The server's version. Keep it equal to the one in
// agent/python/graphdbg/__init__.py.
#ifndef SERVER_MAIN_VERSION_H_
#define SERVER_MAIN_VERSION_H_

namespace graphdbg {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace graphdbg

#endif  // SERVER_MAIN_VERSION_H_
