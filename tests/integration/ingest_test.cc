// Messages that the port for agent connections accepts or refuses.
#include <string>

#include "server/base/error.h"
#include "tests/integration/server_fixture.h"

namespace graphdbg::integration {
namespace {

class IngestTest : public ServerFixture {};

TEST_F(IngestTest, RefusesAWrongToken) {
  ingest::IngestOptions options;
  options.check_token = [](std::string_view token, std::string_view) {
    return token == "right"
               ? absl::OkStatus()
               : Error(absl::StatusCode::kUnauthenticated, "unauthenticated",
                       "the token is not the server's");
  };
  Start({}, options);
  for (const char* token : {"", "wrong"}) {
    ScriptedAgent agent(port(), token);
    agent.SendHello(ScriptedAgent::MakeHello("digits"));
    const grpc::Status status = agent.End();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(status.error_message(), "the token is not the server's");
  }
  EXPECT_TRUE(directory().Jobs().empty());
  ScriptedAgent agent(port(), "right");
  agent.Join(ScriptedAgent::MakeHello("digits"));
}

TEST_F(IngestTest, NamesBothVersionsToAnAgentOfAnotherWire) {
  Start();
  ScriptedAgent agent(port());
  v1::Hello hello = ScriptedAgent::MakeHello("digits");
  hello.clear_capabilities();
  hello.add_capabilities("wire/9");
  hello.set_agent_version("9.0");
  agent.SendHello(hello);
  const grpc::Status status = agent.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  for (const char* part : {"wire/1", "wire/9", "0.1.0-test", "9.0"}) {
    EXPECT_NE(status.error_message().find(part), std::string::npos)
        << status.error_message();
  }
  EXPECT_TRUE(directory().Jobs().empty());
}

// Older agents refuse parameters that they do not know.
TEST_F(IngestTest, SendsTheParameterAbsorbedToAgentsThatKnowIt) {
  Start();
  for (const bool knows : {false, true}) {
    v1::Hello hello = ScriptedAgent::MakeHello(knows ? "new" : "old");
    hello.add_capabilities("condition/inf");
    if (knows) hello.add_capabilities("hits/absorbed");
    ScriptedAgent agent(port());
    model::WatchpointSpec spec;
    spec.condition = {"inf", {}, {{"absorbed", "stop"}}};
    const auto job = StartJob(agent, hello);
    ASSERT_TRUE(Await(job->AddWatchpoint(spec)).ok());
    const v1::ServerMessage message = agent.Receive();
    EXPECT_EQ(
        message.set_watchpoint().condition().text_params().count("absorbed"),
        knows ? 1u : 0u);
  }
}

TEST_F(IngestTest, RequiresAHelloFirst) {
  Start();
  ScriptedAgent agent(port());
  agent.SendRunning(1);
  EXPECT_EQ(agent.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(IngestTest, TakesOneHello) {
  Start();
  ScriptedAgent agent(port());
  const v1::Hello hello = ScriptedAgent::MakeHello("digits");
  agent.Join(hello);
  agent.SendHello(hello);
  const grpc::Status status = agent.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  WaitForState("digits", model::JobState::kLost);
}

TEST_F(IngestTest, EndsAStreamWhoseMessagesBreakTheRulesAndServesOn) {
  Start();
  v1::AgentMessage deep;
  v1::Node& node = *deep.mutable_graph()->add_nodes();
  node.set_id(1);
  node.set_kind(v1::NODE_KIND_OP);
  for (int i = 0; i < 500; ++i) node.mutable_name()->append("a/");
  node.mutable_name()->append("b");
  v1::AgentMessage empty_segment = deep;
  empty_segment.mutable_graph()->mutable_nodes(0)->set_name("a//b");
  v1::AgentMessage no_kind = empty_segment;
  no_kind.mutable_graph()->mutable_nodes(0)->set_name("a");
  no_kind.mutable_graph()->mutable_nodes(0)->clear_kind();
  v1::AgentMessage big_chunk;
  big_chunk.mutable_tensor()->set_data(std::string((1 << 20) + 1, 'x'));
  for (const v1::AgentMessage& bad :
       {deep, empty_segment, no_kind, big_chunk, v1::AgentMessage()}) {
    ScriptedAgent agent(port());
    agent.Join(ScriptedAgent::MakeHello("bad"));
    agent.Send(bad);
    EXPECT_FALSE(agent.End().ok());
  }
  ScriptedAgent agent(port());
  StartJob(agent, ScriptedAgent::MakeHello("good"));
}

TEST_F(IngestTest, EndsAStreamWithTextThatIsNoText) {
  Start();
  ScriptedAgent agent(port());
  agent.Join(ScriptedAgent::MakeHello("digits"));
  v1::AgentMessage message;
  message.mutable_log()->set_message("\xff\xfe");
  agent.Send(message);
  EXPECT_FALSE(agent.End().ok());
  WaitForState("digits", model::JobState::kLost);
}

TEST_F(IngestTest, RefusesIdsThatCannotBePartOfAUrl) {
  Start();
  for (const std::string& id :
       {std::string("a/b"), std::string("a\nb"), std::string(300, 'a')}) {
    ScriptedAgent agent(port());
    agent.SendHello(ScriptedAgent::MakeHello(id));
    EXPECT_EQ(agent.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(IngestTest, TakesNoMoreStreamsThanItMay) {
  ingest::IngestOptions options;
  options.max_streams = 1;
  Start({}, options);
  ScriptedAgent first(port());
  first.Join(ScriptedAgent::MakeHello("one"));
  ScriptedAgent second(port());
  second.SendHello(ScriptedAgent::MakeHello("two"));
  EXPECT_EQ(second.End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(IngestTest, ForgetsTheOldestEndedJobWhenFullAndRefusesWhenAllLive) {
  jobs::JobOptions options;
  options.max_jobs = 2;
  Start(options);
  ScriptedAgent one(port());
  ScriptedAgent two(port());
  ScriptedAgent three(port());
  ScriptedAgent four(port());
  StartJob(one, ScriptedAgent::MakeHello("one"));
  StartJob(two, ScriptedAgent::MakeHello("two"));
  three.SendHello(ScriptedAgent::MakeHello("three"));
  EXPECT_EQ(three.End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  one.Break();
  WaitForState("one", model::JobState::kLost);
  four.Join(ScriptedAgent::MakeHello("four"));
  EXPECT_EQ(directory().Find("one"), nullptr);
  EXPECT_NE(directory().Find("two"), nullptr);
  // Clients of the forgotten job receive an event.
  WaitFor([](const model::Event& event) {
    return event.job == "one" && event.type == model::Event::Type::kJob &&
           !event.job_info;
  });
}

TEST_F(IngestTest, NamesAnAddressThatIsInUse) {
  Start();
  ingest::IngestServer second(shared_directory(), {});
  auto started = second.Start("127.0.0.1", port());
  ASSERT_FALSE(started.ok());
  EXPECT_NE(
      started.status().message().find("127.0.0.1:" + std::to_string(port())),
      std::string::npos);
  EXPECT_EQ(ReasonOf(started.status()), "cannot_listen");
}

}  // namespace
}  // namespace graphdbg::integration
