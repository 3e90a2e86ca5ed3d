// The page's files, packed into the program by //tools/assets.
#ifndef SERVER_HTTP_ASSETS_H_
#define SERVER_HTTP_ASSETS_H_

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/http/message.h"

namespace graphdbg::http {

// Constant after Parse: safe from any thread.
class Assets {
 public:
  // `pack` must outlive the result and every response made from it.
  // INVALID_ARGUMENT if it is not a pack.
  static absl::StatusOr<Assets> Parse(std::string_view pack);

  // Answers GET and HEAD for a file, "/" being "/index.html": 200, 304 or 404.
  Response Serve(const Request& request) const;

 private:
  struct Asset {
    std::string content_type;
    std::string hash;
    // The name changes with the content.
    bool immutable = false;
    // By encoding, as in kEncodings; null data where there is none.
    std::array<std::string_view, 3> bytes;
  };

  // By path, as "/assets/index-Cz1xW9aa.js".
  std::map<std::string, Asset, std::less<>> assets_;
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_ASSETS_H_
