// What providers are told and how their words are read, without a network.
#include "realtime/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/media.h"
#include "realtime/gemini.h"
#include "realtime/openai.h"

namespace agent_graph::realtime {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = Event::Kind;
using std::chrono::milliseconds;

models::ProviderOptions Options(const std::string& base_url) {
  models::ProviderOptions options;
  options.model = "model-1";
  options.base_url = base_url;
  options.api_key = "key";
  options.parameters_json = "{}";
  return options;
}

std::vector<json> Messages(Protocol& protocol) {
  std::vector<json> messages;
  for (const std::string& text : protocol.TakeMessages()) messages.push_back(json::parse(text));
  return messages;
}

std::vector<Event> Events(Protocol& protocol) {
  std::vector<Event> events(protocol.events().begin(), protocol.events().end());
  protocol.events().clear();
  return events;
}

std::vector<Kind> Kinds(Protocol& protocol) {
  std::vector<Kind> kinds;
  for (const Event& event : Events(protocol)) kinds.push_back(event.kind);
  return kinds;
}

TEST(Base64Test, EveryLength) {
  EXPECT_EQ(models::EncodeBase64(""), "");
  EXPECT_EQ(models::EncodeBase64("f"), "Zg==");
  EXPECT_EQ(models::EncodeBase64("fo"), "Zm8=");
  EXPECT_EQ(models::EncodeBase64("foo"), "Zm9v");
  EXPECT_EQ(models::EncodeBase64("\xff\xfe\xfd\xfc"), "//79/A==");
}

// --- OpenAI -----------------------------------------------------------------------------------

class OpenAiTest : public testing::Test {
 protected:
  void Begin(LinkConfig config = {}) {
    protocol_ = OpenAiDialect().make(Options("https://api.openai.com/v1"), config);
    protocol_->Begin(config);
    protocol_->OnOpen();
    Receive({{"type", "session.created"}});
    session_ = Messages(*protocol_)[0]["session"];
    Receive({{"type", "session.updated"}});
  }
  void BeginReady(LinkConfig config = {}) {
    Begin(std::move(config));
    (void)Messages(*protocol_);
    (void)Events(*protocol_);
  }
  void Receive(const json& message) { protocol_->OnMessage(message.dump()); }
  void BeginResponse(const std::string& id = "r1") {
    Receive({{"type", "response.created"}, {"response", {{"id", id}}}});
  }
  std::vector<std::string> Sent() {
    std::vector<std::string> types;
    for (const json& message : Messages(*protocol_)) types.push_back(message["type"]);
    return types;
  }

  std::unique_ptr<Protocol> protocol_;
  json session_;
};

TEST_F(OpenAiTest, Address) {
  const net::WebSocketOptions connection =
      OpenAiDialect().connect(Options("https://api.openai.com/v1"), {.model = "a b"});
  EXPECT_EQ(connection.url, "wss://api.openai.com/v1/realtime?model=a%20b");
  EXPECT_THAT(connection.headers,
              ElementsAre(std::pair<std::string, std::string>("Authorization", "Bearer key")));
}

TEST_F(OpenAiTest, Session) {
  LinkConfig config{.voice = "marin", .system_prompt = "Be kind."};
  config.vad.silence_duration_ms = 300;
  config.vad.start_sensitivity = "high";
  config.tools.push_back({"add", "Adds.", R"({"type":"object"})"});
  config.parameters_json = R"({"max_output_tokens":100,"audio":{"output":{"speed":1.2}}})";
  config.history = {Message::User("before"), Message::Assistant("yes")};
  Begin(config);
  const json format = {{"type", "audio/pcm"}, {"rate", 24000}};
  EXPECT_EQ(session_["type"], "realtime");
  EXPECT_EQ(session_["instructions"], "Be kind.");
  EXPECT_EQ(session_["output_modalities"], json::array({"audio"}));
  EXPECT_EQ(session_["audio"]["input"]["format"], format);
  EXPECT_EQ(session_["audio"]["input"]["turn_detection"],
            json({{"type", "server_vad"}, {"silence_duration_ms", 300}, {"threshold", 0.3}}));
  EXPECT_EQ(session_["audio"]["output"],
            json({{"format", format}, {"voice", "marin"}, {"speed", 1.2}}));
  EXPECT_EQ(session_["max_output_tokens"], 100);
  EXPECT_EQ(session_["tools"][0]["name"], "add");
  EXPECT_THAT(Sent(), ElementsAre("conversation.item.create", "conversation.item.create"));
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kReady));
}

