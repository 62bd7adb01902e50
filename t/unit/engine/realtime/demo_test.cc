#include "realtime/demo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <thread>

#include "realtime/resampler.h"
#include "realtime/speech_detector.h"

namespace agent_graph::realtime {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using Kind = Event::Kind;

std::string Tone(milliseconds duration, int rate = kInputRate, double amplitude = 8000) {
  std::string pcm;
  const int64_t count = duration.count() * rate / 1000;
  for (int64_t i = 0; i < count; ++i) {
    const auto sample = static_cast<int16_t>(
        amplitude * std::sin(2 * std::numbers::pi * 300 * static_cast<double>(i) / rate));
    pcm.append(reinterpret_cast<const char*>(&sample), 2);
  }
  return pcm;
}

std::string Silence(milliseconds duration) {
  return std::string(static_cast<size_t>(duration.count()) * kInputRate / 1000 * 2, '\0');
}

// Collects all events up to the end of the turn.
std::vector<Event> Drain(Link& link) {
  std::vector<Event> events;
  const Deadline give_up = DeadlineAfter(std::chrono::minutes(2));
  while (MonotonicClock::now() < give_up) {
    if (auto event = link.Next()) {
      events.push_back(*std::move(event));
      if (events.back().kind == Kind::kResumption || events.back().kind == Kind::kToolCalls) break;
    } else if (link.wake_at() == kNoDeadline) {
      break;
    } else {
      std::this_thread::sleep_until(link.wake_at());
    }
  }
  return events;
}

std::string Text(const std::vector<Event>& events, Kind kind) {
  std::string text;
  for (const Event& event : events) {
    if (event.kind == kind && !event.finished) text += event.text;
  }
  return text;
}

std::unique_ptr<Link> Open(const LinkConfig& config = {}) {
  return DemoProvider().Open(config, [] {});
}

TEST(DemoLinkTest, AnotherDetectionModeNeedsAnotherLink) {
  auto link = Open();
  EXPECT_TRUE(link->Reconfigure({.system_prompt = "Now you."}));
  EXPECT_FALSE(link->Reconfigure({.vad = {.silence_duration_ms = 200}}));
  EXPECT_FALSE(link->Reconfigure({.modality = Modality::kText}));
}

TEST(DemoLinkTest, AnswersSpeech) {
  auto link = Open();
  EXPECT_EQ(link->Next()->kind, Kind::kReady);
  link->SendAudio(Silence(milliseconds(200)) + Tone(milliseconds(1000)));
  EXPECT_EQ(link->Next()->kind, Kind::kSpeechStarted);
  EXPECT_FALSE(link->Next());
  link->SendAudio(Silence(milliseconds(700)));
  std::vector<Event> events = Drain(*link);
  EXPECT_EQ(events[0].kind, Kind::kInputTranscript);
  EXPECT_EQ(events[0].text, "1.0 seconds of speech");
  EXPECT_EQ(Text(events, Kind::kOutputTranscript), "You said: 1.0 seconds of speech");
  EXPECT_GT(Text(events, Kind::kAudio).size(), 24'000u);
  EXPECT_EQ(events[events.size() - 2].kind, Kind::kTurnComplete);
  EXPECT_EQ(events.back().text, "demo:1");
}

TEST(DemoLinkTest, SpeechInterrupts) {
  auto link = Open();
  (void)link->Next();
  link->SendText("a long text to say");
  EXPECT_EQ(link->Next()->kind, Kind::kOutputTranscript);
  link->SendAudio(Tone(milliseconds(200)));
  EXPECT_EQ(link->Next()->kind, Kind::kSpeechStarted);
  EXPECT_EQ(link->Next()->kind, Kind::kInterrupted);
  EXPECT_FALSE(link->Next());
}

TEST(DemoLinkTest, SpeaksOnlyTheBeginningOfALongAnswer) {
  auto link = Open({.modality = Modality::kText});
  (void)link->Next();
  std::string text;
  for (int i = 0; i < 500'000; ++i) text += "a ";
  link->SendText(text);
  const std::vector<Event> events = Drain(*link);
  ASSERT_GT(events.size(), 3u);
  EXPECT_LT(events.size(), 1010u);
  const Event& whole = events[events.size() - 3];
  EXPECT_TRUE(whole.finished);
  EXPECT_EQ(whole.text, "You said: " + text);
}

TEST(DemoLinkTest, WithoutDetectionTheClientReportsItsSpeech) {
  LinkConfig config{.modality = Modality::kText};
  config.vad.enabled = false;
  auto link = Open(config);
  (void)link->Next();
  link->SendAudio(Tone(milliseconds(500)));
  link->SendActivity(true);
  EXPECT_EQ(link->Next()->kind, Kind::kSpeechStarted);
  link->SendAudio(Tone(milliseconds(300)) + Silence(milliseconds(900)));
  EXPECT_FALSE(link->Next());
  link->SendActivity(false);
  std::vector<Event> events = Drain(*link);
  EXPECT_EQ(events[0].text, "1.2 seconds of speech");
  EXPECT_EQ(Text(events, Kind::kAudio), "");
}

TEST(DemoLinkTest, CallsTools) {
  LinkConfig config{.modality = Modality::kText, .tools = {{.name = "add", .description = ""}}};
  auto link = Open(config);
  (void)link->Next();
  link->SendText(R"(call add {"a":1})");
  std::vector<Event> events = Drain(*link);
  ASSERT_EQ(events.back().kind, Kind::kToolCalls);
  EXPECT_EQ(events.back().calls[0].name, "add");
  EXPECT_EQ(events.back().calls[0].arguments_json, R"({"a":1})");
  link->SendToolReplies({{events.back().calls[0].id, "add", "\"three\"", false}});
  EXPECT_EQ(Text(Drain(*link), Kind::kOutputTranscript), "three");
}

TEST(DemoLinkTest, CountsWhatItRemembers) {
  const auto link = DemoProvider().Open({}, [] {});
  EXPECT_EQ(link->held_bytes(), 0u);
  link->SendText(std::string(1000, 'x'));
  EXPECT_GE(link->held_bytes(), 2000u) << "the question and the answer that repeats it";
}

TEST(DemoLinkTest, ContinuesCountingWhenResumed) {
  auto link = Open({.modality = Modality::kText, .resumption_handle = "demo:4"});
  link->SendText("hi");
  EXPECT_EQ(Drain(*link).back().text, "demo:5");
  link = Open({.modality = Modality::kText, .resumption_handle = "demo:9223372036854775807"});
  link->SendText("hi");
  EXPECT_EQ(Drain(*link).back().text, "demo:1000000001");
}

TEST(SpeechDetectorTest, NoiseIsNotSpeech) {
  SpeechDetector detector({});
  const std::string noise = Tone(milliseconds(3000), kInputRate, 200);
  std::string_view sound = noise;
  EXPECT_EQ(detector.Feed(sound), SpeechDetector::Change::kNone);
  const std::string click = Tone(milliseconds(20));
  sound = click;
  EXPECT_EQ(detector.Feed(sound), SpeechDetector::Change::kNone);
}

TEST(SpeechDetectorTest, SilenceIsNoSpeechOfAnyDuration) {
  SpeechDetector detector({.begins_after = milliseconds(0), .ends_after = milliseconds(0)});
  const std::string silence = Silence(milliseconds(1000));
  std::string_view pcm = silence;
  EXPECT_EQ(detector.Feed(pcm), SpeechDetector::Change::kNone);
}

TEST(SpeechDetectorTest, PiecesOfAnySize) {
  SpeechDetector detector({});
  const std::string sound = Tone(milliseconds(400)) + Silence(milliseconds(700));
  std::vector<SpeechDetector::Change> changes;
  for (size_t at = 0; at < sound.size(); at += 334) {
    std::string_view piece = std::string_view(sound).substr(at, 334);
    while (!piece.empty()) {
      if (auto change = detector.Feed(piece); change != SpeechDetector::Change::kNone) {
        changes.push_back(change);
      }
    }
  }
  EXPECT_THAT(changes, ElementsAre(SpeechDetector::Change::kBegan, SpeechDetector::Change::kEnded));
  EXPECT_EQ(detector.duration(), milliseconds(400));
}

double Energy(std::string_view pcm, size_t skip) {
  double sum = 0;
  size_t count = 0;
  for (size_t i = skip; i + skip < pcm.size() / 2; ++i, ++count) {
    int16_t sample;
    std::memcpy(&sample, pcm.data() + 2 * i, 2);
    sum += static_cast<double>(sample) * sample;
  }
  return std::sqrt(sum / static_cast<double>(count));
}

TEST(ResamplerTest, KeepsLengthAndLoudnessAtEveryRate) {
  const double loud = Energy(Tone(milliseconds(500), 48'000), 100);
  for (auto [from, to] : {std::pair{16'000, 24'000},
                          {24'000, 16'000},
                          {8'000, 24'000},
                          {48'000, 24'000},
                          {44'100, 24'000}}) {
    const std::string out = Resampler(from, to).Convert(Tone(milliseconds(500), from));
    EXPECT_NEAR(static_cast<double>(out.size()), to, 8) << from << " to " << to;
    EXPECT_NEAR(Energy(out, 100), loud, loud / 50) << from << " to " << to;
  }
}

TEST(ResamplerTest, RemovesFrequenciesAboveTheLowerRate) {
  std::string high;
  for (int i = 0; i < 24'000; ++i) {
    const auto sample =
        static_cast<int16_t>(8000 * std::sin(2 * std::numbers::pi * 11'000 * i / 24'000));
    high.append(reinterpret_cast<const char*>(&sample), 2);
  }
  EXPECT_LT(Energy(Resampler(24'000, 16'000).Convert(high), 100), 200);
}

TEST(ResamplerTest, PiecesGiveTheSameResultAsTheWhole) {
  const std::string tone = Tone(milliseconds(100));
  Resampler whole(16'000, 24'000);
  Resampler pieces(16'000, 24'000);
  std::string joined;
  for (size_t at = 0; at < tone.size(); at += 38) joined += pieces.Convert(tone.substr(at, 38));
  EXPECT_EQ(joined, whole.Convert(tone));
}

}  // namespace
}  // namespace agent_graph::realtime
