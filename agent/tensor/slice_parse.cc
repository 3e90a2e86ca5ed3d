#include <algorithm>
#include <cctype>
#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "agent/tensor/slice.h"
#include "proto/wire/status_macros.h"

namespace graphdbg {
namespace {

absl::Status SliceError(absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload("graphdbg/reason", absl::Cord("bad_slice"));
  return status;
}

// The text between two commas.
struct Item {
  enum Kind { kIndex, kRange, kEllipsis } kind = kIndex;
  // Counts from 1.
  size_t column = 1;
  std::optional<int64_t> start, stop, step;
};

// Parses the text into items, regardless of the shape.
class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<Item>> Parse() {
    std::vector<Item> items;
    SkipSpace();
    const bool bracket = Take('[');
    SkipSpace();
    while (!AtEnd() && Peek() != ']') {
      ASSIGN_OR_RETURN(const Item item, ParseItem());
      items.push_back(item);
      if (items.size() > kMaxDimensions + 1) {
        return Error(absl::StrCat("more than ", kMaxDimensions, " indices"));
      }
      SkipSpace();
      if (!Take(',')) break;
      SkipSpace();
      if (AtEnd() && !bracket) break;
    }
    if (bracket && !Take(']')) return Error("expected ',' or ']'");
    SkipSpace();
    if (!AtEnd()) return Error("expected ',' or the end");
    return items;
  }

 private:
  bool AtEnd() const { return at_ == text_.size(); }
  char Peek() const { return text_[at_]; }

  bool Take(char c) {
    if (AtEnd() || Peek() != c) return false;
    ++at_;
    return true;
  }

  void SkipSpace() {
    while (!AtEnd() && (Peek() == ' ' || Peek() == '\t')) ++at_;
  }

  absl::Status Error(absl::string_view what) const {
    return SliceError(absl::StrCat("slice, column ", at_ + 1, ": ", what));
  }

  absl::StatusOr<Item> ParseItem() {
    Item item;
    item.column = at_ + 1;
    if (text_.substr(at_, 3) == "...") {
      at_ += 3;
      item.kind = Item::kEllipsis;
      return item;
    }
    if (text_.substr(at_, 4) == "None" || text_.substr(at_, 7) == "newaxis") {
      return Error("new axes are not supported");
    }
    RETURN_IF_ERROR(ParseNumber(&item.start));
    if (!Take(':')) {
      if (!item.start) return Error("expected a number, ':' or '...'");
      return item;
    }
    item.kind = Item::kRange;
    RETURN_IF_ERROR(ParseNumber(&item.stop));
    if (!Take(':')) return item;
    const size_t step_at = at_;
    RETURN_IF_ERROR(ParseNumber(&item.step));
    if (item.step && *item.step == 0) {
      at_ = step_at;
      return Error("the step must not be 0");
    }
    return item;
  }

  // Leaves `number` empty if there is no number at this position.
  absl::Status ParseNumber(std::optional<int64_t>* number) {
    SkipSpace();
    const size_t begin = at_;
    const bool negative = Take('-');
    if (!negative) Take('+');
    const size_t digits = at_;
    int64_t value = 0;
    while (!AtEnd() && std::isdigit(static_cast<unsigned char>(Peek()))) {
      const int digit = Peek() - '0';
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{digit}, &value)) {
        at_ = begin;
        return Error("the number does not fit into 64 bits");
      }
      ++at_;
    }
    if (at_ == digits) {
      if (at_ != begin) return Error("expected digits");
      return absl::OkStatus();
    }
    *number = negative ? -value : value;
    SkipSpace();
    return absl::OkStatus();
  }

  absl::string_view text_;
  size_t at_ = 0;
};

// Python's rule for the bounds of a slice: negative bounds count from the end,
// then all are clipped to [low, high].
int64_t Clip(int64_t bound, int64_t size, int64_t low, int64_t high) {
  if (bound < 0) bound += size;
  return std::clamp(bound, low, high);
}

