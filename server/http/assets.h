// The files of the page, which //tools/assets packs into the program.
#ifndef SERVER_HTTP_ASSETS_H_
#define SERVER_HTTP_ASSETS_H_

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/http/message.h"

namespace graphdbg::http {

// Immutable. Any thread may use it.
class Assets {
 public:
  // `pack` must outlive the result and every response made from it. Returns
  // INVALID_ARGUMENT if it is not a valid pack.
  static absl::StatusOr<Assets> Parse(std::string_view pack);

  // Responds to GET or HEAD for a file with 200, 304 or 404. "/" is an alias
  // for "/index.html".
  Response Serve(const Request& request) const;

 private:
  struct Asset {
    std::string content_type;
    std::string hash;
    // The file's name contains a hash of its content.
    bool immutable = false;
    // Indexed like kEncodings. The data is null if the file is not stored in
    // that encoding.
    std::array<std::string_view, 3> bytes;
  };

  // Keyed by path, for example "/assets/index-Cz1xW9aa.js".
  std::map<std::string, Asset, std::less<>> assets_;
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_ASSETS_H_
