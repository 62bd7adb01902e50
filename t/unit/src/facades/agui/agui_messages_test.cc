#include "facades/agui/agui_messages.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "api/http/fields.h"
#include "facades/agui/agui_request.h"
#include "facades/agui/agui_shapes.h"
#include "facades/run/attachments.h"
#include "settings/media_urls.h"

namespace agent_graph::agui {
namespace {

using Indices = std::vector<size_t>;

const settings::MediaUrls kAllUrls;

// Reads the messages as the route does: the table of fields is checked first.
std::vector<Message> Read(const char* messages, std::vector<std::string>* location = nullptr) {
  json body = {{"threadId", "t"}, {"runId", "r"}, {"messages", json::parse(messages)}};
  api::Problems problems;
  api::CheckFields(body, kRunAgentInput.fields, {"body"}, problems);
  std::vector<Message> read;
  const json& all = body["messages"];
  if (problems.empty()) {
    read = ReadMessages(all, IndicesFrom(all, 0), {kAllUrls, 0, 1000}, problems);
  }
  EXPECT_EQ(problems.empty(), location == nullptr);
  if (location != nullptr && !problems.empty()) {
    *location = std::move(problems).Error().details.front().location;
  }
  return read;
}

std::string ProblemIn(const char* messages) {
  std::vector<std::string> location;
  Read(messages, &location);
  std::string path;
  for (const std::string& part : location) path += (path.empty() ? "" : ".") + part;
  return path;
}

json Shown(const std::vector<Message>& messages) {
  MessageList list;
  for (const Message& message : messages) list.Append(message);
  return json::parse(list.Json());
}

TEST(AgUiMessages, ComeBackAsTheyWereSent) {
  const char* conversation = R"([
    {"id":"s1","role":"system","content":"be brief"},
    {"id":"u1","role":"user","content":[{"type":"text","text":"hi"},
      {"type":"image","source":{"type":"url","value":"https://example.com/a.png"}},
      {"type":"audio","source":{"type":"data","value":"aGk=","mimeType":"audio/wav"}},
      {"type":"document","source":{"type":"file","value":"f1"}}]},
    {"id":"reasoning-a1","role":"reasoning","content":"hm","encryptedValue":"sig"},
    {"id":"a1","role":"assistant","content":"wait","toolCalls":[
      {"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},
    {"id":"r1","role":"tool","toolCallId":"c1","content":"42"},
    {"id":"a2","role":"assistant","toolCalls":[
      {"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},
    {"id":"r2","role":"tool","toolCallId":"c2","content":"no","error":"no"},
    {"id":"r3","role":"tool","toolCallId":"c3","content":[
      {"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}]},
    {"id":"r4","role":"tool","toolCallId":"c4","content":[{"type":"text","text":"two pages"},
      {"type":"document","source":{"type":"file","value":"f2"}},
      {"type":"document","source":{"type":"file","value":"f3"}}]},
    {"id":"r5","role":"tool","toolCallId":"c5","content":"plain"},
    {"id":"u2","role":"user","content":[{"type":"text","text":"read this"},
      {"type":"text","text":"Chapter One."}]}])";
  EXPECT_EQ(Shown(Read(conversation)), json::parse(conversation));
}

TEST(AgUiMessages, ReasoningComesBackWithAllItsSignatures) {
  Message answer = Message::Assistant("yes");
  answer.id = "a";
  for (const char* part : {"b", "a"}) {
    answer.content.emplace(answer.content.begin(),
                           ReasoningBlock{.summary = part, .details = {}, .signature = part});
  }
  const std::vector<Message> read = Read(Shown({answer}).dump().c_str());
  ASSERT_EQ(read.size(), 1u);
  ASSERT_EQ(read[0].content.size(), 3u);
  EXPECT_EQ(std::get<ReasoningBlock>(read[0].content[0]).signature, "a");
  EXPECT_EQ(std::get<ReasoningBlock>(read[0].content[1]).summary, "b");
}

// A short text may name many blocks.
TEST(AgUiMessages, TheBlocksOfAllReasoningAreBounded) {
  std::string value = "blocks:[[0,\"s\"]";
  for (int i = 1; i < 900; ++i) value += ",[0,\"s\"]";
  json messages = json::array();
  for (const char* id : {"a", "b", "c"}) {
    messages.push_back({{"id", std::string("r") + id},
                        {"role", "reasoning"},
                        {"content", ""},
                        {"encryptedValue", value + ']'}});
    messages.push_back({{"id", id}, {"role", "assistant"}, {"content", "yes"}});
  }
  const std::vector<Message> read = Read(messages.dump().c_str());
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].content.size(), 901u);
  EXPECT_EQ(read[1].content.size(), 2u);
  EXPECT_EQ(read[2].content.size(), 2u);
}

TEST(AgUiMessages, AUserMayWriteTheTextThatNamesACall) {
  Message written = Message::User("Attached to the result of the call c:");
  written.id = "u";
  EXPECT_EQ(Shown({written})[0].at("id"), "u");
}

// Models take nothing between the results of parallel calls.
TEST(AgUiMessages, FilesOfResultsFollowTheLastOfThem) {
  const std::vector<Message> read = Read(R"([
    {"id":"r1","role":"tool","toolCallId":"c1","content":[
      {"type":"image","source":{"type":"url","value":"https://example.com/a.png"}}]},
    {"id":"r2","role":"tool","toolCallId":"c2","content":"42"},
    {"id":"u","role":"user","content":"and?"}])");
  ASSERT_EQ(read.size(), 4u);
  EXPECT_EQ(read[0].ToolResults()[0]->output_json, R"("The result is attached below.")");
  EXPECT_EQ(read[1].id, "r2");
  EXPECT_EQ(read[2].role, Role::kUser);
  EXPECT_EQ(read[2].Text(), "Attached to the result of the call c1:");
  EXPECT_EQ(read[2].id, "attachments-r1");
  EXPECT_EQ(ResultOfAttachments(read[2].id), "r1");
  EXPECT_EQ(ResultOfAttachments("r1"), "");
}

TEST(AgUiMessages, DevelopersAndActivities) {
  const std::vector<Message> messages = Read(R"([
    {"id":"d","role":"developer","content":"be kind","name":"eve"},
    {"id":"x","role":"activity","activityType":"plot","content":{}},
    {"id":"a","role":"assistant"}])");
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].role, Role::kSystem);
  EXPECT_EQ(messages[0].metadata_json, R"({"name":"eve"})");
  EXPECT_TRUE(messages[1].content.empty());
  EXPECT_EQ(Shown(messages).size(), 1u) << "an answer without text and calls is no message";
}

TEST(AgUiMessages, PartsOfClientsBefore10) {
  const std::vector<Message> messages = Read(R"([{"id":"u","role":"user","content":[
    {"type":"binary","mimeType":"image/png","data":"aGk="},
    {"type":"binary","mimeType":"application/pdf","url":"https://example.com/a.pdf"},
    {"type":"binary","mimeType":"video/mp4","id":"f1"}]}])");
  ASSERT_EQ(messages[0].content.size(), 3u);
  EXPECT_EQ(std::get<MediaBlock>(messages[0].content[0]).type, MediaBlock::Type::kImage);
  EXPECT_EQ(std::get<MediaBlock>(messages[0].content[1]).type, MediaBlock::Type::kDocument);
  EXPECT_EQ(std::get<MediaBlock>(messages[0].content[2]).media.file_id, "f1");
}

