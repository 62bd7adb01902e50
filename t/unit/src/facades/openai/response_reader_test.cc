// ResponseReader: the events of a response, and the object that they lead to.
#include "facades/openai/response_reader.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "facades/run/signed_reasoning.h"
#include "message/codec.h"

namespace agent_graph::openai {
namespace {

constexpr char kBackground[] = R"({"background":true,"tools":[]})";

// A run as its readers get it.
class OneRun {
 public:
  explicit OneRun(ResponseReaderOptions options = {}) {
    options.model = "m";
    options.send = [this](std::string_view events) {
      text += events;
      return Status::Ok();
    };
    reader.emplace(std::move(options));
  }

  OneRun& Start(const char* note = R"({"background":false})") {
    run::RunStart start;
    start.thread_id = "t";
    start.run_id = "r";
    state::RunRecord record;
    record.accepted = true;
    record.created_micros = 7'000'000;
    EXPECT_TRUE(reader->OnStart(start, &record).ok());
    EXPECT_TRUE(reader->OnNote(note, {"", 1}).ok());
    return *this;
  }
  OneRun& Delta(const std::string& id, const std::string& piece,
                const std::string& reasoning = "") {
    run::RunDelta delta;
    delta.message_id = id;
    delta.text = piece;
    delta.reasoning = reasoning;
    EXPECT_TRUE(reader->OnDelta(delta, {}, false).ok());
    return *this;
  }
  OneRun& Whole(const Message& message) {
    const std::string json = message::ToJsonText(message);
    EXPECT_TRUE(reader->OnMessage({json, "MAIN", 1}, {}).ok());
    return *this;
  }
  OneRun& End(run::RunStatus outcome = run::RunStatus::kDone) {
    EXPECT_TRUE(reader->OnEnd({.outcome = outcome}, {"", 9'000'000}).ok());
    return *this;
  }

  std::vector<json> Events() const {
    std::vector<json> events;
    for (size_t at = text.find("data: "); at != std::string::npos; at = text.find("data: ", at)) {
      at += 6;
      events.push_back(json::parse(text.substr(at, text.find('\n', at) - at)));
    }
    return events;
  }
  std::vector<std::string> Types() const {
    std::vector<std::string> types;
    for (const json& event : Events()) {
      types.push_back(event["type"].get<std::string>().substr(std::string("response.").size()));
    }
    return types;
  }

  std::optional<ResponseReader> reader;
  std::string text;
};

Message Answer(const std::string& id, const std::string& text) {
  Message message = Message::Assistant(text);
  message.id = id;
  return message;
}

Message Calling(const std::string& id) {
  Message message = Answer(id, "");
  message.role = Role::kTool;
  message.content.clear();
  message.content.emplace_back(ToolCallBlock{
      .id = "c1", .name = "weather", .arguments_json = R"({"city":"Oslo"})", .remote = true});
  return message;
}

TEST(ResponseReader, NumbersEventsWithoutAGap) {
  OneRun run;
  run.Start().Delta("m1", "he").Delta("m1", "llo").Whole(Answer("m1", "hello")).End();
  EXPECT_EQ(run.Types(), (std::vector<std::string>{
                             "created", "in_progress", "output_item.added", "content_part.added",
                             "output_text.delta", "output_text.delta", "output_text.done",
                             "content_part.done", "output_item.done", "completed"}));
  const std::vector<json> events = run.Events();
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i]["sequence_number"], i);
  EXPECT_EQ(events[6]["text"], "hello");
  EXPECT_EQ(events.back()["response"]["output"][0], events[8]["item"]);
  EXPECT_EQ(events.back()["response"]["created_at"], 7);
  EXPECT_EQ(events.back()["response"]["completed_at"], 9);
}

TEST(ResponseReader, ABackgroundResponseIsQueuedFirst) {
  OneRun run;
  run.Start(kBackground).Whole(Answer("m1", "x")).End();
  const std::vector<std::string> types = run.Types();
  EXPECT_EQ((std::vector<std::string>(types.begin(), types.begin() + 3)),
            (std::vector<std::string>{"created", "queued", "in_progress"}));
  EXPECT_EQ(run.Events()[0]["response"]["status"], "queued");
}

TEST(ResponseReader, TheRequestsOwnNoteGivesTheSameEventsAsTheLogs) {
  ResponseReaderOptions options;
  options.note_json = kBackground;
  OneRun first(std::move(options));
  OneRun later;
  for (OneRun* run : {&first, &later}) run->Start(kBackground).Whole(Answer("m1", "x")).End();
  EXPECT_EQ(first.text, later.text);
}

TEST(ResponseReader, SendsTheEventsBehindANumber) {
  OneRun all;
  all.Start().Delta("m1", "a").Delta("m1", "b").Whole(Answer("m1", "ab")).End();
  for (int64_t after = 0; after < 11; ++after) {
    ResponseReaderOptions options;
    options.after = after;
    OneRun rest(std::move(options));
    rest.Start().Delta("m1", "a").Delta("m1", "b").Whole(Answer("m1", "ab")).End();
    EXPECT_TRUE(all.text.ends_with(rest.text)) << after;
    EXPECT_EQ(rest.Events().size() + static_cast<size_t>(after) + 1,
              std::max(all.Events().size(), static_cast<size_t>(after) + 1));
  }
}

