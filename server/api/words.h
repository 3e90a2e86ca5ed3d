// The API's words for the session's enumerations, both ways.
#ifndef SERVER_API_WORDS_H_
#define SERVER_API_WORDS_H_

#include <optional>
#include <string>
#include <string_view>

#include "server/model/job.h"

namespace graphdbg::api {

// Specialized for each enumeration that the API shows.
template <class Enum>
std::string_view Word(Enum value);

// Absent if the enumeration has no such word.
template <class Enum>
std::optional<Enum> FromWord(std::string_view word);

// "weight, gradient, activation": for messages about a wrong word.
template <class Enum>
std::string AllWords();

#define GRAPHDBG_DECLARE_WORDS(Enum)                          \
  template <>                                                 \
  std::string_view Word(model::Enum value);                   \
  template <>                                                 \
  std::optional<model::Enum> FromWord(std::string_view word); \
  template <>                                                 \
  std::string AllWords<model::Enum>();

GRAPHDBG_DECLARE_WORDS(JobState)
GRAPHDBG_DECLARE_WORDS(PauseReason)
GRAPHDBG_DECLARE_WORDS(NodeKind)
GRAPHDBG_DECLARE_WORDS(Category)
GRAPHDBG_DECLARE_WORDS(Watched)
GRAPHDBG_DECLARE_WORDS(EdgeKind)
GRAPHDBG_DECLARE_WORDS(PauseMode)
GRAPHDBG_DECLARE_WORDS(Origin)
GRAPHDBG_DECLARE_WORDS(ControlVerb)

#undef GRAPHDBG_DECLARE_WORDS

}  // namespace graphdbg::api

#endif  // SERVER_API_WORDS_H_