TEST_F(OpenAiTest, IsPreparedUpToWhatWasSaid) {
  protocol_ = OpenAiDialect().make(Options("https://api.openai.com/v1"), {});
  protocol_->OnOpen();
  Receive({{"type", "session.created"}});
  EXPECT_THAT(Sent(), ElementsAre("session.update"));
  Receive({{"type", "session.updated"}});
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kPrepared));
  protocol_->Begin({.history = {Message::User("before")}, .respond = true});
  EXPECT_THAT(Sent(), ElementsAre("conversation.item.create", "response.create"));
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kReady));
}

TEST_F(OpenAiTest, WithoutDetection) {
  LinkConfig config;
  config.vad.enabled = false;
  BeginReady(config);
  EXPECT_TRUE(session_["audio"]["input"]["turn_detection"].is_null());
  protocol_->SendActivity(true);
  protocol_->SendAudio(std::string(3200, '\0'));
  protocol_->SendActivity(false);
  EXPECT_THAT(Sent(), ElementsAre("input_audio_buffer.clear", "input_audio_buffer.append",
                                  "input_audio_buffer.commit", "response.create"));
}

TEST_F(OpenAiTest, ATurnOfSpeech) {
  BeginReady();
  Receive({{"type", "input_audio_buffer.speech_started"}});
  Receive({{"type", "input_audio_buffer.speech_stopped"}});
  Receive({{"type", "input_audio_buffer.committed"}, {"item_id", "i1"}});
  BeginResponse();
  Receive(
      {{"type", "response.output_audio_transcript.delta"}, {"response_id", "r1"}, {"delta", "Hi"}});
  Receive({{"type", "response.output_audio.delta"},
           {"response_id", "r1"},
           {"item_id", "a1"},
           {"delta", models::EncodeBase64(std::string(4800, 'x'))}});
  Receive(
      {{"type", "conversation.item.input_audio_transcription.completed"}, {"transcript", "hello"}});
  Receive({{"type", "response.output_audio_transcript.done"},
           {"response_id", "r1"},
           {"transcript", "Hi!"}});
  Receive({{"type", "response.done"}, {"response", {{"id", "r1"}, {"status", "completed"}}}});
  const std::vector<Event> events = Events(*protocol_);
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[0].kind, Kind::kSpeechStarted);
  EXPECT_EQ(events[1].kind, Kind::kInputExpected);
  EXPECT_EQ(events[2].text, "Hi");
  EXPECT_EQ(events[3].text.size(), 4800u);
  EXPECT_EQ(events[4].kind, Kind::kInputTranscript);
  EXPECT_TRUE(events[4].finished);
  EXPECT_EQ(events[5].text, "Hi!");
  EXPECT_EQ(events[6].kind, Kind::kTurnComplete);
}

