// A recursive descent parser from text to program.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/conditions/expression.h"
#include "agent/conditions/series_expression.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::conditions {

class ExpressionParser {
 public:
  // For a rule, `variables` are its names, and must outlive this; null for a
  // condition, whose names are those of measures.
  ExpressionParser(absl::string_view text,
                   const std::vector<std::string>* variables)
      : text_(text), variables_(variables) {
    Advance();
  }

  absl::StatusOr<Expression> Parse();
  // After Parse: the sizes of the rule's windows, and the places of the
  // variables that occur, once each.
  std::vector<uint32_t> TakeWindows() { return std::move(windows_); }
  std::vector<uint32_t> TakeUsed() { return std::move(used_); }

 private:
  using Op = Expression::Op;
  enum class Type { kNumber, kCondition };
  // The type of a part of the text, and where it begins.
  struct Part {
    Type type;
    size_t at;
  };
  struct Operator {
    const char* text;
    Op op;
  };
  struct Function {
    const char* name;
    Op op;
    bool two_or_more;
  };
  // A function over a series' earlier observations.
  struct SeriesFunction {
    const char* name;
    Op op;
    Type argument;
    Type result;
  };

  // Records the first error. Afterwards the text appears to end, and no further
  // errors are recorded.
  void Fail(size_t at, absl::string_view message);
  bool ok() const { return error_.ok(); }

  void Advance();
  bool Is(absl::string_view token) const { return token_ == token; }
  bool Take(absl::string_view token);
  void Expect(absl::string_view token, absl::string_view why);

  Part ParseOr();
  Part ParseAnd();
  Part ParseRelation();
  Part ParseSum();
  Part ParseProduct();
  Part ParseUnary();
  Part ParsePrimary();
  Part ParseNumber();
  Part ParseFunction(const Function& function);
  Part ParseSeriesFunction(const SeriesFunction& function);
  // The number of observations that a series function looks back.
  uint32_t ParseWindow(const SeriesFunction& function);
  Part ParseName();
  void EmitMeasure(const Measure* measure);
  // Returns false if the rule has no such variable.
  bool EmitVariable(absl::string_view name);

  // Parses a left-associative chain of operators on numbers.
  template <size_t kCount>
  Part Chain(const Operator (&operators)[kCount],
             Part (ExpressionParser::*operand)());
  // Parses a chain of && or ||, whose left side may decide.
  Part Logic(absl::string_view token, Op op, Op skip,
             Part (ExpressionParser::*operand)());

  void Want(const Part& part, Type type, absl::string_view by);
  // Fails if the program would need too large a stack.
  void Emit(Op op);
  void UnknownName(absl::string_view name, bool is_function);

  static const Function* FindFunction(absl::string_view name);
  static const SeriesFunction* FindSeriesFunction(absl::string_view name);
  static const Operator kSums[2];
  static const Operator kProducts[2];
  static const Operator kRelations[6];
  static const Function kFunctions[5];
  static const SeriesFunction kSeriesFunctions[5];

  const absl::string_view text_;
  const std::vector<std::string>* const variables_;
  // The current token, where it begins, and where the search for the next one
  // begins.
  absl::string_view token_;
  size_t at_ = 0;
  size_t next_ = 0;
  size_t depth_ = 0;
  // Numbers on the program's stack.
  size_t height_ = 0;
  absl::Status error_;
  Expression expression_;
  std::vector<uint32_t> windows_;
  std::vector<uint32_t> used_;
  // Whether the argument of a series function is being parsed.
  bool in_series_function_ = false;
};

const ExpressionParser::Operator ExpressionParser::kSums[] = {
    {"+", Op::kAdd}, {"-", Op::kSubtract}};
const ExpressionParser::Operator ExpressionParser::kProducts[] = {
    {"*", Op::kMultiply}, {"/", Op::kDivide}};
const ExpressionParser::Operator ExpressionParser::kRelations[] = {
    {"<", Op::kLess},          {"<=", Op::kLessEqual}, {">", Op::kGreater},
    {">=", Op::kGreaterEqual}, {"==", Op::kEqual},     {"!=", Op::kNotEqual}};