SliceDimension ResolveRange(const Item& item, int64_t size) {
  const int64_t step = item.step.value_or(1);
  SliceDimension dim;
  dim.step = step;
  int64_t stop;
  if (step > 0) {
    dim.start = Clip(item.start.value_or(0), size, 0, size);
    stop = item.stop ? Clip(*item.stop, size, 0, size) : size;
    if (stop > dim.start) dim.count = (stop - dim.start - 1) / step + 1;
  } else {
    dim.start = item.start ? Clip(*item.start, size, -1, size - 1) : size - 1;
    stop = item.stop ? Clip(*item.stop, size, -1, size - 1) : -1;
    // -step would overflow for the smallest number.
    if (stop < dim.start) dim.count = (stop - dim.start + 1) / step + 1;
  }
  if (dim.count == 0) dim.start = 0;
  // The step is unused if there is at most one element; 1 cannot overflow.
  if (dim.count <= 1) dim.step = 1;
  return dim;
}

absl::StatusOr<SliceDimension> Resolve(const Item& item, size_t d,
                                       int64_t size) {
  if (item.kind == Item::kRange) return ResolveRange(item, size);
  const int64_t index = *item.start;
  const bool inside = index < 0 ? index >= -size : index < size;
  if (!inside) {
    return SliceError(absl::StrCat("slice, column ", item.column, ": index ",
                                   index, " is out of bounds for dimension ", d,
                                   " of size ", size));
  }
  return SliceDimension{index < 0 ? index + size : index, 1, 1, true};
}

}  // namespace

absl::StatusOr<Slice> ParseSlice(absl::string_view text,
                                 const std::vector<int64_t>& shape) {
  ASSIGN_OR_RETURN(const std::vector<Item> items, Parser(text).Parse());
  const Item* ellipsis = nullptr;
  for (const Item& item : items) {
    if (item.kind != Item::kEllipsis) continue;
    if (ellipsis != nullptr) {
      return SliceError(absl::StrCat("slice, column ", item.column,
                                     ": only one ellipsis is allowed"));
    }
    ellipsis = &item;
  }
  const size_t given = items.size() - (ellipsis != nullptr ? 1 : 0);
  if (given > shape.size()) {
    return SliceError(absl::StrCat("slice, column ", items.back().column, ": ",
                                   given, " indices for a tensor of ",
                                   shape.size(), " dimensions"));
  }
  const size_t skipped = shape.size() - given;
  Slice slice;
  for (const Item& item : items) {
    if (item.kind == Item::kEllipsis) {
      for (size_t i = 0; i < skipped; ++i) {
        slice.push_back({0, shape[slice.size()], 1, false});
      }
      continue;
    }
    const size_t d = slice.size();
    ASSIGN_OR_RETURN(const SliceDimension dim, Resolve(item, d, shape[d]));
    slice.push_back(dim);
  }
  while (slice.size() < shape.size()) {
    slice.push_back({0, shape[slice.size()], 1, false});
  }
  return slice;
}

absl::Status CheckSlice(const Slice& slice, const std::vector<int64_t>& shape) {
  if (slice.size() != shape.size()) {
    return SliceError(absl::StrCat("slice of ", slice.size(),
                                   " dimensions for a tensor of ",
                                   shape.size()));
  }
  for (size_t d = 0; d < slice.size(); ++d) {
    const SliceDimension& dim = slice[d];
    if (dim.drop ? dim.count != 1 : dim.count < 0) {
      return SliceError(absl::StrCat("slice, dimension ", d, ": count ",
                                     dim.count, " is invalid"));
    }
    if (dim.count == 0) continue;
    int64_t last;
    const bool overflow =
        __builtin_mul_overflow(dim.step, dim.count - 1, &last) ||
        __builtin_add_overflow(last, dim.start, &last);
    const auto inside = [&](int64_t i) { return i >= 0 && i < shape[d]; };
    const bool repeats = dim.step == 0 && dim.count > 1;
    if (overflow || repeats || !inside(dim.start) || !inside(last)) {
      return SliceError(absl::StrCat(
          "slice, dimension ", d, ": start, count and step exceed its size of ",
          shape[d]));
    }
  }
  return absl::OkStatus();
}

}  // namespace graphdbg
