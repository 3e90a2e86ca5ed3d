// Text from jobs and clients, for terminals.
#ifndef SERVER_BASE_VISIBLE_TEXT_H_
#define SERVER_BASE_VISIBLE_TEXT_H_

#include <string>
#include <string_view>

namespace graphdbg {

// Replaces characters that are invisible, that control a terminal or that
// change the direction of the text around them by their code points, as
// "⟨U+001B⟩", and bytes that are not UTF-8 by "⟨9B⟩". Line breaks count as such
// characters: the result is one line. The page does the same
// (webui/src/base/visible.ts).
std::string VisibleText(std::string_view text);

}  // namespace graphdbg

#endif  // SERVER_BASE_VISIBLE_TEXT_H_