const ExpressionParser::Function ExpressionParser::kFunctions[] = {
    {"abs", Op::kAbs, false},
    {"log10", Op::kLog10, false},
    {"sqrt", Op::kSqrt, false},
    {"min", Op::kMin, true},
    {"max", Op::kMax, true}};
const ExpressionParser::SeriesFunction ExpressionParser::kSeriesFunctions[] = {
    {"prev", Op::kPrev, Type::kNumber, Type::kNumber},
    {"mean_before", Op::kMeanBefore, Type::kNumber, Type::kNumber},
    {"min_before", Op::kMinBefore, Type::kNumber, Type::kNumber},
    {"max_before", Op::kMaxBefore, Type::kNumber, Type::kNumber},
    {"held", Op::kHeld, Type::kCondition, Type::kCondition}};

namespace {

bool IsNameStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsNamePart(char c) { return absl::ascii_isalnum(c) || c == '_'; }
bool IsNumberStart(char c) { return absl::ascii_isdigit(c) || c == '.'; }

size_t NameLength(absl::string_view text) {
  size_t n = 0;
  while (n < text.size() && IsNamePart(text[n])) ++n;
  return n;
}

// Accepts digits, points, letters and an exponent's sign. Whether they form a
// number is checked later.
size_t NumberLength(absl::string_view text) {
  size_t n = 0;
  while (n < text.size() && (IsNamePart(text[n]) || text[n] == '.' ||
                             ((text[n] == '+' || text[n] == '-') && n > 0 &&
                              (text[n - 1] == 'e' || text[n - 1] == 'E')))) {
    ++n;
  }
  return n;
}

size_t TokenLength(absl::string_view text) {
  if (text.empty()) return 0;
  if (IsNameStart(text[0])) return NameLength(text);
  if (IsNumberStart(text[0])) return NumberLength(text);
  for (const char* two : {"<=", ">=", "==", "!=", "&&", "||"}) {
    if (text.substr(0, 2) == two) return 2;
  }
  // A whole character of UTF-8.
  size_t n = 1;
  while (n < text.size() && (text[n] & 0xC0) == 0x80) ++n;
  return n;
}

// Suggests the right operator for those of other languages.
const char* HintFor(absl::string_view token) {
  if (token == "=") return "write == to compare";
  if (token == "&" || token == "and") return "write && for \"and\"";
  if (token == "|" || token == "or") return "write || for \"or\"";
  if (token == "not") return "write ! for \"not\"";
  return nullptr;
}

}  // namespace

void ExpressionParser::Fail(size_t at, absl::string_view message) {
  if (!ok()) return;
  const std::string column = absl::StrCat(at + 1);
  error_ = absl::InvalidArgumentError(
      absl::StrCat("column ", column, ": ", message));
  error_.SetPayload("graphdbg/column", absl::Cord(column));
  token_ = {};
  next_ = text_.size();
}

void ExpressionParser::Advance() {
  while (next_ < text_.size() && absl::ascii_isspace(text_[next_])) ++next_;
  at_ = next_;
  token_ = text_.substr(at_, TokenLength(text_.substr(at_)));
  next_ += token_.size();
}

void ExpressionParser::Emit(Op op) {
  expression_.program_.push_back({op});
  switch (op) {
    case Op::kNumber:
    case Op::kMeasure:
    case Op::kVariable:
      if (++height_ > Expression::kMaxStack)
        Fail(at_, "the expression is too complex");
      return;
    case Op::kNegate:
    case Op::kNot:
    case Op::kAbs:
    case Op::kLog10:
    case Op::kSqrt:
    case Op::kSkipIfFalse:
    case Op::kSkipIfTrue:
    case Op::kPrev:
    case Op::kMeanBefore:
    case Op::kMinBefore:
    case Op::kMaxBefore:
    case Op::kHeld:
      return;
    default:
      --height_;
  }
}

bool ExpressionParser::Take(absl::string_view token) {
  if (!Is(token)) return false;
  Advance();
  return true;
}

