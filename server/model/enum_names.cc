#include "server/model/enum_names.h"

namespace graphdbg::model {
namespace {

constexpr EnumName<JobState> kJobStates[] = {
    {JobState::kConnecting, "connecting"},
    {JobState::kPaused, "paused"},
    {JobState::kRunning, "running"},
    {JobState::kPausing, "pausing"},
    {JobState::kFinished, "finished"},
    {JobState::kTerminated, "terminated"},
    {JobState::kLost, "lost"}};
constexpr EnumName<PauseReason> kPauseReasons[] = {
    {PauseReason::kNone, "none"},
    {PauseReason::kStart, "start"},
    {PauseReason::kStep, "step"},
    {PauseReason::kNode, "node"},
    {PauseReason::kWatchpoint, "watchpoint"},
    {PauseReason::kUser, "user"},
    {PauseReason::kError, "error"}};
constexpr EnumName<Event::Type> kEventTypes[] = {
    {Event::Type::kJob, "job"},
    {Event::Type::kState, "state"},
    {Event::Type::kGraph, "graph"},
    {Event::Type::kHit, "hit"},
    {Event::Type::kTensor, "tensor"},
    {Event::Type::kWatchpoint, "watchpoint"},
    {Event::Type::kLog, "log"},
    {Event::Type::kCommand, "command"},
    {Event::Type::kFinding, "finding"},
    {Event::Type::kServer, "server"}};
constexpr EnumName<NodeKind> kNodeKinds[] = {
    {NodeKind::kScope, "scope"},         {NodeKind::kOp, "op"},
    {NodeKind::kParameter, "parameter"}, {NodeKind::kBuffer, "buffer"},
    {NodeKind::kConstant, "constant"},   {NodeKind::kInput, "input"},
    {NodeKind::kAggregate, "aggregate"}};
constexpr EnumName<Category> kCategories[] = {
    {Category::kWeight, "weight"},
    {Category::kGradient, "gradient"},
    {Category::kActivation, "activation"},
    {Category::kOptimizer, "optimizer"},
    {Category::kOther, "other"}};
constexpr EnumName<SearchIn> kSearchIn[] = {{SearchIn::kNames, "names"},
                                            {SearchIn::kCode, "code"}};
constexpr EnumName<Watched> kWatched[] = {
    {Watched::kAll, "all"}, {Watched::kSome, "some"}, {Watched::kNone, "none"}};
constexpr EnumName<EdgeKind> kEdgeKinds[] = {{EdgeKind::kData, "data"},
                                             {EdgeKind::kControl, "control"}};
constexpr EnumName<PauseMode> kPauseModes[] = {{PauseMode::kNode, "node"},
                                               {PauseMode::kStep, "step"},
                                               {PauseMode::kNone, "none"}};
constexpr EnumName<Origin> kOrigins[] = {{Origin::kOrigin, "origin"},
                                         {Origin::kPropagated, "propagated"},
                                         {Origin::kUnknown, "unknown"}};
constexpr EnumName<ControlVerb> kControlVerbs[] = {
    {ControlVerb::kContinue, "continue"},
    {ControlVerb::kStep, "step"},
    {ControlVerb::kNextNode, "next_node"},
    {ControlVerb::kContinueTo, "continue_to"},
    {ControlVerb::kPause, "pause"},
    {ControlVerb::kTerminate, "terminate"},
    {ControlVerb::kRecheck, "recheck"}};
constexpr EnumName<RunMode> kRunModes[] = {{RunMode::kUnknown, "unknown"},
                                           {RunMode::kTrain, "train"},
                                           {RunMode::kEval, "eval"},
                                           {RunMode::kPredict, "predict"}};
constexpr EnumName<StepReason> kStepReasons[] = {
    {StepReason::kNone, "none"},
    {StepReason::kOverhead, "overhead"},
    {StepReason::kNotDue, "not_due"},
    {StepReason::kUnfinished, "unfinished"}};
constexpr EnumName<RecordingState> kRecordingStates[] = {
    {RecordingState::kOff, "off"},
    {RecordingState::kStarting, "starting"},
    {RecordingState::kOn, "on"},
    {RecordingState::kStopping, "stopping"}};
constexpr EnumName<OverviewMeasure> kOverviewMeasureNames[] = {
    {OverviewMeasure::kActivation, "activation"},
    {OverviewMeasure::kZeros, "zeros"},
    {OverviewMeasure::kNonFinite, "non_finite"},
    {OverviewMeasure::kGradient, "gradient"},
    {OverviewMeasure::kUpdate, "update"},
    {OverviewMeasure::kTime, "time"}};

constexpr EnumName<CheckState> kCheckStates[] = {
    {CheckState::kRunning, "running"},
    {CheckState::kDone, "done"},
    {CheckState::kCancelled, "cancelled"},
    {CheckState::kFailed, "failed"}};
constexpr EnumName<SeriesPart> kSeriesParts[] = {
    {SeriesPart::kRank, "rank"},
    {SeriesPart::kTensor, "tensor"},
    {SeriesPart::kMode, "mode"}};
constexpr EnumName<RecordLevel> kRecordLevels[] = {
    {RecordLevel::kLight, "light"},
    {RecordLevel::kStatistics, "statistics"},
    {RecordLevel::kTensors, "tensors"}};
constexpr EnumName<DivergenceMethod> kDivergenceMethods[] = {
    {DivergenceMethod::kStatistics, "statistics"},
    {DivergenceMethod::kDigest, "digest"}};
constexpr EnumName<InputState> kInputStates[] = {
    {InputState::kEqual, "equal"},
    {InputState::kDiffers, "differs"},
    {InputState::kNotRecorded, "not_recorded"}};
constexpr EnumName<CallDifferenceKind> kCallDifferenceKinds[] = {
    {CallDifferenceKind::kAttribute, "attribute"},
    {CallDifferenceKind::kInput, "input"},
    {CallDifferenceKind::kInPlace, "in_place"}};
constexpr EnumName<Evidence> kEvidence[] = {
    {Evidence::kStatistics, "statistics"}, {Evidence::kTensor, "tensor"}};
constexpr EnumName<EvidenceView> kEvidenceViews[] = {
    {EvidenceView::kCells, "cells"},
    {EvidenceView::kValues, "values"},
    {EvidenceView::kHistory, "history"},
    {EvidenceView::kNode, "node"}};

}  // namespace

template <>
std::span<const EnumName<JobState>> EnumNames() {
  return kJobStates;
}

template <>
std::span<const EnumName<PauseReason>> EnumNames() {
  return kPauseReasons;
}

template <>
std::span<const EnumName<ControlVerb>> EnumNames() {
  return kControlVerbs;
}

template <>
std::span<const EnumName<Event::Type>> EnumNames() {
  return kEventTypes;
}

template <>
std::span<const EnumName<NodeKind>> EnumNames() {
  return kNodeKinds;
}

template <>
std::span<const EnumName<Category>> EnumNames() {
  return kCategories;
}

template <>
std::span<const EnumName<SearchIn>> EnumNames() {
  return kSearchIn;
}

template <>
std::span<const EnumName<Watched>> EnumNames() {
  return kWatched;
}

template <>
std::span<const EnumName<EdgeKind>> EnumNames() {
  return kEdgeKinds;
}

template <>
std::span<const EnumName<PauseMode>> EnumNames() {
  return kPauseModes;
}

template <>
std::span<const EnumName<Origin>> EnumNames() {
  return kOrigins;
}

template <>
std::span<const EnumName<RunMode>> EnumNames() {
  return kRunModes;
}
template <>
std::span<const EnumName<StepReason>> EnumNames() {
  return kStepReasons;
}
template <>
std::span<const EnumName<RecordingState>> EnumNames() {
  return kRecordingStates;
}
template <>
std::span<const EnumName<OverviewMeasure>> EnumNames() {
  return kOverviewMeasureNames;
}

template <>
std::span<const EnumName<CheckState>> EnumNames() {
  return kCheckStates;
}
template <>
std::span<const EnumName<SeriesPart>> EnumNames() {
  return kSeriesParts;
}

template <>
std::span<const EnumName<RecordLevel>> EnumNames() {
  return kRecordLevels;
}

template <>
std::span<const EnumName<Evidence>> EnumNames() {
  return kEvidence;
}
template <>
std::span<const EnumName<EvidenceView>> EnumNames() {
  return kEvidenceViews;
}
template <>
std::span<const EnumName<DivergenceMethod>> EnumNames() {
  return kDivergenceMethods;
}
template <>
std::span<const EnumName<InputState>> EnumNames() {
  return kInputStates;
}
template <>
std::span<const EnumName<CallDifferenceKind>> EnumNames() {
  return kCallDifferenceKinds;
}

}  // namespace graphdbg::model
