#include "realtime/demo.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>
#include <numbers>
#include <utility>

#include "models/demo.h"
#include "realtime/speech_detector.h"

namespace agent_graph::realtime {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPiece{100};  // audio per event
constexpr milliseconds kLead{200};   // audio is sent this long before it is due
constexpr milliseconds kWordPause{40};
constexpr milliseconds kWordMax{480};
constexpr milliseconds kPerLetter{40};
constexpr double kLoudness = 6000;
// Limits of the messages that are remembered, and of their texts.
constexpr size_t kHistoryMax = 100;
constexpr size_t kHistoryBytesMax = 2 * 1024 * 1024;
// Spoken words of an answer. An answer may repeat a text of a client, of any length: the rest is
// only in its complete text.
constexpr int kWordsMax = 1000;
constexpr std::string_view kHandle = "demo:";
constexpr int64_t kResumedTurnsMax = 1'000'000'000;  // a handle comes from the client

size_t BytesOf(milliseconds duration) {
  return static_cast<size_t>(duration.count()) * kOutputRate / 1000 * 2;
}

// A tone whose pitch depends on the word, faded in and out, followed by a pause.
std::string ToneOf(std::string_view word) {
  const auto length = std::min(kPerLetter * static_cast<int>(word.size()), kWordMax);
  uint32_t hash = 2166136261U;
  for (char c : word) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  const double pitch = 160 + hash % 160;
  const size_t count = BytesOf(length) / 2;
  std::string pcm(BytesOf(length + kWordPause), '\0');
  for (size_t i = 0; i < count; ++i) {
    const double at = static_cast<double>(i) / static_cast<double>(count);
    const double edge = std::min({1.0, 10 * at, 10 * (1 - at)});
    const double phase = 2 * std::numbers::pi * pitch * static_cast<double>(i) / kOutputRate;
    const auto sample =
        static_cast<int16_t>(kLoudness * edge * (std::sin(phase) + 0.4 * std::sin(2 * phase)));
    std::memcpy(&pcm[2 * i], &sample, sizeof(sample));
  }
  return pcm;
}

std::string DescribeSpeech(milliseconds duration) {
  const int64_t tenths = (duration.count() + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " seconds of speech";
}

bool SameDetection(const VoiceActivity& one, const VoiceActivity& other) {
  return one.enabled == other.enabled && one.silence_duration_ms == other.silence_duration_ms &&
         one.prefix_padding_ms == other.prefix_padding_ms;
}

SpeechDetectorOptions DetectorOptions(const VoiceActivity& vad) {
  SpeechDetectorOptions options;
  if (vad.silence_duration_ms) options.ends_after = milliseconds(*vad.silence_duration_ms);
  if (vad.prefix_padding_ms) options.begins_after = milliseconds(*vad.prefix_padding_ms);
  return options;
}

class DemoLink : public Link {
 public:
  explicit DemoLink(const LinkConfig& config)
      : config_(config), detector_(DetectorOptions(config.vad)) {}

  void Begin(const LinkConfig& config) override {
    config_ = config;
    for (Message& message : std::exchange(config_.history, {})) Remember(std::move(message));
    Push(Event::Kind::kReady);
    if (config.resumption_handle.starts_with(kHandle)) {
      const std::string_view count =
          std::string_view(config.resumption_handle).substr(kHandle.size());
      std::from_chars(count.data(), count.data() + count.size(), turns_);
      turns_ = std::clamp(turns_, int64_t{0}, kResumedTurnsMax);
    }
    if (config.respond) Answer();
  }

  void Leave() override { Push(Event::Kind::kClosed); }

  void SendAudio(std::string_view pcm) override {
    if (!config_.vad.enabled.value_or(true)) {
      if (activity_) activity_bytes_ += pcm.size();
      return;
    }
    while (!pcm.empty()) {
      switch (detector_.Feed(pcm)) {
        case SpeechDetector::Change::kNone:
          break;
        case SpeechDetector::Change::kBegan:
          Push(Event::Kind::kSpeechStarted);
          Interrupt();
          break;
        case SpeechDetector::Change::kEnded:
          TakeUtterance(detector_.duration());
          break;
      }
    }
  }

  void SendText(const std::string& text) override {
    Interrupt();
    Remember(Message::User(text));
    Answer();
  }

  bool SendActivity(bool start) override {
    if (config_.vad.enabled.value_or(true) || activity_ == start) return false;
    activity_ = start;
    if (start) {
      activity_bytes_ = 0;
      Push(Event::Kind::kSpeechStarted);
      Interrupt();
    } else {
      TakeUtterance(milliseconds(activity_bytes_ / 2 * 1000 / kInputRate));
    }
    return true;
  }

  void SendToolReplies(const std::vector<ToolReply>& replies) override {
    for (const ToolReply& reply : replies) {
      Remember(Message::ToolResult(reply.id, reply.output_json, reply.is_error));
    }
    Answer();
  }

  void EndAudio() override {
    if (SendActivity(false)) return;
    if (detector_.Finish() == SpeechDetector::Change::kEnded) TakeUtterance(detector_.duration());
  }

  void Truncate(milliseconds) override {}

  bool Reconfigure(const LinkConfig& config) override {
    const bool same_sound = config.modality == config_.modality;
    if (!same_sound || !SameDetection(config.vad, config_.vad)) return false;
    config_.system_prompt = config.system_prompt;
    config_.tools = config.tools;
    return true;
  }

  size_t unsent_bytes() const override { return 0; }
  size_t held_bytes() const override {
    size_t bytes = history_bytes_;
    for (const SpokenText& answer : answers_) bytes += answer.text.size();
    return bytes;
  }

  std::optional<Event> Next() override {
    if (!events_.empty()) {
      Event event = std::move(events_.front());
      events_.pop_front();
      return event;
    }
    if (!speaking() || MonotonicClock::now() < due_) return std::nullopt;
    if (pieces_.empty()) SpeakNextWord();
    Event event = std::move(pieces_.front());
    pieces_.pop_front();
    if (event.kind == Event::Kind::kAudio) {
      due_ += milliseconds(event.text.size() / 2 * 1000 / kOutputRate);
    } else if (event.kind == Event::Kind::kTurnComplete) {
      ++turns_;
      Push(Event::Kind::kResumption, std::string(kHandle) + std::to_string(turns_));
    }
    return event;
  }

  Deadline wake_at() const override {
    if (!events_.empty()) return MonotonicClock::now();
    return speaking() ? due_ : kNoDeadline;
  }

 private:
  // An answer, and how much of it was made into pieces.
  struct SpokenText {
    std::string text;
    size_t bytes = 0;
    int words = 0;
  };

  bool speaking() const { return !answers_.empty() || !pieces_.empty(); }

  void Push(Event::Kind kind, std::string text = {}, bool finished = false) {
    events_.push_back({.kind = kind, .text = std::move(text), .finished = finished});
  }

  void PushPiece(Event::Kind kind, std::string text = {}, bool finished = false) {
    pieces_.push_back({.kind = kind, .text = std::move(text), .finished = finished});
  }

  void Remember(Message message) {
    history_bytes_ += message.Text().size();
    history_.push_back(std::move(message));
    while (history_.size() > kHistoryMax ||
           (history_bytes_ > kHistoryBytesMax && history_.size() > 1)) {
      history_bytes_ -= history_.front().Text().size();
      history_.pop_front();
    }
  }

  void Interrupt() {
    if (!speaking()) return;
    answers_.clear();
    pieces_.clear();
    Push(Event::Kind::kInterrupted);
  }

  void TakeUtterance(milliseconds duration) {
    const std::string text = DescribeSpeech(duration);
    Push(Event::Kind::kInputTranscript, text, true);
    Remember(Message::User(text));
    Answer();
  }

  void Answer() {
    models::ModelRequest request;
    request.messages = {history_.begin(), history_.end()};
    request.tools = config_.tools;
    auto reply = model_.Generate(request, runtime::Cancellation(),
                                 [](const models::ModelDelta&) { return Status::Ok(); });
    if (!reply.ok()) return;  // no message to answer
    const Message& message = reply->message;
    Remember(message);
    const auto calls = message.ToolCalls();
    if (!calls.empty()) {
      Event event{.kind = Event::Kind::kToolCalls};
      for (const ToolCallBlock* call : calls) {
        event.calls.push_back({call->id, call->name, call->arguments_json});
      }
      events_.push_back(std::move(event));
      return;
    }
    Speak(message.Text());
  }

  void Speak(std::string text) {
    due_ = MonotonicClock::now() - kLead;
    answers_.push_back({std::move(text)});
  }

  // Makes the pieces of the next word, or those at the end of the answer. Audio takes much more
  // memory than its text, so it is made when it is due.
  void SpeakNextWord() {
    auto& [text, begin, words] = answers_.front();
    if (begin >= text.size() || words == kWordsMax) {
      PushPiece(Event::Kind::kOutputTranscript, std::move(text), true);
      PushPiece(Event::Kind::kTurnComplete);
      return answers_.pop_front();
    }
    const size_t end = std::min(text.find(' ', begin + 1), text.size());
    const std::string word = text.substr(begin, end - begin);
    PushPiece(Event::Kind::kOutputTranscript, word);
    if (config_.modality == Modality::kAudio) {
      const std::string pcm = ToneOf(word);
      for (size_t at = 0; at < pcm.size(); at += BytesOf(kPiece)) {
        PushPiece(Event::Kind::kAudio, pcm.substr(at, BytesOf(kPiece)));
      }
    }
    begin = end;
    ++words;
  }

  LinkConfig config_;
  SpeechDetector detector_;
  models::DemoModel model_;
  std::deque<Message> history_;
  size_t history_bytes_ = 0;  // of its texts
  std::deque<Event> events_;  // to be delivered at once
  std::deque<Event> pieces_;  // of the current word; delivered when due_
  std::deque<SpokenText> answers_;
  Deadline due_ = kNoDeadline;
  bool activity_ = false;
  size_t activity_bytes_ = 0;
  int64_t turns_ = 0;
};

}  // namespace

std::unique_ptr<Link> DemoProvider::Prepare(const LinkConfig& config, std::function<void()>) {
  return std::make_unique<DemoLink>(config);
}

}  // namespace agent_graph::realtime