void ExpressionParser::Expect(absl::string_view token, absl::string_view why) {
  if (Take(token)) return;
  if (const char* hint = HintFor(token_)) return Fail(at_, hint);
  Fail(at_, absl::StrCat("expected \"", token, "\" ", why));
}

void ExpressionParser::Want(const Part& part, Type type, absl::string_view by) {
  if (part.type == type) return;
  Fail(part.at,
       type == Type::kNumber
           ? absl::StrCat("this is a condition, but ", by, " requires a number")
           : absl::StrCat("this is a number, but ", by,
                          " requires a condition, for example abs_max > 1"));
}

absl::StatusOr<Expression> ExpressionParser::Parse() {
  if (text_.size() > Expression::kMaxBytes) {
    Fail(Expression::kMaxBytes,
         absl::StrCat("the expression is longer than ", Expression::kMaxBytes,
                      " characters"));
    return error_;
  }
  if (token_.empty()) Fail(0, "the expression is empty");
  const Part whole = ParseOr();
  if (ok() && !token_.empty()) {
    const char* hint = HintFor(token_);
    Fail(at_,
         hint != nullptr ? hint : absl::StrCat("unexpected \"", token_, "\""));
  }
  Want(whole, Type::kCondition, variables_ ? "a rule" : "a watchpoint");
  if (!ok()) return error_;
  return std::move(expression_);
}

ExpressionParser::Part ExpressionParser::Logic(
    absl::string_view token, Op op, Op skip,
    Part (ExpressionParser::*operand)()) {
  const Part first = (this->*operand)();
  while (Is(token)) {
    Want(first, Type::kCondition, token);
    Advance();
    const size_t jump = expression_.program_.size();
    // A rule evaluates everything, because its windows need every observation.
    if (variables_ == nullptr) Emit(skip);
    Want((this->*operand)(), Type::kCondition, token);
    Emit(op);
    if (variables_ == nullptr) {
      expression_.program_[jump].target =
          static_cast<uint32_t>(expression_.program_.size());
    }
  }
  return first;
}

ExpressionParser::Part ExpressionParser::ParseOr() {
  return Logic("||", Op::kOr, Op::kSkipIfTrue, &ExpressionParser::ParseAnd);
}

ExpressionParser::Part ExpressionParser::ParseAnd() {
  return Logic("&&", Op::kAnd, Op::kSkipIfFalse,
               &ExpressionParser::ParseRelation);
}

ExpressionParser::Part ExpressionParser::ParseRelation() {
  const auto find = [this] {
    return std::find_if(std::begin(kRelations), std::end(kRelations),
                        [this](const Operator& o) { return Is(o.text); });
  };
  const Part left = ParseSum();
  const Operator* relation = find();
  if (relation == std::end(kRelations)) return left;
  Want(left, Type::kNumber, relation->text);
  Advance();
  Want(ParseSum(), Type::kNumber, relation->text);
  Emit(relation->op);
  if (find() != std::end(kRelations)) {
    Fail(at_, "comparisons do not chain: write a < b && b < c");
  }
  return {Type::kCondition, left.at};
}

template <size_t kCount>
ExpressionParser::Part ExpressionParser::Chain(
    const Operator (&operators)[kCount], Part (ExpressionParser::*operand)()) {
  const Part first = (this->*operand)();
  for (;;) {
    const auto* found =
        std::find_if(std::begin(operators), std::end(operators),
                     [this](const Operator& o) { return Is(o.text); });
    if (found == std::end(operators)) return first;
    Want(first, Type::kNumber, found->text);
    Advance();
    Want((this->*operand)(), Type::kNumber, found->text);
    Emit(found->op);
  }
}

ExpressionParser::Part ExpressionParser::ParseSum() {
  return Chain(kSums, &ExpressionParser::ParseProduct);
}

ExpressionParser::Part ExpressionParser::ParseProduct() {
  return Chain(kProducts, &ExpressionParser::ParseUnary);
}

