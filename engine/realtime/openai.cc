#include "realtime/openai.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/percent_encoding.h"
#include "models/json_fields.h"
#include "models/media.h"
#include "realtime/openai_session.h"
#include "realtime/resampler.h"

namespace agent_graph::realtime {
namespace {

using models::ArrayAt;
using models::JsonItems;
using models::JsonNode;
using models::ObjectAt;
using models::StringAt;
using std::chrono::milliseconds;
using Kind = Event::Kind;

// Of requests that came too late or for nothing: the session is as it was meant to be.
constexpr std::string_view kHarmless[] = {"response_cancel_not_active",
                                          "input_audio_buffer_commit_empty"};
constexpr size_t kUntranscribedMax = 16;  // utterances whose words are awaited
// Of a response that was asked for while another one was under way, by itself or by the provider.
constexpr std::string_view kBusy = "conversation_already_has_active_response";

class OpenAiProtocol final : public Protocol {
 public:
  OpenAiProtocol(const models::ProviderOptions& options, const LinkConfig& config)
      : parameters_json_(options.parameters_json),
        config_(config),
        upsampler_(kInputRate, kOpenAiRate) {}

  // A session is new on each connection; what was said goes into it when it is to start.
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
    Say(R"({"type":"input_audio_buffer.append","audio":")" +
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
    const bool unheard = !answering_;
    if (Cancel()) {
      owed_ = owed_ || unheard;
      Push({.kind = Kind::kInterrupted});
    }
    Push({.kind = Kind::kSpeechStarted});
    Say(R"({"type":"input_audio_buffer.clear"})");
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

  // With detection on, the end of an utterance is the provider's to find; only one that has begun
  // is cut short.
  void EndAudio() override {
    if (speech_ || !Detects()) Commit();
  }

  // The turn is heard item by item; of those before the last one only what was cut need be told.
  void Truncate(milliseconds heard) override {
    const std::vector<SpokenItem> spoken = std::exchange(spoken_, {});
    for (const SpokenItem& item : spoken) {
      const milliseconds end = std::min(heard, item.audio);
      heard -= end;
      if (end == item.audio && &item != &spoken.back()) continue;
      Say(DumpJson({{"type", "conversation.item.truncate"},
                    {"item_id", item.id},
                    {"content_index", 0},
                    {"audio_end_ms", end.count()}}));
    }
  }

  bool Reconfigure(const LinkConfig& config) override {
    // A voice that has spoken stays, and so does what the update below does not tell.
    if (config.voice != config_.voice || config.modality != config_.modality ||
        config.model != config_.model || config.parameters_json != config_.parameters_json ||
        OpenAiTurnDetection(config.vad) != OpenAiTurnDetection(config_.vad)) {
      return false;
    }
    config_ = config;
    json session = {{"type", "realtime"},
                    {"instructions", config.system_prompt},
                    {"tools", OpenAiTools(config.tools)}};
    Say(DumpJson({{"type", "session.update"}, {"session", std::move(session)}}));
    return true;
  }

 private:
  struct SpokenItem {
    std::string id;
    milliseconds audio;
  };

  // The provider finds where the user begins to speak and ends.
  bool Detects() const { return config_.vad.enabled.value_or(true); }

  void Take(std::string_view type, const JsonNode& message) {
    if (type == "session.created") {
      json session = OpenAiSession(config_, parameters_json_);
      transcribes_ = session.contains(json::json_pointer("/audio/input/transcription"));
      Say(DumpJson({{"type", "session.update"}, {"session", std::move(session)}}));
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
    for (const Message& message : config_.history) CreateItem(OpenAiTextItem(message));
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
    // The configuration was refused: nothing will come any more.
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

  // Those of several utterances come in any order.
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
    // Pieces of an answer that was interrupted.
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
    }
    spoken_.back().audio += milliseconds(pcm->size() / 2 * 1000 / kOpenAiRate);
    Push({.kind = Kind::kAudio, .text = *std::move(pcm)});
  }

  void TakeCreated(const JsonNode& response) {
    response_id_ = StringAt(response, "id");
    asked_ = answering_ = false;
    // Asked for before the user began to speak again, of which only the client tells.
    if (speech_ && !Detects() && Cancel()) owed_ = true;
  }