TEST(AgUiMessages, ProblemsNameTheField) {
  EXPECT_EQ(ProblemIn(R"([{"id":"u","role":"user"}])"), "body.messages.0.content");
  EXPECT_EQ(ProblemIn(R"([{"id":"u","role":"user","content":5}])"), "body.messages.0.content");
  EXPECT_EQ(ProblemIn(R"([{"id":"u","role":"user","content":[{"type":"x"}]}])"),
            "body.messages.0.content.0.type");
  EXPECT_EQ(ProblemIn(R"([{"id":"u","role":"user","content":[{"type":"image","source":{
      "type":"data"}}]}])"),
            "body.messages.0.content.0.source.value");
  EXPECT_EQ(ProblemIn(R"([{"id":"s","role":"system","content":[{"type":"image","source":{}}]}])"),
            "body.messages.0.content.0.type");
  EXPECT_EQ(ProblemIn(R"([{"id":"a","role":"assistant","content":["x"]}])"),
            "body.messages.0.content");
  EXPECT_EQ(ProblemIn(R"([{"id":"a","role":"assistant","toolCalls":[
      {"id":"c","function":{"name":"f","arguments":"[]"}}]}])"),
            "body.messages.0.toolCalls.0.function.arguments");
  EXPECT_EQ(ProblemIn(R"([{"id":"r","role":"tool","content":"x"}])"), "body.messages.0.toolCallId");
}

TEST(AgUiMessages, HaveIdsThatTheThreadCanKeep) {
  for (const char* id : {"..", "a/../b", "a\\u0000b"}) {
    const std::string messages =
        std::string(R"([{"id":")") + id + R"(","role":"user","content":"hi"}])";
    EXPECT_EQ(ProblemIn(messages.c_str()), "body.messages.0.id") << id;
  }
  const std::string long_id(api::kIdBytesMax + 1, 'x');
  const std::string messages = R"([{"id":")" + long_id + R"(","role":"user","content":"hi"}])";
  EXPECT_EQ(ProblemIn(messages.c_str()), "body.messages.0.id");
  EXPECT_EQ(Read(R"([{"id":"0","role":"user","content":"hi"}])").at(0).id, "0");
  EXPECT_EQ(Read(R"([{"id":" ","role":"user","content":"hi"}])").at(0).id, "");
}

TEST(AgUiMessages, TextsOfAResultOrAnInstructionAreKeptApart) {
  const json shown = Shown(Read(R"([
    {"id":"s1","role":"system","content":[{"type":"text","text":"be brief"},
      {"type":"text","text":"be kind"}]},
    {"id":"r1","role":"tool","toolCallId":"c1","content":[{"type":"text","text":"one"},
      {"type":"text","text":"two"}]}])"));
  EXPECT_EQ(shown.at(0).at("content"), "be brief\nbe kind");
  EXPECT_EQ(shown.at(1).at("content"), "one\ntwo");
}

TEST(AgUiMessages, OnlyTheEndOfAKnownConversationIsNew) {
  const json messages = json::parse(R"([
    {"id":"u1","role":"user"},{"id":"a1","role":"assistant"},{"id":"u2","role":"user"},
    {"id":"u3","role":"user"}])");
  EXPECT_EQ(NewMessages(messages, {}), Indices({2, 3}));
  EXPECT_EQ(NewMessages(messages, {{"u2", 1, ""}}), Indices({3}));
  EXPECT_EQ(NewMessages(messages, {{"u3", 1, ""}}), Indices({}));
  EXPECT_EQ(NewMessages(json::array(), {{"u3", 1, ""}}), Indices({}));
}

