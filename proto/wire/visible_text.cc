#include "proto/wire/visible_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

#include "absl/strings/str_format.h"
#include "proto/wire/utf8.h"

namespace graphdbg::wire {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Control characters, and characters that have no width or that change the
// direction of text. As in the page (webui/src/words/visible.ts), with the
// invisible tags of U+E0000.
constexpr Range kUnseen[] = {
    {0x0000, 0x001F}, {0x007F, 0x009F},  {0x00AD, 0x00AD}, {0x061C, 0x061C},
    {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
    {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};

bool IsUnseen(uint32_t code) {
  return std::any_of(std::begin(kUnseen), std::end(kUnseen), [&](Range range) {
    return code >= range.first && code <= range.last;
  });
}

size_t LengthOf(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xE0) return 2;
  return lead < 0xF0 ? 3 : 4;
}

// `character` is valid UTF-8.
uint32_t CodeOf(absl::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead;
  uint32_t code = lead & (0x7F >> character.size());
  for (char c : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  }
  return code;
}

}  // namespace

std::string VisibleText(absl::string_view text) {
  const std::string valid =
      ToValidUtf8(text, std::numeric_limits<size_t>::max());
  std::string visible;
  visible.reserve(valid.size());
  for (absl::string_view rest = valid; !rest.empty();) {
    const absl::string_view character =
        rest.substr(0, LengthOf(static_cast<unsigned char>(rest[0])));
    rest.remove_prefix(character.size());
    const uint32_t code = CodeOf(character);
    if (IsUnseen(code)) {
      absl::StrAppendFormat(&visible, "\u27E8U+%04X\u27E9", code);
    } else {
      visible.append(character.data(), character.size());
    }
  }
  return visible;
}

}  // namespace graphdbg::wire