TEST(ResponseReader, AnErrorEventHasTheNextNumber) {
  OneRun run;
  run.Start().Delta("m1", "a");
  const std::string event = run.reader->ErrorEvent({api::ApiError::kTimeout, "too late", {}});
  const std::string number = std::to_string(run.Events().size());
  EXPECT_EQ(event, R"(event: error
data: {"type":"error","sequence_number":)" +
                       number +
                       R"(,"code":"TIMEOUT","message":"too late","param":null}

)");
}

TEST(ResponseReader, ACallOfTheClientIsAnItem) {
  OneRun run;
  run.Start().Whole(Calling("m1")).End();
  EXPECT_EQ(run.Types(),
            (std::vector<std::string>{
                "created", "in_progress", "output_item.added", "function_call_arguments.delta",
                "function_call_arguments.done", "output_item.done", "completed"}));
  const json item = run.Events()[5]["item"];
  EXPECT_EQ(item["call_id"], "c1");
  EXPECT_EQ(item["arguments"], R"({"city":"Oslo"})");
  EXPECT_EQ(run.Events()[2]["item"]["arguments"], "");
}

TEST(ResponseReader, ReasoningIsAnItemBeforeTheText) {
  OneRun run;
  run.Start().Delta("m1", "", "hm").Delta("m1", "yes").Whole([] {
    Message message = Answer("m1", "yes");
    message.content.emplace(message.content.begin(),
                            ReasoningBlock{.summary = "hm", .details = {}, .signature = {}});
    return message;
  }());
  run.End();
  const json output = run.Events().back()["response"]["output"];
  ASSERT_EQ(output.size(), 2u);
  EXPECT_EQ(output[0]["type"], "reasoning");
  EXPECT_EQ(output[0]["summary"][0]["text"], "hm");
  EXPECT_EQ(output[1]["content"][0]["text"], "yes");
}

TEST(ResponseReader, TheEncryptedContentHasAllSignaturesOfTheReasoning) {
  Message message = Answer("m1", "yes");
  for (const char* part : {"b", "a"}) {
    message.content.emplace(message.content.begin(),
                            ReasoningBlock{.summary = part, .details = {}, .signature = part});
  }
  OneRun run;
  run.Start(R"({"include":["reasoning.encrypted_content"]})").Delta("m1", "", "a");
  run.Whole(message).End();
  const json item = run.Events().back()["response"]["output"][0];
  const std::vector<ReasoningBlock> blocks =
      facades::ReasoningSplitter().Split({.summary = item["summary"][0]["text"],
                                          .details = {},
                                          .signature = item["encrypted_content"]});
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].signature, "a");
  EXPECT_EQ(blocks[1].signature, "b");
}

TEST(ResponseReader, WhatAnotherAttemptReplacesIsClosedAndNotPartOfTheResponse) {
  OneRun run;
  run.Start(kBackground).Delta("m1", "he");
  EXPECT_TRUE(run.reader->OnReset("m1", 2).ok());
  run.Delta("m2", "hi").Whole(Answer("m2", "hi")).End();
  const std::vector<json> events = run.Events();
  std::vector<std::string> done;
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["sequence_number"], i);
    if (events[i]["type"] == "response.output_item.done") {
      done.push_back(events[i]["item"]["status"]);
    }
  }
  EXPECT_EQ(done, (std::vector<std::string>{"incomplete", "completed"}));
  const json output = events.back()["response"]["output"];
  ASSERT_EQ(output.size(), 1u);
  EXPECT_EQ(output[0]["content"][0]["text"], "hi");
}

TEST(ResponseReader, ACancelledResponseHasNoLastEvent) {
  OneRun run;
  run.Start(kBackground).Delta("m1", "he").End(run::RunStatus::kStopped);
  EXPECT_EQ(run.Types().back(), "output_item.done");
  EXPECT_EQ(run.reader->response().status, "cancelled");
}

TEST(ResponseReader, AFailureIsInTheResponse) {
  OneRun run;
  run.Start();
  EXPECT_TRUE(
      run.reader->OnError({Status(StatusCode::kModel, "the model is down"), "MAIN", 1}, {}).ok());
  run.End(run::RunStatus::kError);
  const json last = run.Events().back();
  EXPECT_EQ(last["type"], "response.failed");
  EXPECT_EQ(last["response"]["error"]["message"], "the model is down");
  EXPECT_EQ(last["response"]["status"], "failed");
}

TEST(ResponseReader, EventsThatEndBeforeTheRunMakeNoCompleteResponse) {
  for (const auto outcome : {run::RunStatus::kDone, run::RunStatus::kError}) {
    OneRun run;
    run.Start().Delta("m1", "he");
    const api::RunEnd end{.outcome = outcome, .reason = "deleted"};
    EXPECT_TRUE(run.reader->OnEnd(end, {"", 9'000'000}).ok());
    const json last = run.Events().back();
    EXPECT_EQ(last["type"], "response.failed");
    EXPECT_EQ(last["response"]["error"]["message"], "the thread was deleted");
  }
}

}  // namespace
}  // namespace agent_graph::openai
