#include "server/api/words.h"

#include <span>

namespace graphdbg::api {
namespace {

template <class Enum>
struct Row {
  Enum value;
  std::string_view word;
};

constexpr Row<model::JobState> kJobStates[] = {
    {model::JobState::kConnecting, "connecting"},
    {model::JobState::kPaused, "paused"},
    {model::JobState::kRunning, "running"},
    {model::JobState::kPausing, "pausing"},
    {model::JobState::kFinished, "finished"},
    {model::JobState::kTerminated, "terminated"},
    {model::JobState::kLost, "lost"}};
constexpr Row<model::PauseReason> kPauseReasons[] = {
    {model::PauseReason::kNone, "none"},
    {model::PauseReason::kStart, "start"},
    {model::PauseReason::kStep, "step"},
    {model::PauseReason::kNode, "node"},
    {model::PauseReason::kWatchpoint, "watchpoint"},
    {model::PauseReason::kUser, "user"},
    {model::PauseReason::kError, "error"}};
constexpr Row<model::NodeKind> kNodeKinds[] = {
    {model::NodeKind::kScope, "scope"},
    {model::NodeKind::kOp, "op"},
    {model::NodeKind::kParameter, "parameter"},
    {model::NodeKind::kBuffer, "buffer"},
    {model::NodeKind::kConstant, "constant"},
    {model::NodeKind::kInput, "input"},
    {model::NodeKind::kAggregate, "aggregate"}};
constexpr Row<model::Category> kCategories[] = {
    {model::Category::kWeight, "weight"},
    {model::Category::kGradient, "gradient"},
    {model::Category::kActivation, "activation"},
    {model::Category::kOptimizer, "optimizer"},
    {model::Category::kOther, "other"}};
constexpr Row<model::Watched> kWatched[] = {{model::Watched::kAll, "all"},
                                            {model::Watched::kSome, "some"},
                                            {model::Watched::kNone, "none"}};
constexpr Row<model::EdgeKind> kEdgeKinds[] = {
    {model::EdgeKind::kData, "data"}, {model::EdgeKind::kControl, "control"}};
constexpr Row<model::PauseMode> kPauseModes[] = {
    {model::PauseMode::kNode, "node"},
    {model::PauseMode::kStep, "step"},
    {model::PauseMode::kNone, "none"}};
constexpr Row<model::Origin> kOrigins[] = {
    {model::Origin::kOrigin, "origin"},
    {model::Origin::kPropagated, "propagated"},
    {model::Origin::kUnknown, "unknown"}};
constexpr Row<model::ControlVerb> kControlVerbs[] = {
    {model::ControlVerb::kContinue, "continue"},
    {model::ControlVerb::kStep, "step"},
    {model::ControlVerb::kNextNode, "next_node"},
    {model::ControlVerb::kContinueTo, "continue_to"},
    {model::ControlVerb::kPause, "pause"},
    {model::ControlVerb::kTerminate, "terminate"},
    {model::ControlVerb::kRecheck, "recheck"}};

template <class Enum>
std::string_view Find(std::span<const Row<Enum>> rows, Enum value) {
  for (const auto& row : rows) {
    if (row.value == value) return row.word;
  }
  return "unknown";
}

template <class Enum>
std::optional<Enum> Find(std::span<const Row<Enum>> rows,
                         std::string_view word) {
  for (const auto& row : rows) {
    if (row.word == word) return row.value;
  }
  return std::nullopt;
}

template <class Enum>
std::string List(std::span<const Row<Enum>> rows) {
  std::string list;
  for (const auto& row : rows) {
    if (!list.empty()) list += ", ";
    list += row.word;
  }
  return list;
}

}  // namespace

#define GRAPHDBG_DEFINE_WORDS(Enum, rows)               \
  template <>                                           \
  std::string_view Word(Enum value) {                   \
    return Find<Enum>(rows, value);                     \
  }                                                     \
  template <>                                           \
  std::optional<Enum> FromWord(std::string_view word) { \
    return Find<Enum>(rows, word);                      \
  }                                                     \
  template <>                                           \
  std::string AllWords<Enum>() {                        \
    return List<Enum>(rows);                            \
  }

GRAPHDBG_DEFINE_WORDS(model::JobState, kJobStates)
GRAPHDBG_DEFINE_WORDS(model::PauseReason, kPauseReasons)
GRAPHDBG_DEFINE_WORDS(model::NodeKind, kNodeKinds)
GRAPHDBG_DEFINE_WORDS(model::Category, kCategories)
GRAPHDBG_DEFINE_WORDS(model::Watched, kWatched)
GRAPHDBG_DEFINE_WORDS(model::EdgeKind, kEdgeKinds)
GRAPHDBG_DEFINE_WORDS(model::PauseMode, kPauseModes)
GRAPHDBG_DEFINE_WORDS(model::Origin, kOrigins)
GRAPHDBG_DEFINE_WORDS(model::ControlVerb, kControlVerbs)

}  // namespace graphdbg::api
