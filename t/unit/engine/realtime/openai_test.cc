// Messages sent to OpenAI and events made from its messages.
#include "protocol_fixture.h"

namespace agent_graph::realtime {
namespace {

TEST_F(OpenAiTest, Address) {
  const net::WebSocketOptions connection =
      OpenAiDialect().connect(Options("https://api.openai.com/v1"), {.model = "a b"});
  EXPECT_EQ(connection.url, "wss://api.openai.com/v1/realtime?model=a%20b");
  EXPECT_THAT(connection.headers,
              ElementsAre(std::pair<std::string, std::string>("Authorization", "Bearer key")));
}

TEST_F(OpenAiTest, AddressOfAGateway) {
  const auto url = [](const std::string& base_url) {
    return OpenAiDialect().connect(Options(base_url), {.model = "m"}).url;
  };
  EXPECT_EQ(url("https://gateway.example/v1/"), "wss://gateway.example/v1/realtime?model=m");
  EXPECT_EQ(url("http://gateway.example/v1/?api-version=2"),
            "ws://gateway.example/v1/realtime?api-version=2&model=m");
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

TEST_F(OpenAiTest, IsPreparedUpToTheHistory) {
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

TEST_F(OpenAiTest, TextBlocksOfTheHistoryStayApart) {
  protocol_ = OpenAiDialect().make(Options("https://api.openai.com/v1"), {});
  protocol_->OnOpen();
  Receive({{"type", "session.created"}});
  Receive({{"type", "session.updated"}});
  protocol_->TakeMessages();
  Message message = Message::User("a");
  message.content.emplace_back(TextBlock{.text = "b"});
  protocol_->Begin({.history = {message}, .respond = true});
  EXPECT_EQ(Messages(*protocol_)[0]["item"]["content"],
            json::parse(R"([{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}])"));
}

TEST_F(OpenAiTest, WithoutDetection) {
  LinkConfig config;
  config.vad.enabled = false;
  BeginReady(config);
  EXPECT_TRUE(session_["audio"]["input"]["turn_detection"].is_null());
  EXPECT_TRUE(protocol_->SendActivity(true));
  EXPECT_FALSE(protocol_->SendActivity(false));  // no audio was sent
  EXPECT_THAT(Sent(), ElementsAre("input_audio_buffer.clear"));
  EXPECT_TRUE(protocol_->SendActivity(true));
  protocol_->SendAudio(std::string(3200, '\0'));
  EXPECT_TRUE(protocol_->SendActivity(false));
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

TEST_F(OpenAiTest, TranscriptsNameTheirUtterance) {
  BeginReady();
  for (const char* item : {"i1", "i2", "i3"}) {
    Receive({{"type", "input_audio_buffer.committed"}, {"item_id", item}});
  }
  (void)Events(*protocol_);
  auto tell = [&](const char* kind, const char* item) {
    Receive({{"type", std::string("conversation.item.input_audio_transcription.") + kind},
             {"item_id", item},
             {"transcript", "words"}});
    return Events(*protocol_).at(0).later;
  };
  EXPECT_EQ(tell("delta", "i1"), 2u);
  EXPECT_EQ(tell("completed", "i2"), 1u);
  EXPECT_EQ(tell("failed", "i3"), 0u);
  EXPECT_EQ(tell("completed", "i1"), 0u);
}

TEST_F(OpenAiTest, NoTranscriptIsExpectedIfParametersTurnItOff) {
  BeginReady({.parameters_json = R"({"audio":{"input":{"transcription":null}}})"});
  EXPECT_FALSE(session_["audio"]["input"].contains("transcription"));
  Receive({{"type", "input_audio_buffer.committed"}, {"item_id", "i1"}});
  const std::vector<Event> events = Events(*protocol_);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, Kind::kInputExpected);
  EXPECT_EQ(events[1].kind, Kind::kInputTranscript);
  EXPECT_TRUE(events[1].finished);
}

TEST_F(OpenAiTest, BargeInTruncatesTheItemThatWasPlayed) {
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

// A player of PCM16 would exchange the halves of all later samples, which is loud noise.
TEST_F(OpenAiTest, SamplesAreWholeWhereverTheProviderDividesThem) {
  BeginReady();
  const auto speak = [&](const std::string& response, const std::string& item, std::string pcm) {
    Receive({{"type", "response.output_audio.delta"},
             {"response_id", response},
             {"item_id", item},
             {"delta", models::EncodeBase64(pcm)}});
  };
  const auto audio = [&] {
    std::vector<std::string> pieces;
    for (const Event& event : Events(*protocol_)) {
      if (event.kind == Kind::kAudio) pieces.push_back(event.text);
    }
    return pieces;
  };
  BeginResponse("r1");
  speak("r1", "a1", "abc");
  speak("r1", "a1", "d");
  speak("r1", "a1", "e");
  speak("r1", "a1", "fgh");
  EXPECT_THAT(audio(), ElementsAre("ab", "cd", "efgh"));
  // Half a sample never moves into another item, another answer or behind an interruption.
  speak("r1", "a1", "i");
  speak("r1", "a2", "jkl");
  EXPECT_THAT(audio(), ElementsAre("jk"));
  EndResponse("r1");
  BeginResponse("r2");
  speak("r2", "a2", "mno");
  EXPECT_THAT(audio(), ElementsAre("mn"));
  Receive({{"type", "input_audio_buffer.speech_started"}});
  BeginResponse("r3");
  speak("r3", "a2", "pq");
  EXPECT_THAT(audio(), ElementsAre("pq"));
}

TEST_F(OpenAiTest, BargeInTruncatesEveryItemThatWasPlayed) {
  BeginReady();
  const auto speak = [&](const std::string& response, const std::string& item, int seconds) {
    BeginResponse(response);
    Receive({{"type", "response.output_audio.delta"},
             {"response_id", response},
             {"item_id", item},
             {"delta", models::EncodeBase64(std::string(48'000 * seconds, 'x'))}});
  };
  const auto cuts = [&](milliseconds heard) {
    (void)Messages(*protocol_);
    protocol_->Truncate(heard);
    std::vector<std::string> told;
    for (const json& sent : Messages(*protocol_)) {
      told.push_back(sent["item_id"].get<std::string>() + " " + sent["audio_end_ms"].dump());
    }
    return told;
  };
  const json call = {
      {"type", "function_call"}, {"call_id", "c1"}, {"name", "add"}, {"arguments", "{}"}};
  for (const int heard : {500, 2500}) {
    speak("r0", "a0", 1);
    EndResponse("r0");  // response of an earlier turn
    speak("r1", "a1", 2);
    Receive({{"type", "response.done"},
             {"response", {{"id", "r1"}, {"status", "completed"}, {"output", {call}}}}});
    speak("r2", "a2", 1);
    std::vector<std::string> expected = {"a2 500"};
    if (heard == 500) expected = {"a1 500", "a2 0"};
    EXPECT_EQ(cuts(milliseconds(heard)), expected);
    EndResponse("r2");
  }
  speak("r3", "a3", 1);
  EndResponse("r3");  // complete but still being played
  EXPECT_THAT(cuts(milliseconds(300)), ElementsAre("a3 300"));
  EXPECT_THAT(cuts(milliseconds(300)), IsEmpty());
}

TEST_F(OpenAiTest, ATextCutsOffUntakenEvents) {
  BeginReady();
  BeginResponse();
  Receive(
      {{"type", "response.output_audio_transcript.delta"}, {"response_id", "r1"}, {"delta", "Hi"}});
  EndResponse();
  protocol_->SendText("stop");
  const std::vector<Event> events = Events(*protocol_);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::kTurnComplete);
  EXPECT_TRUE(events[0].answer_due);
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
  EXPECT_FALSE(events[0].calls[0].broken);
  EXPECT_EQ(events[0].calls[1].arguments_json, "{}");
  EXPECT_TRUE(events[0].calls[1].broken);
  protocol_->SendToolReplies({{"c1", "add", "3", false}});
  const std::vector<json> sent = Messages(*protocol_);
  EXPECT_EQ(sent[0]["item"]["output"], "3");
  EXPECT_EQ(sent[0]["item"]["call_id"], "c1");
  EXPECT_EQ(sent[1]["type"], "response.create");
}

TEST_F(OpenAiTest, AFailedResponseCallsNothing) {
  BeginReady();
  BeginResponse();
  const json call = {
      {"type", "function_call"}, {"call_id", "c1"}, {"name", "add"}, {"arguments", "{}"}};
  Receive({{"type", "response.done"},
           {"response", {{"id", "r1"}, {"status", "failed"}, {"output", {call}}}}});
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kError, Kind::kTurnComplete));
}

TEST_F(OpenAiTest, ARefusedResponseIsRequestedAgain) {
  BeginReady();
  protocol_->SendText("first");
  protocol_->SendText("second");
  BeginResponse();
  Refuse();
  EXPECT_EQ(Sent().size(), 4u);
  EndResponse();
  const std::vector<Event> events = Events(*protocol_);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::kTurnComplete);
  EXPECT_TRUE(events[0].answer_due);
  EXPECT_THAT(Sent(), ElementsAre("response.create"));
  BeginResponse("r2");
  EndResponse("r2");
  EXPECT_FALSE(Events(*protocol_)[0].answer_due);
  EXPECT_THAT(Sent(), IsEmpty());
}

TEST_F(OpenAiTest, AResponseInTheWayMayBeOneThatWasCutOff) {
  BeginReady();
  BeginResponse();
  protocol_->SendText("stop");
  EXPECT_THAT(Sent(),
              ElementsAre("response.cancel", "conversation.item.create", "response.create"));
  Refuse();
  EndResponse("r1", "cancelled");
  EXPECT_THAT(Sent(), ElementsAre("response.create"));
  EXPECT_THAT(Events(*protocol_), IsEmpty());
}

TEST_F(OpenAiTest, NoResponseIsRequestedWhileTheUserSpeaks) {
  BeginReady();
  BeginResponse();
  protocol_->SendToolReplies({{"c1", "add", "3", false}});
  Refuse();
  Receive({{"type", "input_audio_buffer.speech_started"}});
  (void)Sent();
  EndResponse("r1", "cancelled");
  EXPECT_THAT(Sent(), IsEmpty());
}

TEST_F(OpenAiTest, CallsOfTheResponseInTheWayAskWithTheirResults) {
  BeginReady();
  BeginResponse();
  Refuse();
  const json call = {
      {"type", "function_call"}, {"call_id", "c1"}, {"name", "add"}, {"arguments", "{}"}};
  Receive({{"type", "response.done"},
           {"response", {{"id", "r1"}, {"status", "completed"}, {"output", {call}}}}});
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kToolCalls));
  EXPECT_THAT(Sent(), IsEmpty());
}

TEST_F(OpenAiTest, AnAnswerToTheUserWhoSpeaksAgainIsCancelled) {
  LinkConfig config;
  config.vad.enabled = false;
  BeginReady(config);
  protocol_->SendAudio("ab");
  protocol_->SendActivity(false);
  protocol_->SendActivity(true);
  (void)Sent();
  BeginResponse();
  EXPECT_THAT(Sent(), ElementsAre("response.cancel"));
  protocol_->SendAudio("cd");
  protocol_->SendActivity(false);
  Refuse();
  (void)Sent();
  EndResponse("r1", "cancelled");
  EXPECT_THAT(Sent(), ElementsAre("response.create"));
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

TEST_F(OpenAiTest, ARefusedSessionEnds) {
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

}  // namespace
}  // namespace agent_graph::realtime
