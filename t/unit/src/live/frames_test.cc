// Frames that clients may send, and the queues in both directions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/downstream.h"
#include "live/init_frame.h"
#include "live/upstream.h"
#include "live/utterance.h"

namespace agent_graph::live {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

Result<InitFrame> Read(std::string text, bool binary = false) {
  return ReadInitFrame({binary, std::move(text)});
}

TEST(InitFrameTest, EverythingIsOptional) {
  Result<InitFrame> init = Read(R"({"unknown": 1, "model": null})");
  ASSERT_TRUE(init.ok());
  EXPECT_EQ(init->thread_id, "");
  EXPECT_EQ(init->model, "");
  EXPECT_EQ(init->modality, std::nullopt);
  EXPECT_EQ(init->tools_tags, std::nullopt);
  EXPECT_EQ(init->vad.enabled, std::nullopt);
}

TEST(InitFrameTest, ReadsEveryKey) {
  Result<InitFrame> init =
      Read(R"({"thread_id": 7, "model": "m", "voice": "v", "modalities": "TEXT",
      "system_prompt": "", "tools_tags": ["a", "b"], "resumption_handle": "h",
      "vad": {"enabled": false, "silence_duration_ms": 300, "prefix_padding_ms": 20,
              "start_sensitivity": "START_SENSITIVITY_HIGH", "end_sensitivity": "low"}})");
  ASSERT_TRUE(init.ok()) << init.status().ToString();
  EXPECT_EQ(init->thread_id, "7");
  EXPECT_EQ(init->model, "m");
  EXPECT_EQ(init->voice, "v");
  EXPECT_EQ(init->modality, Modality::kText);
  EXPECT_EQ(init->system_prompt, "");
  EXPECT_THAT(*init->tools_tags, ElementsAre("a", "b"));
  EXPECT_EQ(init->resumption_handle, "h");
  EXPECT_EQ(init->vad.enabled, false);
  EXPECT_EQ(init->vad.silence_duration_ms, 300);
  EXPECT_EQ(init->vad.prefix_padding_ms, 20);
  EXPECT_EQ(init->vad.start_sensitivity, "high");
  EXPECT_EQ(init->vad.end_sensitivity, "low");
}

TEST(InitFrameTest, ExactlyOneModality) {
  EXPECT_EQ(Read(R"({"modalities": "AUDIO"})")->modality, Modality::kAudio);
  EXPECT_EQ(Read(R"({"modalities": ["TEXT"]})")->modality, Modality::kText);
  for (const char* value : {"[]", R"(["AUDIO","TEXT"])", R"(["VIDEO"])", "5", "\"audio\"", "{}"}) {
    Result<InitFrame> init = Read(std::string(R"({"modalities": )") + value + "}");
    EXPECT_EQ(init.status().message(), "modalities: must be exactly one of AUDIO and TEXT");
  }
}

TEST(InitFrameTest, UnusableFramesAndValues) {
  const std::string no_object = "the first frame must be a JSON object, as text";
  EXPECT_EQ(Read("hello").status().message(), no_object);
  EXPECT_EQ(Read("[]").status().message(), no_object);
  EXPECT_EQ(Read("\"{}\"").status().message(), no_object);
  EXPECT_EQ(Read("{}", true).status().message(), no_object);
  EXPECT_EQ(Read(R"({"model": 1})").status().message(), "model: must be a string");
  EXPECT_EQ(Read(R"({"thread_id": []})").status().message(), "thread_id: must be a string");
  EXPECT_EQ(Read(R"({"tools_tags": "a"})").status().message(),
            "tools_tags: must be a list of strings");
  EXPECT_EQ(Read(R"({"vad": 1})").status().message(), "vad: must be an object");
  EXPECT_EQ(Read(R"({"vad": {"enabled": "no"}})").status().message(),
            "vad.enabled: must be true or false");
  EXPECT_EQ(Read(R"({"vad": {"silence_duration_ms": -1}})").status().message(),
            "vad.silence_duration_ms: must be a number from 0 to 60000");
  EXPECT_EQ(Read("{\"voice\": \"a\\u0000b\"}").status().message(),
            "voice: must not hold control characters");
}

std::optional<UpstreamFrame> Frame(std::string text, bool binary = false) {
  return ReadUpstreamFrame({binary, std::move(text)});
}

TEST(UpstreamFrameTest, KnownFrames) {
  using Kind = UpstreamFrame::Kind;
  EXPECT_EQ(Frame("abc", true)->payload, "ab");  // cut to whole samples
  EXPECT_EQ(Frame(R"({"type":"text","text":"hi"})")->payload, "hi");
  EXPECT_EQ(Frame(R"({"type":"activity_start"})")->kind, Kind::kActivityStart);
  EXPECT_EQ(Frame(R"({"type":"activity_end","x":1})")->kind, Kind::kActivityEnd);
  EXPECT_EQ(Frame(R"({"type":"close"})")->kind, Kind::kClose);
}

