#include "realtime/openai.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/percent_encoding.h"
#include "models/json_fields.h"
#include "models/media.h"
#include "realtime/openai_response.h"
#include "realtime/openai_session.h"
#include "realtime/resampler.h"

namespace agent_graph::realtime {
namespace {

using models::ArrayAt;
using models::JsonNode;
using models::ObjectAt;
using models::StringAt;
using std::chrono::milliseconds;
using Kind = Event::Kind;

// Errors of requests that came too late or had no effect; the session state is as intended.
constexpr std::string_view kHarmless[] = {"response_cancel_not_active",
                                          "input_audio_buffer_commit_empty"};
constexpr size_t kUntranscribedMax = 16;  // maximum of utterances that wait for their transcript
// Error if a response is requested while another one, requested by us or started by the provider,
// is in progress.
constexpr std::string_view kBusy = "conversation_already_has_active_response";

class OpenAiProtocol final : public Protocol {
 public:
  OpenAiProtocol(const models::ProviderOptions& options, const LinkConfig& config)
      : parameters_json_(options.parameters_json),
        config_(config),
        upsampler_(kInputRate, kOpenAiRate) {}

  // Each connection starts a new session, so the history is sent when the session starts.
  void Begin(const LinkConfig& config) override {
    config_ = config;
    begun_ = true;
    if (updated_) Start();
  }

  void OnOpen() override {}

  void OnMessage(std::string_view text) override {
    models::JsonTree tree;
    const JsonNode* object = tree.Parse(text);
    if (object != nullptr && !object->is_object()) object = nullptr;
    if (object != nullptr) Take(StringAt(*object, "type"), *object);
  }

  bool MayRetry(const net::WebSocketEnd& end) const override {
    return end.close_code < 4000 && Protocol::MayRetry(end);
  }

  void SendAudio(std::string_view pcm) override {
    Send(R"({"type":"input_audio_buffer.append","audio":")" +
         models::EncodeBase64(upsampler_.Convert(pcm)) + "\"}");
    uncommitted_ = true;
  }

  void SendText(const std::string& text) override {
    CutAnswer();
    Cancel();
    CreateItem(OpenAiTextItem(Message::User(text)));
    Respond();
  }

  bool SendActivity(bool start) override {
    if (Detects()) return false;
    if (!start) return Commit();
    speech_ = true;
    const bool unplayed = !answering_;
    if (Cancel()) {
      owed_ = owed_ || unplayed;
      Push({.kind = Kind::kInterrupted});
    }
    Push({.kind = Kind::kSpeechStarted});
    Send(R"({"type":"input_audio_buffer.clear"})");
    uncommitted_ = false;
    return true;
  }

  void SendToolReplies(const std::vector<ToolReply>& replies) override {
    for (const ToolReply& reply : replies) {
      CreateItem(
          {{"type", "function_call_output"}, {"call_id", reply.id}, {"output", reply.output_json}});
    }
    Respond();
  }

  // With detection on, the provider finds the end of an utterance; only an utterance in progress is
  // committed here.
  void EndAudio() override {
    if (speech_ || !Detects()) Commit();
  }

  // The answer consists of items. Items before the last one are reported only if they were cut.
  void Truncate(milliseconds heard) override {
    const std::vector<SpokenItem> spoken = std::exchange(spoken_, {});
    for (const SpokenItem& item : spoken) {
      const milliseconds end = std::min(heard, item.audio);
      heard -= end;
      if (end == item.audio && &item != &spoken.back()) continue;
      Send(DumpJson({{"type", "conversation.item.truncate"},
                     {"item_id", item.id},
                     {"content_index", 0},
                     {"audio_end_ms", end.count()}}));
    }
  }

  bool Reconfigure(const LinkConfig& config) override {
    // The voice cannot change after it was used, and the update below does not contain the other
    // settings compared here.
    if (config.voice != config_.voice || config.modality != config_.modality ||
        config.model != config_.model || config.parameters_json != config_.parameters_json ||
        OpenAiTurnDetection(config.vad) != OpenAiTurnDetection(config_.vad)) {
      return false;
    }
    config_ = config;
    json session = {{"type", "realtime"},
                    {"instructions", config.system_prompt},
                    {"tools", OpenAiTools(config.tools)}};
    Send(DumpJson({{"type", "session.update"}, {"session", std::move(session)}}));
    return true;
  }

 private:
  struct SpokenItem {
    std::string id;
    milliseconds audio;
  };

  // The provider detects the start and the end of speech.
  bool Detects() const { return config_.vad.enabled.value_or(true); }

