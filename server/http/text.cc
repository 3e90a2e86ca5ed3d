#include "server/http/text.h"

#include <algorithm>

namespace graphdbg::http {
namespace {

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = Lower(c);
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool IsZeroQuality(std::string_view parameter) {
  parameter = Trim(parameter);
  if (parameter.size() < 3 || Lower(parameter[0]) != 'q' ||
      parameter[1] != '=') {
    return false;
  }
  return parameter.substr(2).find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string_view Trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool ListsToken(std::string_view header, std::string_view token) {
  for (std::string_view item : Split(header, ',')) {
    std::vector<std::string_view> parts = Split(item, ';');
    if (!EqualsIgnoreCase(Trim(parts[0]), token)) continue;
    return std::none_of(parts.begin() + 1, parts.end(), IsZeroQuality);
  }
  return false;
}

bool MatchesEtag(std::string_view if_none_match, std::string_view etag) {
  for (std::string_view item : Split(if_none_match, ',')) {
    item = Trim(item);
    if (item == "*") return true;
    if (item.substr(0, 2) == "W/") item.remove_prefix(2);
    if (item == etag) return true;
  }
  return false;
}

std::optional<std::string> PercentDecode(std::string_view text,
                                         bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out.push_back(' ');
      continue;
    }
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    int high = HexDigit(text[i + 1]);
    int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

std::optional<QueryPairs> ParseQuery(std::string_view query) {
  QueryPairs pairs;
  for (std::string_view item : Split(query, '&')) {
    if (item.empty()) continue;
    size_t equals = item.find('=');
    auto name = PercentDecode(item.substr(0, equals), true);
    auto value = PercentDecode(equals == std::string_view::npos
                                   ? std::string_view()
                                   : item.substr(equals + 1),
                               true);
    if (!name || !value) return std::nullopt;
    pairs.emplace_back(std::move(*name), std::move(*value));
  }
  return pairs;
}

}  // namespace graphdbg::http