TEST(UpstreamFrameTest, EverythingElseIsIgnored) {
  for (const char* text :
       {"", "x", "[]", "5", "null", "{}", R"({"type":5})", R"({"type":"image"})",
        R"({"type":"text"})", R"({"type":"text","text":5})", R"({"type":"text","text":""})"}) {
    EXPECT_FALSE(Frame(text)) << text;
  }
  EXPECT_FALSE(Frame("", true));
}

TEST(UpstreamQueueTest, DropsTheOldestAudioFirst) {
  using Kind = UpstreamFrame::Kind;
  UpstreamQueue queue(3);
  constexpr size_t kBytesMax = 1000;
  EXPECT_EQ(queue.Push({Kind::kText, "t1"}, kBytesMax), 0u);
  EXPECT_EQ(queue.Push({Kind::kAudio, "a1"}, kBytesMax), 0u);
  EXPECT_EQ(queue.Push({Kind::kAudio, "a2"}, kBytesMax), 0u);
  EXPECT_EQ(queue.Push({Kind::kAudio, "a3"}, kBytesMax), 1u);
  EXPECT_EQ(queue.Push({Kind::kText, "t2"}, kBytesMax), 1u);
  EXPECT_EQ(queue.Push({Kind::kText, "t3"}, kBytesMax), 1u);
  EXPECT_EQ(queue.Push({Kind::kText, "t4"}, kBytesMax), 1u);  // no audio is left to drop
  EXPECT_EQ(queue.Pop()->payload, "t2");
  EXPECT_EQ(queue.Pop()->payload, "t3");
  EXPECT_EQ(queue.Pop()->payload, "t4");
  EXPECT_FALSE(queue.Pop());
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST(UpstreamQueueTest, BytesAreBounded) {
  const UpstreamFrame frame{UpstreamFrame::Kind::kAudio, "1234"};
  UpstreamQueue queue;
  for (int i = 0; i < 5; ++i) (void)queue.Push(frame, 10);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.bytes(), 8u);
  // The limit may change while frames wait.
  EXPECT_EQ(queue.Push(frame, 100), 0u);
  EXPECT_EQ(queue.Push(frame, 4), 3u);
  EXPECT_EQ(queue.bytes(), 4u);
  // A frame above the limit replaces all others.
  EXPECT_EQ(queue.Push({UpstreamFrame::Kind::kAudio, "123456"}, 4), 1u);
  EXPECT_EQ(queue.Pop()->payload, "123456");
}