  void Take(std::string_view type, const JsonNode& message) {
    if (type == "session.created") {
      json session = OpenAiSession(config_, parameters_json_);
      transcribes_ = session.contains(json::json_pointer("/audio/input/transcription"));
      Send(DumpJson({{"type", "session.update"}, {"session", std::move(session)}}));
    } else if (type == "session.updated") {
      TakeUpdated();
    } else if (type == "error") {
      TakeError(message);
    } else if (type.starts_with("input_audio_buffer.") || type.starts_with("conversation.item.")) {
      TakeInput(type, message);
    } else if (type.starts_with("response.")) {
      TakeResponse(type.substr(9), message);
    }
  }

  void TakeUpdated() {
    if (std::exchange(updated_, true)) return;
    if (begun_) return Start();
    Push({.kind = Kind::kPrepared});
  }

  void Start() {
    for (const Message& message : std::exchange(config_.history, {})) {
      CreateItem(OpenAiTextItem(message));
    }
    if (config_.respond) Respond();
    Push({.kind = Kind::kReady});
  }

  void TakeError(const JsonNode& message) {
    const JsonNode* error = ObjectAt(message, "error");
    if (error == nullptr) return;
    std::string code(StringAt(*error, "code"));
    if (std::ranges::find(kHarmless, code) != std::end(kHarmless)) return;
    if (code == kBusy) {
      asked_ = false;
      respond_again_ = true;
      return;
    }
    if (code.empty()) code = StringAt(*error, "type");
    std::string text(StringAt(*error, "message"));
    if (updated_) return Push({.kind = Kind::kError, .text = text, .code = code});
    // The configuration was refused: no further events will come.
    Push({.kind = Kind::kClosed, .text = text, .code = code, .retry = code == "server_error"});
  }

  void TakeInput(std::string_view type, const JsonNode& message) {
    if (type == "input_audio_buffer.speech_started") {
      speech_ = true;
      if (!response_id_.empty()) Interrupt();
      Push({.kind = Kind::kSpeechStarted});
    } else if (type == "input_audio_buffer.speech_stopped") {
      speech_ = false;
    } else if (type == "input_audio_buffer.committed") {
      speech_ = uncommitted_ = false;
      Push({.kind = Kind::kInputExpected});
      if (!transcribes_) return Push({.kind = Kind::kInputTranscript, .finished = true});
      untranscribed_.emplace_back(StringAt(message, "item_id"));
      if (untranscribed_.size() > kUntranscribedMax) untranscribed_.pop_front();
    } else if (type == "conversation.item.input_audio_transcription.delta") {
      TakeWords(message, StringAt(message, "delta"), /*finished=*/false);
    } else if (type == "conversation.item.input_audio_transcription.completed") {
      TakeWords(message, StringAt(message, "transcript"), /*finished=*/true);
    } else if (type == "conversation.item.input_audio_transcription.failed") {
      TakeWords(message, "", /*finished=*/true);
    }
  }

  // Transcripts of several utterances may arrive in any order.
  void TakeWords(const JsonNode& message, std::string_view words, bool finished) {
    Event event{.kind = Kind::kInputTranscript, .text = std::string(words), .finished = finished};
    auto item = std::ranges::find(untranscribed_, StringAt(message, "item_id"));
    if (item == untranscribed_.end()) item = untranscribed_.begin();
    if (item != untranscribed_.end()) {
      event.later = static_cast<size_t>(untranscribed_.end() - item) - 1;
      if (finished) untranscribed_.erase(item);
    }
    Push(std::move(event));
  }

  void TakeResponse(std::string_view type, const JsonNode& message) {
    if (type == "created") {
      const JsonNode* response = ObjectAt(message, "response");
      if (response != nullptr) TakeCreated(*response);
      return;
    }
    if (type == "done") {
      const JsonNode* response = ObjectAt(message, "response");
      if (response != nullptr) TakeDone(*response);
      return;
    }
    // The piece belongs to an answer that was interrupted.
    if (response_id_.empty() || StringAt(message, "response_id") != response_id_) return;
    if (type == "output_audio.delta") {
      TakeAudio(message);
    } else if (type == "output_audio_transcript.delta" || type == "output_text.delta") {
      answering_ = true;
      Push({.kind = Kind::kOutputTranscript, .text = std::string(StringAt(message, "delta"))});
    } else if (type == "output_audio_transcript.done") {
      Push({.kind = Kind::kOutputTranscript,
            .text = std::string(StringAt(message, "transcript")),
            .finished = true});
    } else if (type == "output_text.done") {
      Push({.kind = Kind::kOutputTranscript,
            .text = std::string(StringAt(message, "text")),
            .finished = true});
    }
  }

  void TakeAudio(const JsonNode& message) {
    std::optional<std::string> pcm = models::DecodeBase64(StringAt(message, "delta"));
    if (!pcm || pcm->empty()) return;
    const std::string_view item_id = StringAt(message, "item_id");
    answering_ = true;
    if (std::exchange(turn_over_, false)) spoken_.clear();
    if (spoken_.empty() || spoken_.back().id != item_id) {
      spoken_.push_back({std::string(item_id), milliseconds(0)});
      EndAnswerAudio();
    }
    std::string samples = WholeSamples(*std::move(pcm));
    if (samples.empty()) return;
    spoken_.back().audio += milliseconds(samples.size() / 2 * 1000 / kOpenAiRate);
    Push({.kind = Kind::kAudio, .text = std::move(samples)});
  }

