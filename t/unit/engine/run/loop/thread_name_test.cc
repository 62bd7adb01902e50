// Names of new threads, and ids of threads and messages.
#include "run/loop/thread_name.h"

#include <regex>
#include <set>

#include "../run_fixture.h"

namespace agent_graph::run {
namespace {

class ThreadNameTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    builder_.AddFunction("A", Say("hello")).AddEdge(START, "A");
  }
};

TEST_F(ThreadNameTest, ANewThreadIsNamedAfterItsMessages) {
  std::vector<std::string> seen;
  options_.services.name_thread = [&](const std::vector<std::string>& texts) {
    seen = texts;
    return " a  greeting\n";
  };
  EXPECT_EQ(RunOk(Ask("hi")).start.thread_name, "a  greeting");
  EXPECT_EQ(seen, (std::vector<std::string>{"hi", "hello"}));
  EXPECT_EQ(state_.At("t1").state.record.name, "a  greeting");
}

TEST_F(ThreadNameTest, AThreadIsNamedOnce) {
  int calls = 0;
  options_.services.name_thread = [&](const std::vector<std::string>&) {
    return std::to_string(++calls);
  };
  RunOk(Ask("hi"));
  EXPECT_EQ(RunOk(Ask("again")).start.thread_name, "1");
  EXPECT_EQ(calls, 1);
}

TEST_F(ThreadNameTest, AFailedGeneratorOnlyLosesTheName) {
  options_.services.name_thread = [](const std::vector<std::string>&) -> std::string {
    throw std::runtime_error("no idea");
  };
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(outcome.start.thread_name, "");
}

TEST_F(ThreadNameTest, AStoppedRunHasANameToo) {
  options_.services.name_thread = [](const std::vector<std::string>&) { return "stopped early"; };
  cancellation_.Cancel(runtime::CancelReason::kClientGone);
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kStopped);
  EXPECT_EQ(outcome.start.thread_name, "stopped early");
}

TEST_F(ThreadNameTest, ThreadsAndMessagesGetConfiguredIds) {
  options_.services.ids =
      std::make_shared<const IdGenerator>(IdOptions{.kind = IdKind::kSnowflake});
  const RunOutcome outcome = RunOk(Ask("hi", ""));
  const std::regex digits("[0-9]{10,20}");
  EXPECT_TRUE(std::regex_match(outcome.start.thread_id, digits)) << outcome.start.thread_id;
  ASSERT_EQ(json::parse(outcome.messages_json).size(), 2u);
  for (const json& message : json::parse(outcome.messages_json)) {
    const std::string id = message.at("message_id");
    EXPECT_TRUE(std::regex_match(id, digits)) << id;
  }
}

TEST(RandomThreadNameTest, IsThreeWords) {
  std::set<std::string> names;
  for (int i = 0; i < 100; ++i) {
    const std::string name = RandomThreadName();
    EXPECT_TRUE(std::regex_match(name, std::regex("[a-z]+-[a-z]+-[a-z]+"))) << name;
    names.insert(name);
  }
  EXPECT_GT(names.size(), 80u);
}

TEST(CleanThreadNameTest, KeepsOneLineOfWholeCharacters) {
  EXPECT_EQ(CleanThreadName("  two\nlines \t"), "two lines");
  EXPECT_EQ(CleanThreadName(" \n "), "");
  const std::string long_name = std::string(kThreadNameBytesMax - 1, 'x') + "éé";
  EXPECT_EQ(CleanThreadName(long_name), std::string(kThreadNameBytesMax - 1, 'x'));
}

TEST_F(ThreadNameTest, AThreadThatExistedGetsNoName) {
  int calls = 0;
  options_.services.name_thread = [&](const std::vector<std::string>&) {
    return std::to_string(++calls);
  };
  state_.At("t1").state.record.thread_id = "t1";
  EXPECT_EQ(RunOk(Ask("hi")).start.thread_name, "");
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace agent_graph::run
