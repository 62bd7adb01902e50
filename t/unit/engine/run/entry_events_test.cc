#include "run/entry_events.h"

#include <gtest/gtest.h>

#include "state/rules/lost_run.h"

namespace agent_graph::run {
namespace {

Result<std::string> Stored(const std::string& id) {
  return "{\"message_id\":\"" + id + "\"}";
}

entry::MessageAdded Added(std::string node, std::vector<std::string> blocks = {"text"}) {
  entry::MessageAdded message;
  message.message_id = "m1";
  message.node = std::move(node);
  message.role = "assistant";
  message.blocks = std::move(blocks);
  return message;
}

std::optional<RunEvent> Event(const EntryBody& body) {
  Result<std::optional<RunEvent>> event = EventOf(body, 4, Stored);
  EXPECT_TRUE(event.ok());
  return event.ok() ? *event : std::nullopt;
}

TEST(EntryEvents, AMessageOfANodeIsAMessage) {
  const std::optional<RunEvent> event = Event(Added("MAIN"));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, RunEvent::Kind::kMessage);
  EXPECT_EQ(event->message_json, R"({"message_id":"m1"})");
  EXPECT_EQ(event->node, "MAIN");
  EXPECT_EQ(event->step, 4);
}

TEST(EntryEvents, OfTheRequestOnlyResultsAreShown) {
  EXPECT_FALSE(Event(Added("")));
  const std::optional<RunEvent> result = Event(Added("", {"tool_result"}));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->step, 0);
}

TEST(EntryEvents, ADeletedMessageHasNoEvent) {
  const auto gone = [](const std::string&) -> Result<std::string> {
    return Status(StatusCode::kNotFound, "message not found");
  };
  const Result<std::optional<RunEvent>> event = EventOf(Added("MAIN"), 1, gone);
  ASSERT_TRUE(event.ok());
  EXPECT_FALSE(*event);
}

TEST(EntryEvents, AMessageThatCannotBeReadIsAFailure) {
  const auto down = [](const std::string&) -> Result<std::string> {
    return Status(StatusCode::kUnavailable, "no state server");
  };
  EXPECT_EQ(EventOf(Added("MAIN"), 1, down).status().code(), StatusCode::kUnavailable);
}

TEST(EntryEvents, TheErrorOfARunHasItsCodeAgain) {
  const std::optional<RunEvent> event =
      Event(entry::RunFailed{.code = "MODEL", .reason = "no", .node = "MAIN", .step = 3});
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, RunEvent::Kind::kError);
  EXPECT_EQ(event->error, Status(StatusCode::kModel, "no"));
  EXPECT_EQ(event->node, "MAIN");
}

TEST(EntryEvents, ALostRunHasAnErrorAlthoughItsWorkerWroteNone) {
  const std::optional<RunEvent> event = Event(
      entry::RunFinished{.run_id = "r", .status = RunStatus::kError, .reason = state::kWorkerLost});
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, RunEvent::Kind::kError);
  EXPECT_EQ(event->error.code(), StatusCode::kUnavailable);
}

TEST(EntryEvents, TheErrorOfARunIsShownOnce) {
  EXPECT_FALSE(Event(entry::RunFinished{.run_id = "r", .status = RunStatus::kError}));
  EXPECT_FALSE(
      Event(entry::RunFinished{.run_id = "r", .status = RunStatus::kError, .reason = "deadline"}));
}

TEST(EntryEvents, OtherEntriesHaveNone) {
  EXPECT_FALSE(Event(entry::NodeStarted{.node = "MAIN", .step = 1}));
  EXPECT_FALSE(Event(entry::RunFinished{.run_id = "r", .status = RunStatus::kDone}));
}

}  // namespace
}  // namespace agent_graph::run
