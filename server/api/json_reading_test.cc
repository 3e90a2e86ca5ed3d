#include "server/api/json_reading.h"

#include <gtest/gtest.h>

#include <string>

#include "server/base/error.h"

namespace graphdbg::api {
namespace {

std::string Repeat(const std::string& text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// An object with this number of keys.
std::string Keys(size_t count) {
  std::string object = "{";
  for (size_t i = 0; i < count; ++i) {
    object += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  }
  return object + "}";
}

std::string Values(size_t count) {
  return "[" + Repeat("1,", count - 1) + "1]";
}

std::string Levels(size_t count) {
  return Repeat("[", count) + Repeat("]", count);
}

std::string MessageOf(const std::string& text) {
  const absl::Status status = ParseJson(text, "the body").status();
  EXPECT_EQ(ReasonOf(status), "bad_json") << text.substr(0, 80);
  return std::string(status.message());
}

TEST(JsonReadingTest, ReadsEveryKindOfValue) {
  for (const char* text :
       {"null", "true", "-1", "18446744073709551615", "0.5", "\"a\\u00e9\"",
        "[]", "{}", R"({"a":[1,{"b":[null,"x"]},[]],"c":{"d":{}},"e":2})",
        R"([[1,[2,[3]]],{"a":{"b":1},"c":2},4])"}) {
    auto read = ParseJson(text, "the body");
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(*read, nlohmann::json::parse(text)) << text;
  }
}

TEST(JsonReadingTest, TheLastOfRepeatedKeysCounts) {
  EXPECT_EQ(*ParseJson(R"({"a":1,"b":2,"a":3})", "the body"),
            nlohmann::json::parse(R"({"a":3,"b":2})"));
}

TEST(JsonReadingTest, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "nul", "1 2", "\"\xff\"",
                           "1e999", "{} x", "[1}"}) {
    EXPECT_EQ(MessageOf(text), "the body is not valid JSON") << text;
  }
}

TEST(JsonReadingTest, NamesTheLimitThatIsExceeded) {
  EXPECT_TRUE(ParseJson(Keys(kMaxJsonKeys), "the body").ok());
  EXPECT_EQ(MessageOf(Keys(kMaxJsonKeys + 1)),
            "the body has an object with more than 64 keys");
  EXPECT_TRUE(ParseJson(Levels(kMaxJsonDepth), "the body").ok());
  EXPECT_EQ(MessageOf(Levels(kMaxJsonDepth + 1)),
            "the body has more than 16 levels of nested lists and objects");
  // The list itself is a value, too.
  EXPECT_TRUE(ParseJson(Values(kMaxJsonValues - 1), "the body").ok());
  EXPECT_EQ(MessageOf(Values(kMaxJsonValues)),
            "the body has more than 20000 values");
}

// The rest of the text is invalid, which nobody notices.
TEST(JsonReadingTest, StopsAtTheLimit) {
  std::string keys = Keys(130'000);
  keys.pop_back();
  EXPECT_EQ(MessageOf(keys), "the body has an object with more than 64 keys");
  const std::string repeated =
      "{" + Repeat("\"a\":1,", kMaxJsonKeys) + "\"a\":1 rubbish";
  EXPECT_EQ(MessageOf(repeated),
            "the body has an object with more than 64 keys");
  EXPECT_EQ(MessageOf(Repeat("[", 500'000)),
            "the body has more than 16 levels of nested lists and objects");
}

}  // namespace
}  // namespace graphdbg::api