TEST_F(OpenAiTest, BargeInCutsTheItemThatWasHeard) {
  BeginReady();
  BeginResponse();
  Receive({{"type", "response.output_audio.delta"},
           {"response_id", "r1"},
           {"item_id", "a1"},
           {"delta", models::EncodeBase64(std::string(48'000, 'x'))}});
  Receive({{"type", "input_audio_buffer.speech_started"}});
  Receive({{"type", "response.output_audio.delta"},
           {"response_id", "r1"},
           {"item_id", "a1"},
           {"delta", models::EncodeBase64("late")}});
  Receive({{"type", "response.done"}, {"response", {{"id", "r1"}, {"status", "cancelled"}}}});
  EXPECT_THAT(Kinds(*protocol_),
              ElementsAre(Kind::kAudio, Kind::kInterrupted, Kind::kSpeechStarted));
  protocol_->Truncate(milliseconds(700));
  const json sent = Messages(*protocol_)[0];
  EXPECT_EQ(sent["type"], "conversation.item.truncate");
  EXPECT_EQ(sent["item_id"], "a1");
  EXPECT_EQ(sent["audio_end_ms"], 700);
}

TEST_F(OpenAiTest, Tools) {
  BeginReady();
  BeginResponse();
  const json call = {
      {"type", "function_call"}, {"call_id", "c1"}, {"name", "add"}, {"arguments", R"({"a":1})"}};
  const json broken = {
      {"type", "function_call"}, {"call_id", "c2"}, {"name", "add"}, {"arguments", "{"}};
  Receive({{"type", "response.done"},
           {"response", {{"id", "r1"}, {"status", "completed"}, {"output", {call, broken}}}}});
  const std::vector<Event> events = Events(*protocol_);
  ASSERT_EQ(events.size(), 1u);
  ASSERT_EQ(events[0].calls.size(), 2u);
  EXPECT_EQ(events[0].calls[0].arguments_json, R"({"a":1})");
  EXPECT_EQ(events[0].calls[1].arguments_json, "{}");
  protocol_->SendToolReplies({{"c1", "add", "3", false}});
  const std::vector<json> sent = Messages(*protocol_);
  EXPECT_EQ(sent[0]["item"]["output"], "3");
  EXPECT_EQ(sent[0]["item"]["call_id"], "c1");
  EXPECT_EQ(sent[1]["type"], "response.create");
}

TEST_F(OpenAiTest, AnotherAgentInTheSameSession) {
  BeginReady();
  EXPECT_TRUE(protocol_->Reconfigure({.system_prompt = "Now you."}));
  EXPECT_EQ(Messages(*protocol_)[0]["session"]["instructions"], "Now you.");
  EXPECT_FALSE(protocol_->Reconfigure({.voice = "other"}));
  EXPECT_FALSE(protocol_->Reconfigure({.vad = {.enabled = false}}));
  EXPECT_FALSE(protocol_->Reconfigure({.parameters_json = R"({"max_output_tokens":9})"}));
  EXPECT_THAT(Messages(*protocol_), IsEmpty());
}

TEST_F(OpenAiTest, Errors) {
  BeginReady();
  Receive({{"type", "error"}, {"error", {{"code", "response_cancel_not_active"}}}});
  EXPECT_THAT(Events(*protocol_), IsEmpty());
  Receive({{"type", "error"}, {"error", {{"type", "server_error"}, {"message", "hm"}}}});
  EXPECT_EQ(Events(*protocol_)[0].code, "server_error");
  BeginResponse();
  Receive({{"type", "response.done"},
           {"response",
            {{"id", "r1"},
             {"status", "failed"},
             {"status_details", {{"error", {{"code", "quota"}, {"message", "no money"}}}}}}}});
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kError, Kind::kTurnComplete));
  for (const char* nonsense : {"", "[", "[]", "{}", R"({"type":5})", R"({"type":"response.done"})",
                               R"({"type":"response.output_audio.delta","delta":5})"}) {
    protocol_->OnMessage(nonsense);
  }
  EXPECT_THAT(Events(*protocol_), IsEmpty());
}

TEST_F(OpenAiTest, ARefusedSessionIsOver) {
  protocol_ = OpenAiDialect().make(Options("http://x/v1"), {});
  Receive({{"type", "error"}, {"error", {{"code", "invalid_value"}, {"message", "bad voice"}}}});
  const std::vector<Event> events = Events(*protocol_);
  EXPECT_EQ(events[0].kind, Kind::kClosed);
  EXPECT_FALSE(events[0].retry);
  EXPECT_FALSE(protocol_->MayRetry({.close_code = 4000}));
  EXPECT_FALSE(protocol_->MayRetry({.http_status = 401}));
  EXPECT_TRUE(protocol_->MayRetry({.http_status = 503}));
  EXPECT_TRUE(protocol_->MayRetry({.close_code = 1011}));
}

// --- Gemini -----------------------------------------------------------------------------------

class GeminiTest : public testing::Test {
 protected:
  void Begin(const LinkConfig& config = {}) {
    protocol_ =
        GeminiDialect().make(Options("https://generativelanguage.googleapis.com/v1beta"), config);
    protocol_->Begin(config);
    protocol_->OnOpen();
    setup_ = Messages(*protocol_)[0]["setup"];
  }
  void BeginReady(const LinkConfig& config = {}) {
    Begin(config);
    Receive({{"setupComplete", json::object()}});
    (void)Events(*protocol_);
  }
  void Receive(const json& message) { protocol_->OnMessage(message.dump()); }

  std::unique_ptr<Protocol> protocol_;
  json setup_;
};

TEST_F(GeminiTest, Address) {
  const net::WebSocketOptions connection =
      GeminiDialect().connect(Options("https://generativelanguage.googleapis.com/v1beta"), {});
  EXPECT_EQ(connection.url,
            "wss://generativelanguage.googleapis.com/ws/"
            "google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent");
}

TEST_F(GeminiTest, IsPreparedUpToTheHandle) {
  protocol_ = GeminiDialect().make(Options("https://host/v1beta"), {});
  protocol_->OnOpen();
  EXPECT_THAT(Messages(*protocol_), IsEmpty());
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kPrepared));
  Receive({{"setupComplete", json::object()}});
  EXPECT_THAT(Kinds(*protocol_), IsEmpty());
  protocol_->Begin({.resumption_handle = "h"});
  EXPECT_EQ(Messages(*protocol_)[0]["setup"]["sessionResumption"], json({{"handle", "h"}}));
  Receive({{"setupComplete", json::object()}});
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kReady));
}

