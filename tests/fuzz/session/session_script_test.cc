// Random scripts. --commands sets how many commands are to be accepted, and
// --seed the first script, so that a failure can be repeated.
#include "tests/fuzz/session/session_script.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace graphdbg::session {
namespace {

uint64_t commands_wanted = 10'000;
uint64_t seed = 1;

constexpr size_t kCallsOfScript = 200;

// Kinds of calls (Session::Call), as often as they occur in the life of a job:
// ends and restarts are rare.
constexpr uint8_t kKinds[] = {0,  0,  2,  2,  2,  2,  4,  4,  4,  4,
                              6,  6,  6,  6,  10, 12, 12, 12, 12, 12,
                              12, 12, 12, 12, 12, 12, 12, 9};
constexpr uint8_t kRareKinds[] = {8, 9, 11};

std::vector<uint8_t> RandomScript(uint64_t number) {
  std::mt19937_64 random(number);
  std::vector<uint8_t> script = {static_cast<uint8_t>(random())};
  for (size_t i = 0; i < kCallsOfScript; ++i) {
    const bool rare = random() % 32 == 0;
    script.push_back(rare ? kRareKinds[random() % std::size(kRareKinds)]
                          : kKinds[random() % std::size(kKinds)]);
    for (int argument = 0; argument < 4; ++argument) {
      script.push_back(static_cast<uint8_t>(random()));
    }
  }
  return script;
}

std::string Hex(const std::vector<uint8_t>& script) {
  std::string text;
  char digits[3];
  for (uint8_t byte : script) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

TEST(SessionScriptTest, JobsDoWhatTheReferenceModelDoes) {
  uint64_t calls = 0;
  uint64_t accepted = 0;
  uint64_t scripts = 0;
  for (uint64_t number = seed; accepted < commands_wanted; ++number) {
    const std::vector<uint8_t> script = RandomScript(number);
    const ScriptResult result = RunScript(script.data(), script.size());
    ASSERT_EQ(result.violation, "")
        << "repeat with --seed=" << number << "; script: " << Hex(script);
    calls += result.calls;
    accepted += result.accepted_commands;
    ++scripts;
  }
  std::cout << scripts << " scripts, " << calls << " calls, " << accepted
            << " commands accepted\n";
}

}  // namespace
}  // namespace graphdbg::session

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const uint64_t value =
        std::strtoull(argument.substr(equals + 1).c_str(), nullptr, 10);
    if (argument.rfind("--commands=", 0) == 0) {
      graphdbg::session::commands_wanted = value;
    } else if (argument.rfind("--seed=", 0) == 0) {
      graphdbg::session::seed = value;
    } else {
      std::cerr << "unknown option " << argument << "\n";
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