ExpressionParser::Part ExpressionParser::ParseUnary() {
  const size_t at = at_;
  if (depth_ >= Expression::kMaxDepth) {
    Fail(at, absl::StrCat("nested more than ", Expression::kMaxDepth,
                          " levels deep"));
    return {Type::kNumber, at};
  }
  ++depth_;
  Part part{Type::kNumber, at};
  if (Take("-")) {
    Want(ParseUnary(), Type::kNumber, "-");
    Emit(Op::kNegate);
  } else if (Take("!")) {
    Want(ParseUnary(), Type::kCondition, "! (put a comparison in parentheses)");
    Emit(Op::kNot);
    part.type = Type::kCondition;
  } else {
    part = ParsePrimary();
  }
  --depth_;
  return part;
}

ExpressionParser::Part ExpressionParser::ParsePrimary() {
  const size_t at = at_;
  if (Take("(")) {
    const Part inner = ParseOr();
    Expect(")", "to close the parenthesis");
    return {inner.type, at};
  }
  if (!token_.empty() && IsNumberStart(token_[0])) return ParseNumber();
  if (!token_.empty() && IsNameStart(token_[0])) return ParseName();
  if (const char* hint = HintFor(token_)) {
    Fail(at, hint);
  } else if (token_.empty()) {
    Fail(at, "the expression is incomplete");
  } else {
    Fail(at, absl::StrCat("expected a number or a statistic, not \"", token_,
                          "\""));
  }
  return {Type::kNumber, at};
}

ExpressionParser::Part ExpressionParser::ParseNumber() {
  const size_t at = at_;
  double number = 0;
  const char* end = token_.data() + token_.size();
  const auto result = absl::from_chars(token_.data(), end, number);
  const bool decimal = token_.find_first_of("xX") == token_.npos;
  if (!decimal || result.ptr != end ||
      result.ec == std::errc::invalid_argument) {
    Fail(at, absl::StrCat("\"", token_, "\" is not a number"));
  } else if (result.ec != std::errc()) {
    Fail(at, absl::StrCat(token_, " is out of range for float64"));
  }
  Emit(Op::kNumber);
  expression_.program_.back().number = number;
  Advance();
  return {Type::kNumber, at};
}

const ExpressionParser::Function* ExpressionParser::FindFunction(
    absl::string_view name) {
  for (const Function& function : kFunctions) {
    if (name == function.name) return &function;
  }
  return nullptr;
}

ExpressionParser::Part ExpressionParser::ParseFunction(
    const Function& function) {
  const size_t at = at_;
  Advance();
  Advance();
  size_t count = 0;
  do {
    Want(ParseOr(), Type::kNumber, function.name);
    if (++count == 1 && function.two_or_more) continue;
    if (count > 1 && !function.two_or_more) {
      Fail(at, absl::StrCat(function.name, " takes one number"));
    }
    Emit(function.op);
  } while (Take(","));
  if (function.two_or_more && count < 2) {
    Fail(at,
         absl::StrCat(function.name,
                      " takes two or more numbers; for the statistic of the "
                      "tensor, write ",
                      function.name, " without parentheses"));
  }
  Expect(")", absl::StrCat("to close ", function.name, "("));
  return {Type::kNumber, at};
}

const ExpressionParser::SeriesFunction* ExpressionParser::FindSeriesFunction(
    absl::string_view name) {
  for (const SeriesFunction& function : kSeriesFunctions) {
    if (name == function.name) return &function;
  }
  return nullptr;
}

ExpressionParser::Part ExpressionParser::ParseSeriesFunction(
    const SeriesFunction& function) {
  const Part part{function.result, at_};
  if (variables_ == nullptr) {
    Fail(at_, absl::StrCat(function.name,
                           " looks at earlier steps, which only rules do: see "
                           "graphdbg rules"));
    return part;
  }
  if (in_series_function_) {
    Fail(at_, absl::StrCat(function.name,
                           " cannot occur within prev, mean_before, "
                           "min_before, max_before or held"));
    return part;
  }
  in_series_function_ = true;
  Advance();
  Advance();
  Want(ParseOr(), function.argument, function.name);
  in_series_function_ = false;
  const uint32_t window = ParseWindow(function);
  Emit(function.op);
  expression_.program_.back().target = static_cast<uint32_t>(windows_.size());
  windows_.push_back(window);
  Expect(")", absl::StrCat("to close ", function.name, "("));
  return part;
}

