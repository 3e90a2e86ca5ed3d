// Text from other programs, made safe for terminals and log files.
#ifndef PROTO_WIRE_VISIBLE_TEXT_H_
#define PROTO_WIRE_VISIBLE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphdbg::wire {

// Replaces each character that would control a terminal, that cannot be seen,
// or that changes the direction of the text around it, by its code point:
// "a⟨U+001B⟩[2J". Bytes that are not UTF-8 become U+FFFD.
std::string VisibleText(absl::string_view text);

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_VISIBLE_TEXT_H_