TEST_F(GeminiTest, SetupOfATextSession) {
  LinkConfig config{.modality = Modality::kText, .resumption_handle = "h"};
  config.vad = {.enabled = false, .end_sensitivity = "low"};
  Begin(config);
  EXPECT_EQ(setup_["model"], "models/model-1");
  EXPECT_EQ(setup_["generationConfig"]["responseModalities"], json::array({"TEXT"}));
  EXPECT_FALSE(setup_.contains("outputAudioTranscription"));
  EXPECT_FALSE(setup_.contains("tools"));
  EXPECT_EQ(setup_["sessionResumption"], json({{"handle", "h"}}));
  EXPECT_EQ(setup_["realtimeInputConfig"]["automaticActivityDetection"],
            json({{"disabled", true}, {"endOfSpeechSensitivity", "END_SENSITIVITY_LOW"}}));
  Receive({{"setupComplete", json::object()}});
  protocol_->SendActivity(true);
  EXPECT_EQ(Messages(*protocol_)[0], json::parse(R"({"realtimeInput":{"activityStart":{}}})"));
  protocol_->EndAudio();
  EXPECT_EQ(Messages(*protocol_)[0], json::parse(R"({"realtimeInput":{"activityEnd":{}}})"));
}

TEST_F(GeminiTest, ContentOfEveryKind) {
  BeginReady();
  Receive(json::parse(R"({"serverContent":{"inputTranscription":{"text":"hey"}}})"));
  Receive({{"serverContent",
            {{"modelTurn",
              {{"parts",
                {{{"inlineData",
                   {{"mimeType", "audio/pcm;rate=24000"}, {"data", models::EncodeBase64("abcd")}}}},
                 {{"text", "thinking"}, {"thought", true}},
                 {{"inlineData", {{"mimeType", "image/png"}, {"data", "AAAA"}}}}}}}},
             {"outputTranscription", {{"text", "Hello"}}}}}});
  Receive(json::parse(R"({"serverContent":{"interrupted":true}})"));
  Receive(json::parse(R"({"serverContent":{"generationComplete":true}})"));
  Receive(json::parse(R"({"serverContent":{"turnComplete":true}})"));
  const std::vector<Event> events = Events(*protocol_);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].text, "hey");
  EXPECT_EQ(events[1].kind, Kind::kOutputTranscript);
  EXPECT_EQ(events[2].text, "abcd");
  EXPECT_EQ(events[3].kind, Kind::kInterrupted);
  EXPECT_EQ(events[4].kind, Kind::kTurnComplete);
}