uint32_t ExpressionParser::ParseWindow(const SeriesFunction& function) {
  Expect(",", absl::StrCat("and the number of observations that ",
                           function.name, " covers"));
  uint32_t window = 0;
  if (!absl::SimpleAtoi(token_, &window) || window < 1 ||
      window > SeriesExpression::kMaxWindow) {
    Fail(at_, absl::StrCat(function.name, " covers a whole number from 1 to ",
                           SeriesExpression::kMaxWindow,
                           " of observations, not \"", token_, "\""));
  }
  Advance();
  return window;
}

ExpressionParser::Part ExpressionParser::ParseName() {
  const Part part{Type::kNumber, at_};
  const size_t after = text_.find_first_not_of(" \t\n\r", next_);
  const bool call = after != text_.npos && text_[after] == '(';
  if (call) {
    if (const Function* function = FindFunction(token_)) {
      return ParseFunction(*function);
    }
    if (const SeriesFunction* function = FindSeriesFunction(token_)) {
      return ParseSeriesFunction(*function);
    }
    UnknownName(token_, /*is_function=*/true);
    return part;
  }
  if (variables_ != nullptr) {
    if (!EmitVariable(token_)) {
      UnknownName(token_, /*is_function=*/false);
      return part;
    }
  } else if (const Measure* measure = FindMeasure(token_)) {
    EmitMeasure(measure);
  } else {
    UnknownName(token_, /*is_function=*/false);
    return part;
  }
  Advance();
  return part;
}

void ExpressionParser::EmitMeasure(const Measure* measure) {
  Emit(Op::kMeasure);
  expression_.program_.back().measure = measure;
  auto& measures = expression_.measures_;
  if (std::find(measures.begin(), measures.end(), measure) == measures.end()) {
    measures.push_back(measure);
  }
}

bool ExpressionParser::EmitVariable(absl::string_view name) {
  const auto found = std::find(variables_->begin(), variables_->end(), name);
  if (found == variables_->end()) return false;
  Emit(Op::kVariable);
  const auto place = static_cast<uint32_t>(found - variables_->begin());
  expression_.program_.back().target = place;
  if (std::find(used_.begin(), used_.end(), place) == used_.end()) {
    used_.push_back(place);
  }
  return true;
}

void ExpressionParser::UnknownName(absl::string_view name, bool is_function) {
  if (const char* hint = HintFor(token_)) return Fail(at_, hint);
  const Measure* const measure = is_function ? nullptr : FindMeasure(name);
  if (variables_ != nullptr && measure != nullptr && measure->needs_values) {
    return Fail(at_, NotRecorded(name));
  }
  std::vector<absl::string_view> names;
  if (is_function) {
    for (const Function& function : kFunctions) names.push_back(function.name);
    for (const SeriesFunction& function : kSeriesFunctions) {
      if (variables_ != nullptr) names.push_back(function.name);
    }
  } else if (variables_ != nullptr) {
    names.assign(variables_->begin(), variables_->end());
  } else {
    for (const Measure& measure : Measures()) names.push_back(measure.name);
  }
  Fail(at_,
       absl::StrCat("unknown ", is_function ? "function" : "statistic", " \"",
                    name, "\"; expected one of ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<Expression> Expression::Parse(absl::string_view text) {
  return ExpressionParser(text, nullptr).Parse();
}

absl::StatusOr<SeriesExpression> SeriesExpression::Parse(
    absl::string_view text, const std::vector<std::string>& variables) {
  ExpressionParser parser(text, &variables);
  ASSIGN_OR_RETURN(Expression program, parser.Parse());
  return SeriesExpression(std::move(program), parser.TakeWindows(),
                          parser.TakeUsed());
}

}  // namespace graphdbg::conditions
