// Bodies and queries of HTTP requests. Every rejected input must get an error
// message.
//
// An input consists of one byte, which selects the decoder, and the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "absl/status/status.h"
#include "server/api/decode.h"
#include "server/http/header_lists.h"
#include "server/http/url_decoding.h"

namespace graphdbg::api {
namespace {

void NeedsReason(const absl::Status& status) {
  if (!status.ok() && status.message().empty()) std::abort();
}

void Take(uint8_t kind, std::string_view text) {
  switch (kind % 8) {
    case 0:
      return NeedsReason(DecodeControl(text).status());
    case 1:
      return NeedsReason(DecodeCondition(text).status());
    case 2:
      return NeedsReason(DecodeWatchpoint(text).status());
    case 3:
      return NeedsReason(
          DecodeWatchpointChange(text, model::WatchpointSpec()).status());
    case 4:
      return NeedsReason(DecodeCatch(text).status());
    case 5:
      return NeedsReason(DecodeLogin(text).status());
    case 7:
      return NeedsReason(DecodeCheck(text).status());
    default:
      http::ParseQuery(text);
      http::PercentDecode(text, false);
      http::ListsToken(text, "gzip");
  }
}

}  // namespace
}  // namespace graphdbg::api

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  graphdbg::api::Take(data[0],
                      {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
