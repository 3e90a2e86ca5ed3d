#include "agent/conditions/selector.h"

#include <algorithm>
#include <cstddef>

namespace graphdbg::conditions {
namespace {

// One element of a pattern: a character, `?`, `*` or `**`.
struct Token {
  enum Kind { kChar, kOne, kSegment, kAcross } kind;
  char c = 0;
};

std::vector<Token> Tokenize(absl::string_view pattern) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '?') {
      tokens.push_back({Token::kOne});
    } else if (pattern[i] != '*') {
      tokens.push_back({Token::kChar, pattern[i]});
    } else if (i + 1 < pattern.size() && pattern[i + 1] == '*') {
      tokens.push_back({Token::kAcross});
      ++i;
    } else {
      tokens.push_back({Token::kSegment});
    }
  }
  return tokens;
}

bool IsStar(const Token& token) {
  return token.kind == Token::kSegment || token.kind == Token::kAcross;
}

// Whether the token matches the character.
bool Takes(const Token& token, char c) {
  switch (token.kind) {
    case Token::kChar:
      return token.c == c;
    case Token::kOne:
    case Token::kSegment:
      return c != '/';
    case Token::kAcross:
      return true;
  }
  return false;
}

// A star may match nothing, so the positions after reached stars are reached
// too.
void SkipStars(const std::vector<Token>& tokens, std::vector<char>* reached) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if ((*reached)[i] && IsStar(tokens[i])) (*reached)[i + 1] = true;
  }
}

bool InScope(absl::string_view scope, absl::string_view name) {
  return name.size() > scope.size() && name[scope.size()] == '/' &&
         name.substr(0, scope.size()) == scope;
}

template <class Container, class Test>
bool Any(const Container& container, const Test& test) {
  return std::any_of(container.begin(), container.end(), test);
}

}  // namespace

bool MatchesPattern(absl::string_view pattern, absl::string_view name) {
  const std::vector<Token> tokens = Tokenize(pattern);
  // reached[i]: the first i tokens match the characters read so far.
  std::vector<char> reached(tokens.size() + 1, false);
  std::vector<char> next(tokens.size() + 1, false);
  reached[0] = true;
  SkipStars(tokens, &reached);
  for (char c : name) {
    std::fill(next.begin(), next.end(), false);
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!reached[i] || !Takes(tokens[i], c)) continue;
      next[IsStar(tokens[i]) ? i : i + 1] = true;
    }
    SkipStars(tokens, &next);
    reached.swap(next);
  }
  return reached[tokens.size()];
}

bool Matches(const NodeSelection& selection, absl::string_view name,
             Category category) {
  if (selection.target && *selection.target != category) return false;
  if (selection.everything()) return true;
  return Any(selection.categories, [&](Category c) { return c == category; }) ||
         Any(selection.nodes, [&](const auto& n) { return n == name; }) ||
         Any(selection.scopes,
             [&](const auto& s) { return InScope(s, name); }) ||
         Any(selection.patterns,
             [&](const auto& p) { return MatchesPattern(p, name); });
}

}  // namespace graphdbg::conditions
