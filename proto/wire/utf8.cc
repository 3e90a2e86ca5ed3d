#include "proto/wire/utf8.h"

#include <cstdint>

namespace graphdbg::wire {
namespace {

bool IsContinuation(unsigned char c) { return (c & 0xC0) == 0x80; }

// Length in bytes of the character at the start of `text`; 0 if it is invalid.
size_t CharacterLength(absl::string_view text) {
  const auto byte = [&](size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  size_t length;
  uint32_t code;
  if ((lead & 0xE0) == 0xC0) {
    length = 2;
    code = lead & 0x1F;
  } else if ((lead & 0xF0) == 0xE0) {
    length = 3;
    code = lead & 0x0F;
  } else if ((lead & 0xF8) == 0xF0) {
    length = 4;
    code = lead & 0x07;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(byte(i))) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[length] || surrogate || code > 0x10FFFF) return 0;
  return length;
}

}  // namespace

std::string ToValidUtf8(absl::string_view text, size_t max_bytes) {
  std::string valid;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const absl::string_view piece =
        length > 0 ? text.substr(0, length) : absl::string_view("\xEF\xBF\xBD");
    if (valid.size() + piece.size() > max_bytes) break;
    valid.append(piece.data(), piece.size());
    text.remove_prefix(length > 0 ? length : 1);
  }
  return valid;
}

}  // namespace graphdbg::wire
