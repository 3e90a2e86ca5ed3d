#include "server/api/words.h"

#include <span>

namespace graphdbg::api {
namespace {

using namespace session;

template <class Enum>
struct Row {
  Enum value;
  std::string_view word;
};

constexpr Row<JobState> kJobStates[] = {{JobState::kConnecting, "connecting"},
                                        {JobState::kPaused, "paused"},
                                        {JobState::kRunning, "running"},
                                        {JobState::kPausing, "pausing"},
                                        {JobState::kFinished, "finished"},
                                        {JobState::kTerminated, "terminated"},
                                        {JobState::kLost, "lost"}};
constexpr Row<PauseReason> kPauseReasons[] = {
    {PauseReason::kNone, "none"},
    {PauseReason::kStart, "start"},
    {PauseReason::kStep, "step"},
    {PauseReason::kNode, "node"},
    {PauseReason::kWatchpoint, "watchpoint"},
    {PauseReason::kUser, "user"},
    {PauseReason::kError, "error"}};
constexpr Row<NodeKind> kNodeKinds[] = {
    {NodeKind::kScope, "scope"},         {NodeKind::kOp, "op"},
    {NodeKind::kParameter, "parameter"}, {NodeKind::kBuffer, "buffer"},
    {NodeKind::kConstant, "constant"},   {NodeKind::kInput, "input"},
    {NodeKind::kAggregate, "aggregate"}};
constexpr Row<Category> kCategories[] = {{Category::kWeight, "weight"},
                                         {Category::kGradient, "gradient"},
                                         {Category::kActivation, "activation"},
                                         {Category::kOptimizer, "optimizer"},
                                         {Category::kOther, "other"}};
constexpr Row<Watched> kWatched[] = {
    {Watched::kAll, "all"}, {Watched::kSome, "some"}, {Watched::kNone, "none"}};
constexpr Row<EdgeKind> kEdgeKinds[] = {{EdgeKind::kData, "data"},
                                        {EdgeKind::kControl, "control"}};
constexpr Row<PauseMode> kPauseModes[] = {{PauseMode::kNode, "node"},
                                          {PauseMode::kStep, "step"},
                                          {PauseMode::kNone, "none"}};
constexpr Row<Origin> kOrigins[] = {{Origin::kOrigin, "origin"},
                                    {Origin::kPropagated, "propagated"},
                                    {Origin::kUnknown, "unknown"}};
constexpr Row<ControlVerb> kControlVerbs[] = {
    {ControlVerb::kContinue, "continue"},
    {ControlVerb::kStep, "step"},
    {ControlVerb::kNextNode, "next_node"},
    {ControlVerb::kContinueTo, "continue_to"},
    {ControlVerb::kPause, "pause"},
    {ControlVerb::kTerminate, "terminate"},
    {ControlVerb::kRecheck, "recheck"}};

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

GRAPHDBG_DEFINE_WORDS(JobState, kJobStates)
GRAPHDBG_DEFINE_WORDS(PauseReason, kPauseReasons)
GRAPHDBG_DEFINE_WORDS(NodeKind, kNodeKinds)
GRAPHDBG_DEFINE_WORDS(Category, kCategories)
GRAPHDBG_DEFINE_WORDS(Watched, kWatched)
GRAPHDBG_DEFINE_WORDS(EdgeKind, kEdgeKinds)
GRAPHDBG_DEFINE_WORDS(PauseMode, kPauseModes)
GRAPHDBG_DEFINE_WORDS(Origin, kOrigins)
GRAPHDBG_DEFINE_WORDS(ControlVerb, kControlVerbs)

}  // namespace graphdbg::api
