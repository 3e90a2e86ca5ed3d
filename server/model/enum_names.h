// Names of the model's enumerations in the HTTP API, in logs and in messages.
#ifndef SERVER_MODEL_ENUM_NAMES_H_
#define SERVER_MODEL_ENUM_NAMES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/model/diagnosis.h"
#include "server/model/divergence.h"
#include "server/model/graph.h"
#include "server/model/job.h"
#include "server/model/overview.h"
#include "server/model/recording.h"
#include "server/model/run.h"
#include "server/model/watch.h"

namespace graphdbg::model {

template <class Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

// The table of an enumeration: all of its values with their names, in the
// order in which messages list them.
template <class Enum>
std::span<const EnumName<Enum>> EnumNames();

template <>
std::span<const EnumName<JobState>> EnumNames();
template <>
std::span<const EnumName<PauseReason>> EnumNames();
template <>
std::span<const EnumName<ControlVerb>> EnumNames();
template <>
std::span<const EnumName<Event::Type>> EnumNames();
template <>
std::span<const EnumName<NodeKind>> EnumNames();
template <>
std::span<const EnumName<Category>> EnumNames();
template <>
std::span<const EnumName<SearchIn>> EnumNames();
template <>
std::span<const EnumName<Watched>> EnumNames();
template <>
std::span<const EnumName<EdgeKind>> EnumNames();
template <>
std::span<const EnumName<PauseMode>> EnumNames();
template <>
std::span<const EnumName<Origin>> EnumNames();
template <>
std::span<const EnumName<RunMode>> EnumNames();
template <>
std::span<const EnumName<StepReason>> EnumNames();
template <>
std::span<const EnumName<CheckState>> EnumNames();
template <>
std::span<const EnumName<OverviewMeasure>> EnumNames();
template <>
std::span<const EnumName<Evidence>> EnumNames();
template <>
std::span<const EnumName<EvidenceView>> EnumNames();
template <>
std::span<const EnumName<SeriesPart>> EnumNames();
template <>
std::span<const EnumName<RecordLevel>> EnumNames();
template <>
std::span<const EnumName<DivergenceMethod>> EnumNames();
template <>
std::span<const EnumName<InputState>> EnumNames();
template <>
std::span<const EnumName<CallDifferenceKind>> EnumNames();
template <>
std::span<const EnumName<RecordingState>> EnumNames();

// "unknown" for a number that is not a value of the enumeration.
template <class Enum>
std::string_view ToString(Enum value) {
  for (const EnumName<Enum>& row : EnumNames<Enum>()) {
    if (row.value == value) return row.name;
  }
  return "unknown";
}

// The inverse of ToString. Absent if no value has this name.
template <class Enum>
std::optional<Enum> Parse(std::string_view name) {
  for (const EnumName<Enum>& row : EnumNames<Enum>()) {
    if (row.name == name) return row.value;
  }
  return std::nullopt;
}

// "weight, gradient, activation": the names that Parse accepts.
template <class Enum>
std::string AllNames() {
  std::string list;
  for (const EnumName<Enum>& row : EnumNames<Enum>()) {
    if (!list.empty()) list += ", ";
    list += row.name;
  }
  return list;
}

// The value with this number, or `fallback` if the enumeration has none.
template <class Enum>
Enum FromNumber(int64_t number, Enum fallback) {
  for (const EnumName<Enum>& row : EnumNames<Enum>()) {
    if (static_cast<int64_t>(row.value) == number) return row.value;
  }
  return fallback;
}

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_ENUM_NAMES_H_