TEST(AgUiMessages, ResultsThatTheThreadLacksAreNewAnywhereInTheEnd) {
  const json results = json::parse(R"([{"id":"a","role":"assistant"},{"id":"c:tool","role":"tool"},
      {"id":"r","role":"tool"},{"id":"r-2","role":"tool"},{"id":"u","role":"user"}])");
  EXPECT_EQ(NewMessages(results, {{"r", 1, ""}}), Indices({1, 4}))
      << "a message of ours may have several results";
  EXPECT_EQ(NewMessages(results, {{"c:tool", 1, ""}, {"r", 2, ""}}), Indices({4}));
  EXPECT_EQ(NewMessages(results, {{"u", 1, ""}}), Indices({1, 2, 3}));
}

TEST(MessageList, ShowsACallOnceAndTheResultsOfAMessageEach) {
  Message handed_out = Message::Assistant("");
  handed_out.id = "a2";
  handed_out.content = {ToolCallBlock{.id = "c1", .name = "f", .remote = true}};
  Message asked = handed_out;
  asked.id = "a1";
  Message results;
  results.id = "r";
  results.role = Role::kTool;
  results.content = {ToolResultBlock{"c1", R"({"x":1})"}, ToolResultBlock{"c2", R"("text")"}};
  const json shown = Shown({asked, handed_out, results});
  ASSERT_EQ(shown.size(), 3u) << shown;
  EXPECT_EQ(shown[1].at("id"), "r");
  EXPECT_EQ(shown[1].at("content"), R"({"x":1})");
  EXPECT_EQ(shown[2].at("id"), "r-2");
  EXPECT_EQ(shown[2].at("content"), "text");
}

MessageList ListOf(const std::vector<const char*>& ids) {
  MessageList list;
  for (const char* id : ids) {
    Message message = Message::User("text");
    message.id = id;
    list.Append(message);
  }
  return list;
}

using Ids = std::vector<std::string>;

TEST(MessageList, KeepsTheNewestMessages) {
  MessageList list = ListOf({"1", "2", "3"});
  list.KeepLast(2 * list.bytes() / 3);
  const json shown = json::parse(list.Json());
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown[0].at("id"), "2");
  EXPECT_TRUE(list.is_cut());
  EXPECT_EQ(list.ids(), Ids({"2", "3"})) << "a client gets no others";
  EXPECT_EQ(list.appended_ids(), Ids({"1", "2", "3"}));
}

TEST(MessageList, AddsOlderMessagesOfTheClient) {
  const json client = json::parse(R"([
      {"id":"1","role":"user","content":"old","name":null,"metadata":{"x":null}},
      {"id":"reasoning-2","role":"reasoning","content":"hm"},
      {"id":"2","role":"assistant","content":"older than the list"},
      {"id":"p","role":"activity","activityType":"plot","content":{}},
      {"id":"reasoning-3","role":"reasoning","content":"is in the list"},
      {"id":"3","role":"assistant","content":"x"},
      {"id":"void","role":"assistant","content":"between messages of the list"},
      {"id":"4","role":"user","content":"x"}])");
  MessageList list = ListOf({"3", "4"});
  ASSERT_TRUE(list.AddOlder(client, 10'000));
  EXPECT_EQ(list.ids(), Ids({"1", "2", "3", "4"}));
  const json shown = json::parse(list.Json());
  ASSERT_EQ(shown.size(), 5u);
  EXPECT_EQ(shown[0].dump(), R"({"id":"1","role":"user","content":"old","metadata":{"x":null}})");
  EXPECT_EQ(shown[1].at("id"), "reasoning-2");
  EXPECT_FALSE(ListOf({"3", "4"}).AddOlder(client, 100));
}

TEST(MessageList, ClientsBefore10GetNoPartsOfResults) {
  Message result = Message::ToolResult("c", R"("text")");
  result.id = "r";
  Message attachments;
  facades::Attach("c", {MediaBlock{}}, attachments);
  MessageList list(false);
  list.Append(result);
  list.Append(attachments);
  EXPECT_EQ(json::parse(list.Json())[0].at("content"), "text");
  EXPECT_EQ(list.ids(), Ids({"r"}));
}

}  // namespace
}  // namespace agent_graph::agui
