#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "server/api/testing/api_fixture.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class TrainingHandlersTest : public testing::ApiTest {
 protected:
  TrainingHandlersTest() {
    fixture_.services.run_command =
        [this](std::vector<std::string> arguments) -> jobs::Task<CommandEnd> {
      asked_.push_back(absl::StrJoin(arguments, " "));
      co_return end_;
    };
  }
  static std::string Training(const std::string& pid) {
    return "/trainings/" + pid;
  }

  const std::string own_ = std::to_string(getpid());
  absl::StatusOr<CommandEnd> end_ = CommandEnd();
  std::vector<std::string> asked_;
};

TEST_F(TrainingHandlersTest, TrainingsAreListed) {
  end_->output = R"({"host":"node7","trainings":[
      {"pid":12,"script":"a.py","torch":"2.1.0","rank":null,
       "since":"2026-11-26 12:00:00","started_at":"2026-11-26T11:00:00Z",
       "job":"train","server":"http://127.0.0.1:8080"},
      {"pid":13,"script":"<b>","torch":"","rank":1,"started_at":"x",
       "job":"other","server":"http://127.0.0.1:9090"}]})";
  const Json answer = BodyOf(Get("/trainings"));
  EXPECT_EQ(asked_, std::vector<std::string>{"attach --list --json"});
  EXPECT_EQ(answer["host"], "node7");
  EXPECT_EQ(answer["trainings"][0],
            (Json{{"pid", 12},
                  {"script", "a.py"},
                  {"rank", nullptr},
                  {"framework", "pytorch"},
                  {"framework_version", "2.1.0"},
                  {"started_at", "2026-11-26T11:00:00Z"},
                  {"job", "train"},
                  {"server", nullptr}}));
  EXPECT_EQ(answer["trainings"][1]["server"], "http://127.0.0.1:9090");
  EXPECT_EQ(BodyOf(Get("/server"))["attaches"], true);
}

TEST_F(TrainingHandlersTest, AllRanksAreAttachedToUnlessOnlyOneIsWanted) {
  end_->output = R"({"state":"attached","job":"train","message":"attached"})";
  http::Response response = Post(Training(own_) + "/attach", "{}");
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(BodyOf(response),
            (Json{{"job", "train"}, {"message", "attached"}}));
  Post(Training(own_) + "/attach", R"({"all_ranks":false})");
  const std::string one =
      "attach --pid=" + own_ + " --json --server http://127.0.0.1:8080";
  EXPECT_EQ(asked_, (std::vector<std::string>{one + " --all", one}));
}

TEST_F(TrainingHandlersTest, ATrainingIsLeft) {
  end_->output = R"({"state":"detached","message":"nothing is left"})";
  EXPECT_EQ(BodyOf(Post(Training(own_) + "/detach", "{}")),
            (Json{{"message", "nothing is left"}}));
  EXPECT_EQ(asked_, std::vector<std::string>{"detach " + own_ + " --json"});
}

TEST_F(TrainingHandlersTest, TheReasonOfTheProgramIsPassedOn) {
  end_->exit_code = 1;
  end_->errors = "graphdbg:   File \"a.py\"\ngraphdbg: it is stopped\n";
  for (const std::string what : {"attach", "detach"}) {
    const http::Response response = Post(Training(own_) + "/" + what, "{}");
    ExpectProblem(response, 409, "cannot_" + what);
    EXPECT_EQ(BodyOf(response)["detail"], "it is stopped");
  }
  end_ = absl::DeadlineExceededError("60 s");
  ExpectProblem(Post(Training(own_) + "/attach", "{}"), 409, "cannot_attach");
  end_ = CommandEnd{0, "no JSON", ""};
  ExpectProblem(Get("/trainings"), 500, "bad_answer");
}

TEST_F(TrainingHandlersTest, OnlyProcessesOfTheServersUserAreTouched) {
  for (const char* pid : {"0", "-1", "x", "2147483647", "4294967296"}) {
    ExpectProblem(Post(Training(pid) + "/attach", "{}"), 404,
                  "unknown_training");
    ExpectProblem(Post(Training(pid) + "/detach", "{}"), 404,
                  "unknown_training");
  }
  ExpectProblem(Post(Training(own_) + "/attach", R"({"all":true})"), 422,
                "invalid_field", "all");
  EXPECT_TRUE(asked_.empty());
}

TEST_F(TrainingHandlersTest, AServerThatCannotAttachSaysSo) {
  fixture_.services.run_command = nullptr;
  ExpectProblem(Get("/trainings"), 409, "no_trainings");
  ExpectProblem(Post(Training(own_) + "/attach", "{}"), 409, "no_trainings");
  ExpectProblem(Post(Training(own_) + "/detach", "{}"), 409, "no_trainings");
}

}  // namespace
}  // namespace graphdbg::api
