// Messages sent to Gemini and events made from its messages.
#include "protocol_fixture.h"

namespace agent_graph::realtime {
namespace {

TEST_F(GeminiTest, Address) {
  const net::WebSocketOptions connection =
      GeminiDialect().connect(Options("https://generativelanguage.googleapis.com/v1beta"), {});
  EXPECT_EQ(connection.url,
            "wss://generativelanguage.googleapis.com/ws/"
            "google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent");
}

TEST_F(GeminiTest, AddressOfAGateway) {
  const auto url = [](const std::string& base_url) {
    return GeminiDialect().connect(Options(base_url), {}).url;
  };
  const std::string service =
      "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";
  EXPECT_EQ(url("https://gateway.example/"), "wss://gateway.example" + service);
  EXPECT_EQ(url("https://gateway.example/v1beta/?key=/v1"),
            "wss://gateway.example" + service + "?key=/v1");
  EXPECT_EQ(url("http://v1-gateway.corp/gemini"), "ws://v1-gateway.corp/gemini" + service);
  EXPECT_EQ(url("https://v1.example"), "wss://v1.example" + service);
  EXPECT_EQ(url("https://v1.example/v1beta"), "wss://v1.example" + service);
}

TEST_F(GeminiTest, ReportsThatThereIsNothingToAnswer) {
  Begin({.respond = true});
  Receive({{"setupComplete", json::object()}});
  EXPECT_THAT(Messages(*protocol_), IsEmpty());
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kNothingAsked, Kind::kReady));
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

TEST_F(GeminiTest, ClientActivityIsIgnoredUnlessDetectionIsOff) {
  BeginReady();
  EXPECT_FALSE(protocol_->SendActivity(true));
  EXPECT_FALSE(protocol_->SendActivity(false));
  protocol_->EndAudio();
  EXPECT_EQ(Messages(*protocol_)[0], json::parse(R"({"realtimeInput":{"audioStreamEnd":true}})"));
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

TEST_F(GeminiTest, TheEndOfAnInterruptedTurnAnswersNothing) {
  BeginReady();
  Say("one");
  Sign("interrupted");
  Sign("turnComplete");
  Sign("turnComplete");
  std::vector<Event> events = Events(*protocol_);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(events[2].answer_due);
  EXPECT_FALSE(events[3].answer_due);
  Sign("interrupted");
  Say("two");
  Sign("turnComplete");
  EXPECT_FALSE(Events(*protocol_).back().answer_due);
}

TEST_F(GeminiTest, ATextCutsAnAnswerOff) {
  BeginReady();
  Say("Once upon");
  protocol_->SendText("stop");  // before the session has accepted that
  Say(" a time");
  EXPECT_THAT(Kinds(*protocol_), IsEmpty());
  Sign("interrupted");
  Sign("turnComplete");
  Say("OK");
  Sign("turnComplete");
  const std::vector<Event> events = Events(*protocol_);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_TRUE(events[0].answer_due);
  EXPECT_EQ(events[1].text, "OK");
  EXPECT_FALSE(events[2].answer_due);
}

TEST_F(GeminiTest, AnAnswerThatWasCompleteBeforeATextCameIsCutOffToo) {
  BeginReady();
  for (const bool known : {false, true}) {
    Say("one");
    if (known) Sign("generationComplete");
    (void)Events(*protocol_);
    protocol_->SendText("stop");
    if (!known) Sign("generationComplete");
    Say("two");  // belongs to the next answer
    EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kOutputTranscript));
    Sign("turnComplete");
    EXPECT_FALSE(Events(*protocol_)[0].answer_due);
  }
  Say("three");
  protocol_->SendText("stop");
  Sign("turnComplete");
  EXPECT_TRUE(Events(*protocol_)[0].answer_due);
}

TEST_F(GeminiTest, AnswersResumeIfTheProviderReportsNoInterruption) {
  BeginReady();
  Say("one");
  protocol_->SendText("stop");
  for (int i = 0; i < 200; ++i) Say("two");
  EXPECT_THAT(Events(*protocol_).size(), 100u);
  Sign("turnComplete");
  EXPECT_FALSE(Events(*protocol_)[0].answer_due);
}

TEST_F(GeminiTest, NothingIsCutOffBehindAnError) {
  BeginReady();
  Say("one");
  Receive({{"error", {{"message", "hm"}}}});
  (void)Events(*protocol_);
  protocol_->SendText("again");
  Say("two");
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kOutputTranscript));
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

TEST_F(GeminiTest, SamplesAreWholeWhereverTheProviderDividesThem) {
  BeginReady();
  const auto speak = [&](std::string pcm, const char* type) {
    const json data = {{"mimeType", type}, {"data", models::EncodeBase64(pcm)}};
    Receive({{"serverContent", {{"modelTurn", {{"parts", {{{"inlineData", data}}}}}}}}});
  };
  const auto audio = [&] {
    std::vector<std::string> pieces;
    for (const Event& event : Events(*protocol_)) {
      if (event.kind == Kind::kAudio) pieces.push_back(event.text);
    }
    return pieces;
  };
  for (const char* ending : {"interrupted", "turnComplete"}) {
    speak("abc", "audio/pcm;rate=24000");
    speak("d", "audio/pcm;rate=24000");
    speak("e", "audio/pcm;rate=24000");
    EXPECT_THAT(audio(), ElementsAre("ab", "cd"));
    Sign(ending);
  }
  speak("abc", "audio/pcm;rate=24000");
  EXPECT_THAT(audio(), ElementsAre("ab"));
  protocol_->SendText("Wait");
  Sign("interrupted");
  speak("ab", "audio/pcm;rate=24000");
  EXPECT_THAT(audio(), ElementsAre("ab"));
  // Other rates: 4801 bytes at 16 kHz are 7200 at 24 kHz, and half a sample.
  speak(std::string(4801, 'a'), "audio/pcm;rate=16000");
  speak("a", "audio/pcm;rate=16000");
  std::string joined;
  for (const std::string& piece : audio()) {
    EXPECT_EQ(piece.size() % 2, 0u);
    joined += piece;
  }
  EXPECT_NEAR(static_cast<double>(joined.size()), 7203, 2);
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

TEST_F(GeminiTest, ANewSessionReceivesTheHistory) {
  Begin({.history = {Message::User("a"), Message::Assistant("b")}, .respond = true});
  Receive({{"setupComplete", json::object()}});
  EXPECT_EQ(Messages(*protocol_)[0], json::parse(R"({"clientContent":{"turnComplete":true,"turns":[
                {"role":"user","parts":[{"text":"a"}]},
                {"role":"model","parts":[{"text":"b"}]}]}})"));
}

TEST_F(GeminiTest, TextBlocksOfTheHistoryStayApart) {
  Message message = Message::User("a");
  message.content.emplace_back(TextBlock{.text = "b"});
  Begin({.history = {message}, .respond = true});
  Receive({{"setupComplete", json::object()}});
  EXPECT_EQ(Messages(*protocol_)[0]["clientContent"]["turns"][0]["parts"],
            json::parse(R"([{"text":"a"},{"text":"b"}])"));
}

TEST_F(GeminiTest, TheTimeLeftIsANumber) {
  BeginReady();
  for (const char* text : {"nan", "-5s", "soon"}) {
    Receive({{"goAway", {{"timeLeft", text}}}});
  }
  const std::vector<Event> events = Events(*protocol_);
  ASSERT_EQ(events.size(), 3u);
  for (const Event& event : events) EXPECT_EQ(event.time_left, milliseconds(0));
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