  void TakeDone(const JsonNode& response) {
    // What the user is saying will be answered, and what was said before with it.
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

  // True: it made calls, whose results ask for the next response. `again`: it is asked for anyhow.
  bool TakeAnswer(const JsonNode& response, bool again) {
    const std::string_view status = StringAt(response, "status");
    if (status == "cancelled") {
      Interrupt();
      return false;
    }
    const bool failed = status == "failed";
    if (failed) TakeFailure(response);
    const JsonNode* output = failed ? nullptr : ArrayAt(response, "output");
    Event calls{.kind = Kind::kToolCalls,
                .calls = output ? Calls(*output) : std::vector<ToolCall>()};
    if (calls.calls.empty()) {
      turn_over_ = true;
      Push({.kind = Kind::kTurnComplete, .answer_due = again});
      return false;
    }
    Push(std::move(calls));
    return true;
  }

  static std::vector<ToolCall> Calls(const JsonNode& output) {
    std::vector<ToolCall> calls;
    for (const JsonNode& item : JsonItems(output)) {
      if (!item.is_object() || StringAt(item, "type") != "function_call") continue;
      ToolCall& call = calls.emplace_back();
      call.id = StringAt(item, "call_id");
      call.name = StringAt(item, "name");
      const std::string_view arguments = StringAt(item, "arguments");
      const Result<json> parsed = ParseJson(arguments);
      call.broken = !parsed.ok() || !parsed->is_object();  // an incomplete response cuts them off
      if (!call.broken) call.arguments_json = arguments;
    }
    return calls;
  }

  void TakeFailure(const JsonNode& response) {
    const JsonNode* details = ObjectAt(response, "status_details");
    const JsonNode* error = details != nullptr ? ObjectAt(*details, "error") : nullptr;
    Event event{.kind = Kind::kError, .text = "the model could not answer"};
    if (error != nullptr) {
      event.code = StringAt(*error, "code");
      if (event.code.empty()) event.code = StringAt(*error, "type");
      if (auto text = StringAt(*error, "message"); !text.empty()) event.text = text;
    }
    Push(std::move(event));
  }

  void Interrupt() {
    response_id_.clear();
    turn_over_ = true;
    Push({.kind = Kind::kInterrupted});
  }

  // False: nothing was under way.
  bool Cancel() {
    if (response_id_.empty()) return false;
    response_id_.clear();
    turn_over_ = true;
    Say(R"({"type":"response.cancel"})");
    return true;
  }

  // False: there was no sound, and nothing that gave way to it.
  bool Commit() {
    const bool began = std::exchange(speech_, false);
    const bool owed = std::exchange(owed_, false);
    const bool sound = std::exchange(uncommitted_, false);
    if (!sound && !owed) {
      if (began && !Detects() && !asked_ && !respond_again_) Push({.kind = Kind::kNothingAsked});
      return false;
    }
    if (sound) Say(R"({"type":"input_audio_buffer.commit"})");
    Respond();
    return true;
  }

  void CreateItem(json item) {
    Say(DumpJson({{"type", "conversation.item.create"}, {"item", std::move(item)}}));
  }

  // Of all that was said, so that nothing is asked for once more.
  void Respond() {
    asked_ = true;
    owed_ = respond_again_ = false;
    std::erase_if(events(), [](const Event& event) { return event.kind == Kind::kNothingAsked; });
    Say(R"({"type":"response.create"})");
  }

  const std::string parameters_json_;
  LinkConfig config_;
  Resampler upsampler_;
  bool begun_ = false;
  bool updated_ = false;                   // the provider has accepted the configuration
  bool transcribes_ = true;                // the words of the user are told
  std::deque<std::string> untranscribed_;  // ids of what the user said, the oldest first
  bool speech_ = false;                    // the user speaks
  bool uncommitted_ = false;               // sound that is in no item yet
  bool asked_ = false;                     // for a response, of which nothing was heard yet
  bool respond_again_ = false;             // once the response is over that was in the way
  bool owed_ = false;                      // a response gave way to what the user is saying
  std::string response_id_;                // of the answer under way
  bool answering_ = false;                 // and a piece of it has come
  std::vector<SpokenItem> spoken_;         // in the turn, or the last one
  bool turn_over_ = false;
};

net::WebSocketOptions OpenAiEndpoint(const models::ProviderOptions& options,
                                     const LinkConfig& config) {
  net::WebSocketOptions connection;
  connection.url = WebSocketUrl(options.base_url) + "/realtime?model=" +
                   PercentEncode(config.model.empty() ? options.model : config.model);
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
