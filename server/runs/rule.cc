#include "server/runs/rule.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "agent/conditions/measure.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/runs/rule_measures.h"

namespace graphdbg::recorded {
namespace {

using model::SeriesPart;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
// The only name besides those of `reduce`.
constexpr char kStep[] = "step";

absl::Status Invalid(const std::string& field, const std::string& message) {
  return WithField(
      Error(absl::StatusCode::kInvalidArgument, "invalid_field", message),
      field);
}

std::optional<uint32_t> FindMeasure(absl::string_view name) {
  const auto& names = RuleMeasureNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<uint32_t>(found - names.begin());
}

bool IsName(const std::string& text) {
  if (text.empty() || absl::ascii_isdigit(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

}  // namespace

absl::StatusOr<Rule> Rule::Compile(model::RuleSpec spec) {
  std::vector<std::string> names;
  for (const auto& [name, text] : spec.reduce) {
    if (!IsName(name) || name == kStep) {
      return Invalid("reduce." + name, "'" + name + "' is not a valid name");
    }
    names.push_back(name);
  }
  names.push_back(kStep);
  if (spec.reduce.empty()) names = RuleMeasureNames();
  auto expression = conditions::SeriesExpression::Parse(spec.when, names);
  if (!expression.ok()) return WithField(expression.status(), "when");
  Rule rule(std::move(spec), *std::move(expression));
  rule.names_ = std::move(names);
  for (const auto& [name, text] : rule.spec_.reduce) {
    const auto parsed = ParseReduction(text);
    if (!parsed.ok()) return WithField(parsed.status(), "reduce." + name);
    rule.aggregates_.push_back(parsed->first);
    rule.measures_.push_back(parsed->second);
  }
  if (!rule.reduces()) {
    rule.measures_ = rule.expression_.used();
  }
  RETURN_IF_ERROR(rule.CheckSeries());
  return rule;
}

absl::StatusOr<std::pair<Rule::Aggregate, uint32_t>> Rule::ParseReduction(
    const std::string& text) {
  static constexpr std::pair<const char*, Aggregate> kAggregates[] = {
      {"min", Aggregate::kMin},
      {"max", Aggregate::kMax},
      {"sum", Aggregate::kSum},
      {"mean", Aggregate::kMean},
      {"count", Aggregate::kCount}};
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open != text.npos && close == text.size() - 1 && close > open) {
    const auto function =
        absl::StripAsciiWhitespace(absl::string_view(text).substr(0, open));
    const std::string name(absl::StripAsciiWhitespace(
        absl::string_view(text).substr(open + 1, close - open - 1)));
    for (const auto& [known, aggregate] : kAggregates) {
      if (function != known) continue;
      const auto measure = FindMeasure(name);
      if (measure && !DescribesOnlyStep(*measure)) {
        return std::make_pair(aggregate, *measure);
      }
      if (const auto* live = conditions::FindMeasure(name);
          live != nullptr && live->needs_values) {
        return Invalid("", conditions::NotRecorded(name));
      }
      return Invalid(
          "", absl::StrCat("unknown statistic \"", name, "\"; expected one of ",
                           absl::StrJoin(RuleMeasureNames(), ", ")));
    }
  }
  return Invalid("", absl::StrCat("expected min, max, sum, mean or count of a "
                                  "statistic, such as max(l2), not \"",
                                  text, "\""));
}

absl::Status Rule::CheckSeries() {
  if (reduces()) return absl::OkStatus();
  const bool only_steps =
      std::all_of(measures_.begin(), measures_.end(), DescribesStep);
  if (only_steps && !distinguishes(SeriesPart::kTensor) &&
      distinguishes(SeriesPart::kRank)) {
    observes_steps_ = true;
    return absl::OkStatus();
  }
  if (std::any_of(measures_.begin(), measures_.end(), DescribesOnlyStep)) {
    return Invalid("when",
                   "step_seconds describes steps: it cannot be combined with "
                   "statistics of tensors, and needs the series [rank]");
  }
  if (!distinguishes(SeriesPart::kTensor) ||
      !distinguishes(SeriesPart::kRank)) {
    return Invalid("series",
                   "a series of several tensors or ranks needs `reduce`");
  }
  return absl::OkStatus();
}

bool Rule::distinguishes(SeriesPart part) const {
  return std::find(spec_.series.begin(), spec_.series.end(), part) !=
         spec_.series.end();
}

Rule::Result Rule::Observe(absl::Span<const double> values,
                           RuleSeries* series) const {
  const double truth = expression_.Observe(values, &series->state);
  uint32_t& in_a_row = series->true_in_a_row;
  in_a_row = truth == 1 ? std::min(in_a_row + 1, spec_.hold) : 0;
  auto& since_match = series->since_match;
  if (in_a_row < spec_.hold) {
    if (since_match) ++*since_match;
    // `held` is false where nothing is known.
    const bool unknown =
        std::isnan(truth) || (truth == 0 && KnowsNothing(values));
    return unknown ? Result::kUnknown : Result::kQuiet;
  }
  const bool fires = !since_match || *since_match >= spec_.cool_down;
  since_match = 0;
  return fires ? Result::kFires : Result::kQuiet;
}

bool Rule::KnowsNothing(absl::Span<const double> values) const {
  const std::vector<uint32_t>& used = expression_.used();
  return !used.empty() &&
         std::all_of(used.begin(), used.end(),
                     [&](uint32_t place) { return std::isnan(values[place]); });
}

void Rule::AddTo(absl::Span<const double> values,
                 std::vector<Sums>* sums) const {
  sums->resize(measures_.size());
  for (size_t i = 0; i < measures_.size(); ++i) {
    const double value = values[measures_[i]];
    if (std::isnan(value)) continue;
    Sums& into = (*sums)[i];
    into.min = into.count == 0 ? value : std::min(into.min, value);
    into.max = into.count == 0 ? value : std::max(into.max, value);
    into.sum += value;
    ++into.count;
  }
}

std::vector<double> Rule::Reduce(absl::Span<const Sums> sums,
                                 uint64_t step) const {
  std::vector<double> values;
  for (size_t i = 0; i < sums.size(); ++i) {
    const Sums& from = sums[i];
    const bool known = from.count > 0;
    switch (aggregates_[i]) {
      case Aggregate::kMin:
        values.push_back(known ? from.min : kUnknown);
        break;
      case Aggregate::kMax:
        values.push_back(known ? from.max : kUnknown);
        break;
      case Aggregate::kSum:
        values.push_back(known ? from.sum : kUnknown);
        break;
      case Aggregate::kMean:
        values.push_back(from.sum / from.count);
        break;
      case Aggregate::kCount:
        values.push_back(from.count);
        break;
    }
  }
  values.push_back(static_cast<double>(step));
  return values;
}

std::map<std::string, double> Rule::Named(
    absl::Span<const double> values) const {
  std::map<std::string, double> named;
  for (const uint32_t place : expression_.used()) {
    named[names_[place]] = values[place];
  }
  return named;
}

std::string Rule::Describe(const std::map<std::string, double>& values) const {
  std::string text = spec_.when;
  const char* separator = ": ";
  for (const auto& [name, value] : values) {
    absl::StrAppendFormat(
        &text, "%s%s = %s", separator, name,
        std::isnan(value) ? "unknown" : absl::StrFormat("%.6g", value));
    separator = ", ";
  }
  if (spec_.hold > 1) {
    absl::StrAppendFormat(&text, ", for %d observations in a row", spec_.hold);
  }
  return text;
}

}  // namespace graphdbg::recorded
