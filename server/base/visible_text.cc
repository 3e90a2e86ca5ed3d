#include "server/base/visible_text.h"

#include <cstdint>
#include <cstdio>
#include <optional>

namespace graphdbg {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
};

// Decodes the first character. Absent if the text does not begin with UTF-8.
std::optional<Character> Decode(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return Character{first, 1};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return std::nullopt;
  uint32_t code = first & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return std::nullopt;
    code = (code << 6) | (next & 0x3Fu);
  }
  const bool overlong =
      (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF) return std::nullopt;
  return Character{code, bytes};
}

bool IsUnseen(uint32_t code) {
  constexpr struct {
    uint32_t first;
    uint32_t last;
  } kRanges[] = {
      // Control characters C0, DEL and C1.
      {0x0000, 0x001F},
      {0x007F, 0x009F},
      // Soft hyphen, zero-width and bidirectional characters, separators.
      {0x00AD, 0x00AD},
      {0x061C, 0x061C},
      {0x200B, 0x200F},
      {0x2028, 0x202E},
      {0x2060, 0x206F},
      {0xFEFF, 0xFEFF},
      {0xFFF9, 0xFFFB},
  };
  for (const auto& range : kRanges) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

}  // namespace

std::string VisibleText(std::string_view text) {
  std::string visible;
  visible.reserve(text.size());
  while (!text.empty()) {
    const auto character = Decode(text);
    char written[24];
    if (!character) {
      std::snprintf(written, sizeof written, "⟨%02X⟩",
                    static_cast<unsigned>(static_cast<unsigned char>(text[0])));
      visible += written;
    } else if (IsUnseen(character->code)) {
      std::snprintf(written, sizeof written, "⟨U+%04X⟩",
                    static_cast<unsigned>(character->code));
      visible += written;
    } else {
      visible += text.substr(0, character->bytes);
    }
    text.remove_prefix(character ? character->bytes : 1);
  }
  return visible;
}

}  // namespace graphdbg
