// Matches names against shell patterns in linear time.
#ifndef AGENT_CONDITIONS_PATTERN_SET_H_
#define AGENT_CONDITIONS_PATTERN_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphdbg::conditions {

// `*` matches any characters except `/`, `**` any characters, `?` one character
// except `/`, and everything else itself. The whole name must match.
//
// The patterns form one nondeterministic automaton, which is simulated with one
// bit per state (Baeza-Yates and Gonnet, "A new approach to text searching").
// Matching a name therefore takes words() steps for each of its bytes, whatever
// the patterns are.
class PatternSet {
 public:
  PatternSet() = default;
  explicit PatternSet(const std::vector<std::string>& patterns);

  // Whether any of the patterns matches.
  bool Matches(absl::string_view name) const;

  // The number of 64-bit words that the states take.
  size_t words() const { return first_.size(); }

 private:
  using States = std::vector<uint64_t>;

  void Add(absl::string_view pattern, size_t* state);
  // The states that a character leaves towards the next state.
  uint64_t* LeavingRow(char c);

  // The first and the last state of each pattern.
  States first_;
  States last_;
  // States in which any character except `/`, or any character, may follow.
  States segment_;
  States across_;
  // States left by every character except `/`, which `?` matches.
  States one_;
  // By character: the row of `leaving_`. Row 0 is that of characters that occur
  // in no pattern, row 1 that of `/`.
  std::array<uint16_t, 256> row_of_{};
  std::vector<uint64_t> leaving_;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_PATTERN_SET_H_
