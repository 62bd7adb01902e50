// The client marks the beginning and end of speech, because the provider does not detect them.
#include "protocol_fixture.h"

namespace agent_graph::realtime {
namespace {

class OpenAiActivityTest : public OpenAiTest {
 protected:
  void SetUp() override {
    LinkConfig config;
    config.vad.enabled = false;
    BeginReady(config);
  }
};

TEST_F(OpenAiActivityTest, EmptySpeechCancelsNoAnswer) {
  protocol_->SendActivity(true);
  protocol_->SendToolReplies({{"c1", "add", "3", false}});
  (void)Sent();
  BeginResponse();
  EXPECT_THAT(Sent(), ElementsAre("response.cancel"));
  EXPECT_TRUE(protocol_->SendActivity(false));
  EXPECT_THAT(Sent(), ElementsAre("response.create"));

  BeginResponse("r2");
  protocol_->SendActivity(true);  // before any of it was transcribed
  EXPECT_THAT(Sent(), ElementsAre("response.cancel", "input_audio_buffer.clear"));
  protocol_->SendActivity(false);
  EXPECT_THAT(Sent(), ElementsAre("response.create"));

  BeginResponse("r3");
  protocol_->SendToolReplies({{"c2", "add", "3", false}});
  Receive(
      {{"type", "response.output_audio_transcript.delta"}, {"response_id", "r3"}, {"delta", "Hi"}});
  protocol_->SendActivity(true);
  Refuse();
  EndResponse("r3", "cancelled");
  (void)Sent();
  EXPECT_TRUE(protocol_->SendActivity(false));
  EXPECT_THAT(Sent(), ElementsAre("response.create"));
}

TEST_F(OpenAiActivityTest, NoResponseIsRequestedTwice) {
  protocol_->SendText("first");
  BeginResponse();
  protocol_->SendActivity(true);
  protocol_->SendText("second");
  (void)Sent();
  EXPECT_FALSE(protocol_->SendActivity(false));
  EXPECT_THAT(Sent(), IsEmpty());

  BeginResponse("r2");
  protocol_->SendToolReplies({{"c1", "add", "3", false}});
  Refuse();
  protocol_->SendText("never mind");
  (void)Sent();
  EndResponse("r2", "cancelled");
  EXPECT_THAT(Sent(), IsEmpty());
}

TEST_F(OpenAiActivityTest, EmptySpeechThatInterruptsAnAnswerIsNotAnswered) {
  BeginResponse();
  Receive(
      {{"type", "response.output_audio_transcript.delta"}, {"response_id", "r1"}, {"delta", "Hi"}});
  protocol_->SendActivity(true);
  (void)Sent();
  EXPECT_FALSE(protocol_->SendActivity(false));
  EXPECT_THAT(Sent(), IsEmpty());
  EXPECT_EQ(Events(*protocol_).back().kind, Kind::kNothingAsked);
}

TEST_F(OpenAiActivityTest, EmptySpeechIsReportedUnlessAnAnswerIsInProgress) {
  protocol_->SendActivity(true);
  protocol_->SendActivity(false);
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kSpeechStarted, Kind::kNothingAsked));
  protocol_->SendActivity(false);  // without a beginning
  EXPECT_THAT(Kinds(*protocol_), IsEmpty());
  protocol_->SendText("a question");
  for (const bool refused : {false, true}) {
    protocol_->SendActivity(true);
    if (refused) Refuse();
    protocol_->SendActivity(false);
    EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kSpeechStarted));
  }
}

TEST_F(OpenAiActivityTest, ATextBehindEmptySpeechIsAnswered) {
  protocol_->SendActivity(true);
  protocol_->SendActivity(false);
  protocol_->SendText("a question");
  EXPECT_THAT(Kinds(*protocol_), ElementsAre(Kind::kSpeechStarted));
}

TEST_F(OpenAiActivityTest, AResponseCancelledBySpeechIsAnsweredWithIt) {
  protocol_->SendText("a question");
  protocol_->SendActivity(true);
  BeginResponse();
  (void)Sent();
  protocol_->SendAudio("ab");
  protocol_->SendActivity(false);
  EXPECT_THAT(Sent(), ElementsAre("input_audio_buffer.append", "input_audio_buffer.commit",
                                  "response.create"));
  BeginResponse("r2");
  EndResponse("r2");
  protocol_->SendActivity(true);
  (void)Sent();
  EXPECT_FALSE(protocol_->SendActivity(false));
  EXPECT_THAT(Sent(), IsEmpty());
}

}  // namespace
}  // namespace agent_graph::realtime