TEST(UpstreamQueueTest, HoldsAThousandLargeFrames) {
  constexpr size_t kWorker = 256 * 1024 * 1024;
  UpstreamQueue queue;
  const std::string two_seconds(64'000, 'x');
  for (size_t i = 0; i < kUpstreamFramesMax; ++i) {
    const UpstreamFrame frame{UpstreamFrame::Kind::kAudio, two_seconds};
    ASSERT_EQ(queue.Push(frame, UpstreamShare(kWorker, 1)), 0u) << i;
  }
}

TEST(UpstreamShareTest, DividesHalfOfTheWorkersBuffer) {
  constexpr uint64_t kMiB = 1024 * 1024;
  EXPECT_EQ(UpstreamShare(256 * kMiB, 0), 128 * kMiB);
  EXPECT_EQ(UpstreamShare(256 * kMiB, 1), 128 * kMiB);
  EXPECT_EQ(UpstreamShare(256 * kMiB, 8), 16 * kMiB);
  EXPECT_EQ(UpstreamShare(256 * kMiB, 1000), 4 * kMiB);
  EXPECT_EQ(UpstreamShare(6 * kMiB, 1), 4 * kMiB);
  EXPECT_EQ(UpstreamShare(kMiB, 3), kMiB);
}

using Added = Downstream::Added;

TEST(DownstreamTest, DropsAudioButNoEvents) {
  Downstream downstream({.audio_bytes_max = 8, .event_bytes_max = 4, .event_bytes_limit = 4});
  EXPECT_EQ(downstream.AddAudio("1111", {}), 0u);
  EXPECT_EQ(downstream.AddEvent("event", true), Added::kAdded);
  EXPECT_EQ(downstream.AddAudio("2222", {}), 0u);
  EXPECT_EQ(downstream.AddAudio("3333", {}), 1u);
  EXPECT_EQ(downstream.AddEvent("event", true), Added::kLimitReached);
  const Deadline now = MonotonicClock::now();
  EXPECT_EQ(downstream.Take(now)->payload, "event");
  EXPECT_EQ(downstream.Take(now)->payload, "2222");
  downstream.FlushAudio();
  EXPECT_TRUE(downstream.empty());
  EXPECT_EQ(downstream.bytes(), 0u);
}

TEST(DownstreamTest, AcceptsOneEventOfAnySize) {
  Downstream downstream({.audio_bytes_max = 8, .event_bytes_max = 4, .event_bytes_limit = 4});
  const Deadline now = MonotonicClock::now();
  EXPECT_EQ(downstream.AddEvent("a large event", true), Added::kAdded);
  EXPECT_EQ(downstream.AddEvent("another", true), Added::kLimitReached);
  EXPECT_EQ(downstream.Take(now)->payload, "a large event");
  EXPECT_EQ(downstream.AddEvent("another", true), Added::kAdded);
}

TEST(DownstreamTest, AFullWorkerLimitsWhatWaits) {
  Downstream downstream({.audio_bytes_max = 8, .event_bytes_max = 4, .event_bytes_limit = 8});
  EXPECT_EQ(downstream.AddEvent("1111", false), Added::kAdded);
  EXPECT_EQ(downstream.AddEvent("2222", false), Added::kWorkerFull);
  EXPECT_EQ(downstream.AddEvent("3333", true), Added::kAdded);
  EXPECT_EQ(downstream.AddEvent("4444", false), Added::kLimitReached);
  downstream.AddLastEvent("last");
  const Deadline now = MonotonicClock::now();
  for (const char* event : {"1111", "3333", "last"}) {
    EXPECT_EQ(downstream.Take(now)->payload, event);
  }
  EXPECT_EQ(downstream.bytes(), 0u);
}

TEST(DownstreamTest, ManyEventsAtOnceAreNoStall) {
  Downstream downstream({});
  const Deadline now = MonotonicClock::now();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(downstream.AddEvent(std::string(40'000, 'r'), true), Added::kAdded);
  }
  EXPECT_TRUE(downstream.full());
  EXPECT_FALSE(downstream.IsStalled(0, now));
  EXPECT_EQ(downstream.stalled_at(), now + kReadWaitMax);
  // The client reads a byte.
  EXPECT_FALSE(downstream.IsStalled(40'000, now + seconds(9)));
  EXPECT_FALSE(downstream.IsStalled(39'999, now + seconds(18)));
  EXPECT_FALSE(downstream.IsStalled(39'999, now + seconds(27)));
  EXPECT_TRUE(downstream.IsStalled(39'999, now + seconds(28)));
  while (downstream.full()) (void)downstream.Take(now);
  EXPECT_FALSE(downstream.IsStalled(39'999, now + seconds(60)));
  EXPECT_EQ(downstream.stalled_at(), kNoDeadline);
}

TEST(DownstreamTest, ComputesUnplayedAudio) {
  Downstream downstream({});
  const Deadline now = MonotonicClock::now();
  (void)downstream.AddAudio(std::string(48'000, 's'), {});
  (void)downstream.AddAudio(std::string(24'000, 's'), {});
  EXPECT_EQ(downstream.Unplayed(now), milliseconds(1500));
  (void)downstream.Take(now);
  EXPECT_EQ(downstream.Unplayed(now), milliseconds(1500));
  EXPECT_EQ(downstream.Unplayed(now + milliseconds(400)), milliseconds(1100));
  (void)downstream.Take(now + milliseconds(400));
  EXPECT_EQ(downstream.Unplayed(now + milliseconds(400)), milliseconds(1100));
  EXPECT_EQ(downstream.Unplayed(now + milliseconds(2000)), milliseconds(0));
}

TEST(UtteranceTest, PartsAreCompletedOnce) {
  Utterance utterance;
  EXPECT_EQ(utterance.Add("Hel", milliseconds(0)), "Hel");
  EXPECT_EQ(utterance.FinishPart("Hello", milliseconds(100)), "lo");
  EXPECT_EQ(utterance.FinishPart(" again", milliseconds(200)), " again");
  EXPECT_EQ(utterance.Add("!", milliseconds(300)), "!");
  EXPECT_EQ(utterance.FinishPart("?", milliseconds(300)), "");  // a correction cannot be taken back
  EXPECT_EQ(utterance.text(), "Hello again!");
  utterance.Cut(milliseconds(150));
  EXPECT_EQ(utterance.Take(), "Hello");
  EXPECT_EQ(utterance.text(), "");
}

}  // namespace
}  // namespace agent_graph::live
