#include "agent/core/module_calls.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using testing::ElementsAre;

// Names and types of scopes, outermost first.
std::vector<NodeTable::Scope> Scopes(
    std::vector<std::pair<std::string, std::string>> names) {
  std::vector<NodeTable::Scope> scopes;
  for (auto& [name, type] : names) {
    scopes.push_back({std::move(name), std::move(type)});
  }
  return scopes;
}

// Functions, innermost first; those that begin with '-' are a library's.
std::vector<NodeTable::StackFrame> Stack(
    const std::vector<absl::string_view>& functions) {
  std::vector<NodeTable::StackFrame> stack;
  for (const absl::string_view function : functions) {
    const bool user = function[0] != '-';
    stack.push_back(
        {"model.py", user ? function : function.substr(1), 1, user});
  }
  return stack;
}

TEST(ModuleCallsTest, EachModuleHasACall) {
  EXPECT_THAT(CallsOf(Scopes({{"forward", "Net"}, {"forward/fc", "Linear"}}),
                      Stack({"-Linear.forward", "-_call_impl", "Net.forward",
                             "-_call_impl", "main"})),
              ElementsAre(2, 0));
}

TEST(ModuleCallsTest, ListsAreNotCalled) {
  const auto stack = Stack({"Block.forward", "Net.forward", "main"});
  EXPECT_THAT(CallsOf(Scopes({{"forward", "Net"},
                              {"forward/blocks", "ModuleList"},
                              {"forward/blocks/0", "Block"}}),
                      stack),
              ElementsAre(1, kNotCalled, 0));
  // Their members have numbers if types are unknown, as in older Pythons.
  EXPECT_THAT(CallsOf(Scopes({{"forward", ""},
                              {"forward/blocks", ""},
                              {"forward/blocks/0", ""}}),
                      Stack({"forward", "forward", "main"})),
              ElementsAre(1, kNotCalled, 0));
  // A Sequential has numbered members, and is called.
  EXPECT_THAT(
      CallsOf(Scopes({{"forward", "Net"},
                      {"forward/net", "Sequential"},
                      {"forward/net/0", "Block"}}),
              Stack({"Block.forward", "-Sequential.forward", "Net.forward"})),
      ElementsAre(2, 1, 0));
}

TEST(ModuleCallsTest, WrappersAreNoScopes) {
  EXPECT_THAT(CallsOf(Scopes({{"forward", ""}, {"forward/fc", ""}}),
                      Stack({"-forward", "forward", "-forward", "-_call_impl",
                             "main"})),
              ElementsAre(1, 0));
}

TEST(ModuleCallsTest, AModelWhosePartsAreCalledIsNot) {
  EXPECT_THAT(CallsOf(Scopes({{"forward", "Lit"}, {"forward/fc", "Linear"}}),
                      Stack({"-Linear.forward", "Lit.training_step", "main"})),
              ElementsAre(kNotCalled, 0));
  // The second of several models: "forward" is none.
  EXPECT_THAT(CallsOf(Scopes({{"forward", ""},
                              {"forward/Net", "Net"},
                              {"forward/Net/blocks", "ModuleList"},
                              {"forward/Net/blocks/0", "Block"}}),
                      Stack({"Block.forward", "main.<locals>.Net.forward"})),
              ElementsAre(kNotCalled, 1, kNotCalled, 0));
}

TEST(ModuleCallsTest, OtherFunctionsMayBeCalledForward) {
  EXPECT_THAT(CallsOf(Scopes({{"forward", "Net"}, {"forward/act", "MySwish"}}),
                      Stack({"Function.forward", "Swish.forward", "Net.forward",
                             "main"})),
              ElementsAre(2, 1));
  EXPECT_THAT(CallsOf(Scopes({{"forward", "Net"}}), {}),
              ElementsAre(kNotCalled));
}

}  // namespace
}  // namespace graphdbg::agent