  void TakeCreated(const JsonNode& response) {
    response_id_ = StringAt(response, "id");
    asked_ = answering_ = false;
    // The response was requested before the user began to speak again, and without detection only
    // the client reports that.
    if (speech_ && !Detects() && Cancel()) owed_ = true;
  }

  void TakeDone(const JsonNode& response) {
    // While the user speaks no response is requested: the response after the utterance will also
    // answer the earlier input.
    const bool refused = std::exchange(respond_again_, false);
    const bool again = refused && !speech_;
    if (refused && speech_ && !Detects()) owed_ = true;
    bool calls = false;
    if (!response_id_.empty() && StringAt(response, "id") == response_id_) {
      response_id_.clear();
      calls = TakeAnswer(response, again);
    }
    if (again && !calls) Respond();
  }

  // True if the response contains calls; their results will request the next response. `again`:
  // another response will be requested anyway.
  bool TakeAnswer(const JsonNode& response, bool again) {
    const std::string_view status = StringAt(response, "status");
    if (status == "cancelled") {
      Interrupt();
      return false;
    }
    const bool failed = status == "failed";
    if (failed) Push(FailureOf(response));
    const JsonNode* output = failed ? nullptr : ArrayAt(response, "output");
    Event calls{.kind = Kind::kToolCalls,
                .calls = output ? CallsOf(*output) : std::vector<ToolCall>()};
    if (calls.calls.empty()) {
      turn_over_ = true;
      Push({.kind = Kind::kTurnComplete, .answer_due = again});
      return false;
    }
    Push(std::move(calls));
    return true;
  }

  void Interrupt() {
    response_id_.clear();
    turn_over_ = true;
    Push({.kind = Kind::kInterrupted});
  }

  // False if no response was in progress.
  bool Cancel() {
    if (response_id_.empty()) return false;
    response_id_.clear();
    turn_over_ = true;
    Send(R"({"type":"response.cancel"})");
    return true;
  }

  // False if there was no audio and no cancelled response to replace.
  bool Commit() {
    const bool began = std::exchange(speech_, false);
    const bool owed = std::exchange(owed_, false);
    const bool has_audio = std::exchange(uncommitted_, false);
    if (!has_audio && !owed) {
      if (began && !Detects() && !asked_ && !respond_again_) Push({.kind = Kind::kNothingAsked});
      return false;
    }
    if (has_audio) Send(R"({"type":"input_audio_buffer.commit"})");
    Respond();
    return true;
  }

  void CreateItem(json item) {
    Send(DumpJson({{"type", "conversation.item.create"}, {"item", std::move(item)}}));
  }

  // Requests a response to all input so far, which replaces pending requests.
  void Respond() {
    asked_ = true;
    owed_ = respond_again_ = false;
    std::erase_if(events(), [](const Event& event) { return event.kind == Kind::kNothingAsked; });
    Send(R"({"type":"response.create"})");
  }

  const std::string parameters_json_;
  LinkConfig config_;
  Resampler upsampler_;
  bool begun_ = false;
  bool updated_ = false;                   // the provider has accepted the configuration
  bool transcribes_ = true;                // the session sends transcripts of the user
  std::deque<std::string> untranscribed_;  // utterances without transcript, oldest first
  bool speech_ = false;                    // the user is speaking
  bool uncommitted_ = false;               // audio that was not committed yet
  bool asked_ = false;                     // a response was requested but has not been created yet
  bool respond_again_ = false;             // request one after the current response
  bool owed_ = false;                      // speech of the user has cancelled a response
  std::string response_id_;                // the response in progress
  bool answering_ = false;                 // a piece of that response has arrived
  std::vector<SpokenItem> spoken_;         // items of the current or last turn
  bool turn_over_ = false;
};

net::WebSocketOptions OpenAiEndpoint(const models::ProviderOptions& options,
                                     const LinkConfig& config) {
  net::WebSocketOptions connection;
  connection.url =
      WebSocketUrl(options.base_url)
          .With("/realtime",
                "model=" + PercentEncode(config.model.empty() ? options.model : config.model));
  if (!options.api_key.empty()) {
    connection.headers.emplace_back("Authorization", "Bearer " + options.api_key);
  }
  return connection;
}

}  // namespace

Dialect OpenAiDialect() {
  return {&OpenAiEndpoint, [](const models::ProviderOptions& options, const LinkConfig& config) {
            return std::unique_ptr<Protocol>(std::make_unique<OpenAiProtocol>(options, config));
          }};
}

}  // namespace agent_graph::realtime
