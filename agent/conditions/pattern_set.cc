#include "agent/conditions/pattern_set.h"

#include "absl/container/inlined_vector.h"

namespace graphdbg::conditions {
namespace {

constexpr size_t kWordBits = 64;

// Sets the bit of a state.
void Set(uint64_t* states, size_t state) {
  states[state / kWordBits] |= uint64_t{1} << (state % kWordBits);
}

size_t StatesOf(const std::vector<std::string>& patterns) {
  size_t states = 0;
  // Stars are no states of their own.
  for (const std::string& pattern : patterns) states += pattern.size() + 1;
  return states;
}

}  // namespace

PatternSet::PatternSet(const std::vector<std::string>& patterns) {
  const size_t words = (StatesOf(patterns) + kWordBits - 1) / kWordBits;
  for (States* states : {&first_, &last_, &segment_, &across_, &one_}) {
    states->resize(words);
  }
  leaving_.resize(2 * words);
  row_of_[static_cast<unsigned char>('/')] = 1;
  size_t state = 0;
  for (const std::string& pattern : patterns) Add(pattern, &state);
  // `?` matches the characters of all rows but that of `/`.
  for (size_t i = 0; i < leaving_.size(); ++i) {
    if (i / words != 1) leaving_[i] |= one_[i % words];
  }
}

void PatternSet::Add(absl::string_view pattern, size_t* state) {
  Set(first_.data(), *state);
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '*') {
      const bool across = i + 1 < pattern.size() && pattern[i + 1] == '*';
      Set(across ? across_.data() : segment_.data(), *state);
      if (across) ++i;
      continue;
    }
    Set(c == '?' ? one_.data() : LeavingRow(c), *state);
    ++*state;
  }
  Set(last_.data(), *state);
  ++*state;
}

uint64_t* PatternSet::LeavingRow(char c) {
  uint16_t& row = row_of_[static_cast<unsigned char>(c)];
  if (row == 0) {
    row = static_cast<uint16_t>(leaving_.size() / words());
    leaving_.resize(leaving_.size() + words());
  }
  return &leaving_[row * words()];
}

bool PatternSet::Matches(absl::string_view name) const {
  const size_t count = words();
  absl::InlinedVector<uint64_t, 4> reached(first_.begin(), first_.end());
  for (const char c : name) {
    const uint64_t* const leaving =
        leaving_.data() + row_of_[static_cast<unsigned char>(c)] * count;
    uint64_t carry = 0;
    uint64_t any = 0;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t staying = c == '/' ? across_[i] : across_[i] | segment_[i];
      const uint64_t left = reached[i] & leaving[i];
      reached[i] = (reached[i] & staying) | (left << 1) | carry;
      carry = left >> (kWordBits - 1);
      any |= reached[i];
    }
    if (any == 0) return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if ((reached[i] & last_[i]) != 0) return true;
  }
  return false;
}

}  // namespace graphdbg::conditions