TEST_F(GeminiTest, OtherRatesAreChanged) {
  BeginReady();
  Receive({{"serverContent",
            {{"modelTurn",
              {{"parts",
                {{{"inlineData",
                   {{"mimeType", "audio/pcm;rate=16000"},
                    {"data", models::EncodeBase64(std::string(3200, 'a'))}}}}}}}}}}});
  EXPECT_EQ(Events(*protocol_)[0].text.size(), 4800u);
}

TEST_F(GeminiTest, ToolsHandlesAndFarewells) {
  BeginReady();
  Receive(json::parse(
      R"({"toolCall":{"functionCalls":[{"id":"1","name":"add","args":{"a":1}},{"name":"now"}]}})"));
  Receive(json::parse(R"({"toolCallCancellation":{"ids":["1",5]}})"));
  Receive(json::parse(R"({"sessionResumptionUpdate":{"newHandle":"h","resumable":true}})"));
  Receive(json::parse(R"({"sessionResumptionUpdate":{"newHandle":"x","resumable":false}})"));
  Receive(json::parse(R"({"goAway":{"timeLeft":"9.5s"}})"));
  const std::vector<Event> events = Events(*protocol_);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].calls[0].arguments_json, R"({"a":1})");
  EXPECT_EQ(events[0].calls[1].name, "now");
  EXPECT_EQ(events[1].kind, Kind::kToolsCancelled);
  ASSERT_EQ(events[1].calls.size(), 1u);
  EXPECT_EQ(events[1].calls[0].id, "1");
  EXPECT_EQ(events[2].text, "h");
  EXPECT_EQ(events[3].time_left, milliseconds(9500));
  protocol_->SendToolReplies({{"1", "add", "3", false}, {"", "now", R"({"t":1})", false}});
  EXPECT_EQ(Messages(*protocol_)[0], json::parse(R"({"toolResponse":{"functionResponses":[
                {"id":"1","name":"add","response":{"result":3}},
                {"name":"now","response":{"t":1}}]}})"));
}

TEST_F(GeminiTest, ANewSessionIsToldWhatWasSaid) {
  Begin({.history = {Message::User("a"), Message::Assistant("b")}, .respond = true});
  Receive({{"setupComplete", json::object()}});
  EXPECT_EQ(Messages(*protocol_)[0], json::parse(R"({"clientContent":{"turnComplete":true,"turns":[
                {"role":"user","parts":[{"text":"a"}]},
                {"role":"model","parts":[{"text":"b"}]}]}})"));
}

TEST_F(GeminiTest, NonsenseIsIgnored) {
  BeginReady();
  for (const char* text : {"", "{", "[]", "5", "{}", R"({"serverContent":5})",
                           R"({"serverContent":{"modelTurn":{"parts":[5,{"inlineData":{}}]}}})",
                           R"({"toolCall":{"functionCalls":[5]}})", R"({"goAway":[]})",
                           R"({"toolCallCancellation":{"ids":5}})"}) {
    protocol_->OnMessage(text);
  }
  EXPECT_THAT(Events(*protocol_), IsEmpty());
}

}  // namespace
}  // namespace agent_graph::realtime
